"""Positions: the kinds and the shuffle are drawn and said as the labs' functions return them."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.masks import causal
from attnviz.experiment import CHOICES, Experiment, View
from attnviz.figures.panels import within
from attnviz.figures.text import number
from attnviz.labs.positions import Head, attend, picture, read_order, shuffle
from attnviz.ui.compute import Computed
from attnviz.ui.labs.positions import head as head_of
from attnviz.ui.labs.positions import small
from tests.pages.session import Session

KINDS = CHOICES["positions"]
BATCH = {"text": "the cat sat on a mat\na cat", "n_heads": "4", "n_kv_heads": "2", "d_v": "5", "h": "3"}


def computed(experiment: Experiment, **view: Any) -> Computed:
    run = experiment.run()
    return Computed(experiment, run, within(View(**view), run), None, 0)


def head(session: Session) -> Head:
    return head_of(computed(session.experiment, b=session.view.b, h=session.view.h))


def close(drawn: Any, tensor: torch.Tensor) -> bool:
    return np.allclose(drawn, tensor.numpy(), atol=1e-6)


# ---- what the parts share ----


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_a_head_alone_is_the_head_of_the_run(positions: str, mask: str) -> None:
    e = Experiment(BATCH["text"], n_heads=4, n_kv_heads=2, d_model=5, positions=positions, mask=mask, seed=3)
    e = e.with_cell("x", (0, 2, 1), 3.0).with_cell("q", (0, 1, 13), 2.0).with_cell("k", (1, 1, 6), -2.0)
    e = e.with_cell("v", (0, 5, 7), 1.5)
    run = e.run()
    assert run.trace is not None
    for b, n in enumerate(run.lengths):
        for h in range(4):
            trace, kv = attend(head_of(computed(e, b=b, h=h))), h // 2
            for name, at in (("query", h), ("key", kv), ("value", kv), ("output", h)):
                whole = getattr(run.trace, name)[b, at, :n]
                torch.testing.assert_close(getattr(trace, name), whole, rtol=1e-5, atol=1e-5, msg=name)
            torch.testing.assert_close(trace.masked, run.trace.masked[b, h, :n, :n], rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(trace.weights, run.trace.weights[b, h, :n, :n], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("positions", KINDS)
def test_the_kinds_are_drawn_beside_none(positions: str) -> None:
    session = Session("positions", **BATCH)
    session.set("lab:positions", positions)
    assert session.sound() and session.experiment.positions == positions == session.linked[0].positions
    one, maps = head(session), session.maps()
    assert close(maps["weights"], attend(one).weights)
    drawn = picture(one)
    if positions == "none":
        assert "bare" not in maps and "positions" not in maps
        return
    assert drawn is not None and close(maps["positions"], drawn)
    assert close(maps["bare"], attend(one._replace(positions="none")).weights)


def test_the_control_in_the_popover_may_be_open_as_well() -> None:
    session = Session("positions", positions="alibi").open("more")
    assert session.sound()
    session.set("positions", "learned").set("lab:positions", "rope_half")
    assert session.sound() and session.experiment.positions == "rope_half"
    assert session.widget("positions").value == session.widget("lab:positions").value == "rope_half"


# ---- 16 ----


def test_the_order_is_answered_with_the_readers_numbers() -> None:
    session = Session("positions", reveal="16", positions="learned")
    bare = head(session)._replace(positions="none")
    backwards, words = (5, 4, 3, 2, 1, 0), session.words()
    nothing, placed = shuffle(bare, backwards), shuffle(bare._replace(positions="learned"), backwards)
    hidden = shuffle(bare._replace(seen=causal(6, 6)), backwards)
    assert nothing.weights < 1e-6 < hidden.weights
    assert f"Read backwards, your weights keep their values (largest difference {small(nothing.weights)})" in words
    assert f"(learned) weights change by up to **{number(placed.weights, 4)}**" in words
    assert f"a causal mask alone by **{number(hidden.weights, 4)}**" in words
    session.set("order", "2 3 1")
    moved = shuffle(bare._replace(positions="learned"), (1, 2, 0, 3, 4, 5))
    assert "Shuffled, your weights keep" in session.words()
    assert f"(learned) weights change by up to **{number(moved.weights, 4)}**" in session.words()


@pytest.mark.parametrize("query", [{}, {"positions": "rope_half"}, {"mask": "causal"}, BATCH | {"b": "0"}], ids=str)
def test_a_typed_order_is_drawn_and_put_back(query: dict[str, str]) -> None:
    session = Session("positions", **query).set("order", "6, 2 3 4 5，1")
    assert session.sound() and session.said() == [] and session.linked[1].lab.order == "6, 2 3 4 5，1"
    found, maps = shuffle(head(session), (5, 1, 2, 3, 4, 0)), session.maps()
    assert close(maps["after"], found.after.weights) and close(maps["back"], found.back)
    assert close(maps["change"], found.back - found.before.weights)
    changed = f"weights differ by up to **{small(found.weights)}** and outputs by **{small(found.output)}**"
    plain = head(session).positions == "none" and head(session).seen is None
    assert (changed in session.words()) == (not plain) == ("**nothing has changed**" not in session.words())
    if plain:
        assert f"largest difference {small(found.weights)} in the weights" in session.words()
        drawn = session.charts()["maps-shuffled"]["layout"]
        assert (
            max(drawn[name]["cmax"] for name in drawn if name.startswith("coloraxis") and drawn[name]["cmin"]) == 1e-6
        )
        titles = " ".join(note["text"] for note in drawn["annotations"])
        assert ("equal up to rounding" in titles) == (found.weights > 0)
    session.press("order:reset")
    assert session.view.lab.order == "" and "after" not in session.maps()


def test_each_press_is_another_order_and_stands_in_the_box_and_in_the_link() -> None:
    session, orders = Session("positions"), []
    for _ in range(4):
        session.press("order:shuffle")
        text = session.view.lab.order
        assert session.widget("order").value == text == session.linked[1].lab.order
        orders.append(read_order(text, 6).order)
        assert orders[-1] != (0, 1, 2, 3, 4, 5) and close(
            session.maps()["after"], shuffle(head(session), orders[-1]).after.weights
        )
    assert len(set(orders)) == 4
    assert Session("positions").press("order:shuffle").view.lab.order == " ".join(str(i + 1) for i in orders[0])


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("cat", "“cat” is no number"),
        ("1 9", "There is no token 9"),
        ("2 2", "Token 2 stands there twice"),
        ("3 1", "Token 2 is missing"),
        ("*x*", r"“\*x\*” is no number"),
    ],
)
def test_what_is_no_order_gets_one_sentence_and_stays(typed: str, said: str) -> None:
    for lang in ("en", "zh"):
        session = Session("positions", lang=lang).set("order", typed)
        assert session.sound() and len(session.said()) == 1
        assert lang == "zh" or said in session.said()[0]
        assert session.widget("order").value == typed == session.linked[1].lab.order
        assert "after" not in session.maps()


def test_a_longer_text_keeps_the_order_and_a_shorter_one_says_so() -> None:
    session = Session("positions", order="2 1 4 3 6 5").set("text_line", "the cat sat on the mat today")
    assert session.said() == [] and "after" in session.maps()
    session.set("text_line", "the cat")
    assert "There is no token 4" in session.said()[0] and session.view.lab.order == "2 1 4 3 6 5"
    session.set("text_line", "the")
    assert session.sound() and session.widget("order:shuffle").disabled


def test_a_long_text_is_shuffled_whole_and_drawn_in_its_window() -> None:
    session = Session("positions", text=" ".join(f"w{i}" for i in range(300)), from_s="40", from_u="7")
    session.press("order:shuffle")
    order = read_order(session.view.lab.order, 300).order
    assert sorted(order) == list(range(300)) and session.linked[1].lab.order == session.view.lab.order
    found, maps = shuffle(head(session), order), session.maps()
    assert close(maps["after"], found.after.weights[40:64, 7:31]) and close(maps["back"], found.back[40:64, 7:31])
