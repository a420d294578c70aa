"""Positions: the four terms and the two layouts are drawn and said as the labs' functions return them."""

import numpy as np
import pytest

from attnviz.labs.positions import ADDED, ROTATIONS, places
from attnviz.labs.positions_inside import by_distance, concatenate, four_terms, layouts
from attnviz.ui.labs.positions import small
from tests.figures.reading import array
from tests.pages.session import Session
from tests.pages.test_lab_positions import BATCH, KINDS, close, head

# ---- 17 ----


@pytest.mark.parametrize("positions", KINDS)
def test_the_four_terms_are_drawn_and_add_up(positions: str) -> None:
    session = Session("positions", section="terms", reveal="17", positions=positions, edits="x~0.1.2_4.5")
    one = head(session)
    kind = positions if positions in ADDED else "sinusoidal"
    p = places(kind, 6, 8, 0)
    assert p is not None and session.sound()
    x = one.x.clone()
    x[1, 2] = 4.5 - p[1, 2]  # what was typed is the sum
    terms, maps, words = four_terms(x, p, one.w_q, one.w_k), session.maps(), session.words()
    assert all(np.allclose(maps[name], getattr(terms, name).numpy(), atol=1e-5) for name in terms._fields[:6])
    assert f"the largest difference is {small(terms.apart)}" in words
    assert ("here sinusoidal positions stand in" in words) == (positions not in ADDED)
    if positions in ADDED:
        trace = session.experiment.run().trace
        assert trace is not None and np.allclose(maps["scores"], trace.scores[0, 0].numpy(), atol=1e-5)
    beside = concatenate(x, p, one.w_q, one.w_k, columns=12)
    for term in (terms.xx, terms.xp, terms.px, terms.pp):
        assert small(float(term.abs().max())) in words
    assert (
        f"{beside.width} features and {beside.numbers} numbers in W_Q, W_K and W_V instead of {beside.narrow}" in words
    )
    same = small(float((beside.scores - terms.scores).abs().max()))
    assert f"(largest difference {same})" in words and (beside.narrow, beside.numbers) == (96, 192)
    (table,) = session.tables()
    assert table.to_numpy().tolist()[1][1:3] == ["16", "192"]


def test_typed_queries_are_said_to_be_left_out() -> None:
    query = {"section": "terms", "edits": "q~0.0.1_2", "positions": "learned"}
    assert "Queries and keys that you typed are left out" in Session("positions", **query).words()


# ---- 18 ----


@pytest.mark.parametrize("query", [{}, BATCH | {"b": "1"}, {"positions": "rope_half", "d_k": "6"}], ids=str)
def test_both_layouts_are_drawn_with_their_numbers(query: dict[str, str]) -> None:
    session = Session("positions", section="rotation", reveal="18", **query)
    run, view = session.experiment.run(), session.view
    n = run.lengths[view.b]
    assert run.projected_query is not None and run.projected_key is not None and session.sound()
    kv = view.h // 2 if query.get("n_kv_heads") else 0
    query_, key = run.projected_query[view.b, view.h, :n], run.projected_key[view.b, kv, :n]
    found, maps, words = layouts(query_, key), session.maps(), session.words()
    expected = {"query": query_, "half": found.half, "interleaved": found.interleaved}
    expected |= {name: getattr(found, name) for name in ("scores_half", "scores_interleaved", "scores_permuted")}
    assert all(np.allclose(maps[name], tensor.numpy(), atol=1e-5) for name, tensor in expected.items())
    assert f"other vectors (by up to {small(found.vectors_apart)})" in words
    assert f"other scores (by up to {small(found.scores_apart)})" in words
    assert f"largest difference **{small(found.permuted_apart)}**" in words and found.permuted_apart < 1e-5
    order = "1, 3, 2, 4" if session.experiment.d_k == 4 else "1, 3, 5, 2, 4, 6"
    assert f"in the order {order} first" in words


def test_the_curve_follows_the_chosen_query_and_key() -> None:
    session = Session("positions", section="rotation", reveal="18").set("pick:s", 2).set("pick:u", 6)
    assert (session.view.s, session.view.u) == (1, 5)
    run = session.experiment.run()
    assert run.projected_query is not None and run.projected_key is not None
    lines = [t for t in session.charts()["curve-distance"]["data"] if t["type"] == "scatter"]
    pair = run.projected_query[0, 0, 1], run.projected_key[0, 0, 5]
    curves = [by_distance(*pair, 32, rotary) for rotary in ROTATIONS.values()]
    for line, curve in zip(lines, curves, strict=False):
        assert array(line["x"]).tolist() == list(range(-31, 32)) and close(array(line["y"]), curve.scores)
    assert np.allclose(array(lines[2]["y"]), float(pair[0] @ pair[1]), atol=1e-6)
    assert f"differ by {small(max(curve.spread for curve in curves))} at most" in session.words()
    session.click("scores_half", 4, 0)
    assert (session.view.s, session.view.u) == (4, 0)
    assert "t − s" in Session("positions", section="rotation", reveal="18", letters="bts").words()


@pytest.mark.parametrize("positions", ["none", "rope_half"])
def test_an_odd_d_k_gets_one_sentence_and_a_way_on(positions: str) -> None:
    session = Session("positions", section="rotation", reveal="18", d_k="3", positions=positions, edits="q~0.0.2_1.5")
    assert session.sound() and len(session.said()) == 1 and "d_k = 3 is odd" in session.said()[0]
    session.press("even")
    assert session.experiment.d_k == 4 and session.experiment.edits and session.said() == [] and session.maps()


@pytest.mark.parametrize("query", [{"text": "a"}, {"d_k": "2"}], ids=["one token", "one pair"])
def test_where_nothing_can_be_told_apart_the_answer_says_why(query: dict[str, str]) -> None:
    words = Session("positions", section="rotation", reveal="18", **query).words()
    assert ("type a second word" if "text" in query else "there is one pair") in words and "other scores" not in words
