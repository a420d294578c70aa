"""Each control changes exactly its field, and the page shows what an Experiment with that field computes."""

from dataclasses import replace
from typing import Any

import pytest

from attnviz.experiment import Experiment
from attnviz.limits import LIMITS
from tests.figures import reading
from tests.pages.session import Session
from tests.pages.test_pages import check_numbers

CAT = Experiment("the cat sat on the mat")
CHANGES: list[tuple[str, Any]] = [
    ("n_heads", 3),
    ("mask", "causal"),
    ("mask", "window"),
    ("mask", "prefix"),
    ("scale", "none"),
    ("scale", "d_k"),
    ("tokenizer", "characters"),
    ("tokenizer", "spaces"),
    ("d_model", 5),
    ("d_k", 7),
    ("d_v", 2),
    ("seed", 12345),
    ("temperature", 0.3),
    ("positions", "sinusoidal"),
]


@pytest.mark.parametrize(("field", "value"), CHANGES, ids=lambda value: str(value))
def test_a_control_changes_its_field_and_the_board_follows(field: str, value: Any) -> None:
    session = Session().set(field, value)
    expected = replace(CAT, **{field: value})
    assert session.sound() and session.said() == []
    assert session.experiment == expected == session.linked[0]
    assert session.widget(field).value == value
    check_numbers(session, expected)


@pytest.mark.parametrize("page", ["explore", "scores"])
def test_all_controls_together(page: str) -> None:
    session = Session(page)
    fields: dict[str, Any] = {"n_heads": 4, "mask": "window", "scale": "d_k", "d_model": 6, "d_k": 3, "seed": 7}
    for key, value in fields.items():
        session.set(key, value)
    session.set("n_kv_heads", 2).set("window_left", 1).set("window_right", 3).set("h", 3)
    expected = replace(CAT, **fields, n_kv_heads=2, window_left=1, window_right=3)
    assert session.experiment == expected
    assert session.view.h == 3
    check_numbers(session, expected)
    assert session.linked == (expected, session.view)


def test_the_text_is_followed_as_it_is_typed() -> None:
    session = Session()
    for text in ("t", "th", "the", "the ", "the d", "the do", "the dog"):
        session.set("text_line", text)
        assert session.experiment.text == text
        check_numbers(session, Experiment(text))
        assert session.widget("text_line").value == text
    axis = reading.axis(session.figures["scores"], "scores", "x")
    assert axis["ticktext"] == ["the", "dog"]
    assert 0 < session.widget("text_line").proto.live_debounce_ms <= 250  # sent without Enter


def test_the_prefix_has_its_length() -> None:
    session = Session(mask="prefix").set("prefix_length", 4)
    check_numbers(session, replace(CAT, mask="prefix", prefix_length=4))
    with pytest.raises(KeyError):
        session.widget("window_left")


def test_grouped_heads_are_offered_only_where_they_divide() -> None:
    session = Session(n_heads="6")
    assert session.widget("n_kv_heads").options == ["1", "2", "3", "6"]
    session.set("n_kv_heads", 2).set("n_heads", 4)
    assert (session.experiment.n_heads, session.experiment.n_kv_heads) == (4, 2)
    session.set("n_heads", 5)  # which 2 does not divide
    assert session.sound()
    assert (session.experiment.n_heads, session.experiment.n_kv_heads) == (5, None)
    check_numbers(session)


def test_the_letters_change_words_and_no_number() -> None:
    session = Session()
    before = session.numbers()
    session.set("letters", "bij")
    assert session.view.letters == "bij"
    assert all((session.numbers()[name] == before[name]).all() for name in before)
    assert any("S (i=6, j=6)" in title for title in reading.titles(session.figures["scores"]))
    session.open("formulas:scores")
    assert any("'bik,bjk->bij'" in code.value for code in session.at.code)


@pytest.mark.parametrize("field", ["n_heads", "d_model", "d_k", "d_v", "seed", "temperature"])
def test_a_number_keeps_to_its_limits_and_an_emptied_box_changes_nothing(field: str) -> None:
    session, limit = Session(), LIMITS[field]
    widget = session.widget(field)
    assert (widget.min, widget.max, widget.value) == (limit.low, limit.high, limit.default)
    for value in (limit.low, limit.high):
        session.set(field, value)
        assert session.sound()
        assert getattr(session.experiment, field) == value
    session.set(field, None)
    assert session.sound()
    assert getattr(session.experiment, field) == limit.high == session.widget(field).value


def test_sequences_make_a_batch_and_b_is_chosen_on_screen() -> None:
    session = Session().set("several", True)
    session.set("text_area", "the cat sat\nthe dog ran away\n\nbirds")
    expected = Experiment("the cat sat\nthe dog ran away\n\nbirds")
    assert session.experiment == expected
    check_numbers(session, expected)
    for b in (2, 1):
        session.set("b", b)
        assert session.view.b == b
        check_numbers(session, expected)
    assert reading.axis(session.figures["scores"], "scores", "x")["ticktext"] == ["the", "dog", "ran", "away"]
    session.set("b", 2)
    assert reading.axis(session.figures["scores"], "scores", "x")["ticktext"] == ["birds", "[pad]", "[pad]", "[pad]"]
    assert reading.marks(session.figures["scores"], "masked", "−∞")[:, 1:].all()  # padding is masked


def test_the_lines_come_back_when_the_box_is_switched_twice() -> None:
    session = Session(text="a b\nc")
    assert session.widget("several").value is True
    session.set("several", False)
    assert session.experiment.text == "a b c" == session.widget("text_line").value
    session.set("several", True)
    assert session.experiment.text == "a b\nc" == session.widget("text_area").value
    session.set("several", False).set("text_line", "a b c d").set("several", True)
    assert session.experiment.text == "a b c d"  # what was typed since counts


def test_a_head_or_sequence_that_is_gone_is_left() -> None:
    session = Session(text="a b\nc d", n_heads="4", b="1", h="3", s="1")
    session.set("n_heads", 2)
    assert session.sound()
    session.set("several", False)
    assert session.sound()
    assert set(session.numbers()) and session.figures["scores"]


def test_a_long_text_has_windows() -> None:
    text = " ".join(f"w{i}" for i in range(40))
    session = Session(text=text)
    assert any("40" in caption.value for caption in session.at.caption)
    session.set("from_s", 8).set("from_u", 17)  # on screen, tokens count from 1
    assert (session.view.from_s, session.view.from_u) == (7, 16)
    expected = reading.expected(Experiment(text).run(), 0, 0)
    assert (session.numbers()["scores"] == expected["scores"][7:31, 16:40].numpy()).all()
    assert session.linked == (Experiment(text), session.view)
    session.set("text_line", "short now")
    assert session.sound()
    check_numbers(session, Experiment("short now"))
    session.set("text_line", text)
    assert session.sound()
