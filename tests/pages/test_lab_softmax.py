"""The softmax section: what it says and draws is what the lab's functions return, for the settings of its controls."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.figures.panels import within
from attnviz.figures.text import number
from attnviz.labs.softmax import Row, dropped, over_axis, row
from attnviz.ui.labs.softmax_row import FEW, NARROW, WIDE, short
from tests.figures.reading import array, finite, shown, titles
from tests.pages.session import Session

BARS = ("row-scores", "row-plain", "row-safe", "row-weights")
HIDDEN_ROW = {"text": "a b", "mask": "drawn", "drawn": "2.IA"}  # a sees nothing


def softmax(**query: str) -> Session:
    session = Session("scores", section="softmax", **query)
    assert session.sound()
    return session


def trace_of(session: Session) -> AttentionTrace:
    trace = session.experiment.run().trace
    assert trace is not None
    return trace


def head(session: Session, tensor: Tensor) -> Tensor:
    """The matrix of the chosen sequence and head."""
    view = session.view
    return tensor[view.b, view.h]


def parts_of(session: Session) -> Row:
    view = within(session.view, session.experiment.run())
    return row(head(session, trace_of(session).masked)[view.s], view.lab.shift)


def bars(session: Session, key: str) -> dict[str, Any]:
    (found,) = session.charts()[key]["data"]
    return dict(found)


def same(drawn: Any, tensor: Tensor) -> bool:
    return np.array_equal(drawn, finite(tensor), equal_nan=True)


# ---- 4: the axis ----


@pytest.mark.parametrize("query", [{}, {"mask": "causal"}, {"text": "a b c\nd e", "b": "1", "n_heads": "2", "h": "1"}])
def test_the_maps_and_their_margins_follow_the_axis(query: dict[str, str]) -> None:
    session = softmax(**query)
    for axis in ("u", "s"):
        session.set("axis", axis)
        assert session.linked[1].lab.axis == axis
        trace, maps = trace_of(session), session.maps()
        weights = over_axis(head(session, trace.masked), axis)
        assert same(maps["masked"], head(session, trace.masked)) and same(maps["weights"], weights)
        assert same(maps["rows of weights"][:, 0], weights.sum(1))
        assert same(maps["columns of weights"][0], weights.sum(0))
        assert same(maps["output"], weights @ head(session, trace.value))
    assert axis == "s" and not same(maps["output"], head(session, trace.output))


def test_the_title_names_scale_and_mask() -> None:
    figure = softmax(scale="d_k", mask="causal").charts()["maps-axis"]
    assert titles(figure)[0] == "S / dk + mask"


@pytest.mark.parametrize("letters", ["bsu", "bij"])
def test_the_reveal_of_the_axis_says_what_your_rows_sum_to(letters: str) -> None:
    session = softmax(reveal="4", letters=letters)
    sums = over_axis(head(session, trace_of(session).masked), "s").sum(-1)
    s = letters[1]
    words = session.words()
    assert f"Softmax over {s} makes the columns sum to 1" in words
    assert f"from {number(float(sums.min()), 4)} to {number(float(sums.max()), 4)}" in words
    assert session.widget("axis").options == [f"keys {letters[2]} (each row)", f"queries {s} (each column)"]


def test_rows_of_padding_and_rows_that_see_nothing_are_not_counted() -> None:
    session = softmax(text="a b c d\ne f", b="1", reveal="4")
    sums = over_axis(head(session, trace_of(session).masked), "s").sum(-1)[:2]
    assert f"from {number(float(sums.min()), 4)} to {number(float(sums.max()), 4)}" in session.words()
    session = softmax(**HIDDEN_ROW, reveal="4,15")
    (seen,) = over_axis(head(session, trace_of(session).masked), "s").sum(-1)[1:].tolist()
    assert f"from {number(seen, 4)} to {number(seen, 4)}" in session.words()
    assert "from 0.0000" not in session.words()
    assert "type a second word" in softmax(text="a", reveal="4").words()


def test_a_sentence_says_what_the_output_mixes() -> None:
    session = softmax(s="1")
    weights = head(session, trace_of(session).weights)[1]
    top = sorted(range(6), key=lambda u: -float(weights[u]))[:3]
    tokens = session.experiment.sequences[0]
    taken = " + ".join(f"{number(float(weights[u]), 2)} V{'₁₂₃₄₅₆'[u]} “{tokens[u]}”" for u in top)
    assert f"Row 2 of the output, “cat”, takes {taken} + …; in all 1.0000, so that it is a mean" in session.words()
    session.set("axis", "s")
    total = float(over_axis(head(session, trace_of(session).masked), "s")[1].sum())
    assert f"in all {number(total, 4)}, so that it is no mean" in session.words()
    assert "takes nothing: it is 0" in softmax(**HIDDEN_ROW).words()
    assert "takes 1.00 V₁ “a”; in all 1.0000" in softmax(text="a").words()


# ---- one row ----


@pytest.mark.parametrize("query", [{}, {"s": "3", "shift": "-30"}, {"text": "a b\nc", "b": "1"}])
def test_the_bars_are_the_parts_of_the_row(query: dict[str, str]) -> None:
    session = softmax(**query)
    parts = parts_of(session)
    values = (parts.scores, parts.plain_exponentials, parts.exponentials, parts.weights)
    for key, numbers in zip(BARS, values, strict=True):
        drawn = bars(session, key)
        assert np.array_equal(array(drawn["y"]), torch.where(numbers.isfinite(), numbers, 0).double().numpy())
        for text, value in zip(drawn["text"], numbers.tolist(), strict=True):
            assert text == short(value) or math.isfinite(value)
    assert f"Σ = {number(parts.total, 4)}" in session.words() and "Σ = 1.0000" in session.words()
    assert session.said() == []


@pytest.mark.parametrize(
    ("shift", "said", "of_plain"),
    [
        (100, "exp({highest}) is more than float32 can hold: exp(x) / Σ exp(x) divides ∞ by ∞", "∞"),
        (-1000, "Even exp({highest}) is less than float32 can hold: exp(x) / Σ exp(x) divides 0 by 0", "0"),
        (-100, "exp({highest}) is so small that float32 keeps few of its digits", ""),
    ],
)
def test_where_the_plain_formula_ends_a_warning_says_why(shift: int, said: str, of_plain: str) -> None:
    session = softmax().set("shift", shift)
    parts = parts_of(session)
    (warning,) = session.said()
    assert warning.startswith(said.format(highest=number(parts.highest, 2)))
    assert "torch subtracts the largest score first" in warning
    assert shift != -100 or f"wrong by up to {number(parts.plain_error, 4)}" in warning
    assert not of_plain or bars(session, "row-plain")["text"] == [of_plain] * 6
    assert np.allclose(array(bars(session, "row-weights")["y"]), row(parts.scores - shift).weights, atol=1e-4)
    assert session.linked[1].lab.shift == shift
    assert session.set("shift", 0).said() == []


def test_a_sum_that_overflows_has_a_warning_of_its_own() -> None:
    # A query of 0 scores 0 everywhere; shifted to 88, each exp() still fits.
    session = softmax(text="a b c", edits="q~0.0.0_0_0_0_0", shift="88")
    assert parts_of(session).scores.tolist() == [88.0] * 3
    assert session.said()[0].startswith("Each exp(x) fits into float32, but not their sum")


def test_a_row_that_sees_nothing_shows_as_text_and_zeros() -> None:
    session = softmax(**HIDDEN_ROW)
    assert session.said()[0].startswith("Every score of this row is −∞")
    assert [bars(session, key)["text"] for key in BARS] == [["−∞", "−∞"], ["0", "0"], ["0", "0"], ["0", "0"]]


def test_numbers_beyond_float32_show_as_text() -> None:
    session = softmax(edits="x~0.0.0_1e30", text="a b", reveal="4,15")
    assert any(said.startswith("A score of this row is ∞ or NaN") for said in session.said())
    assert bars(session, "row-weights")["text"] == ["NaN", "NaN"]
    assert not array(bars(session, "row-weights")["y"]).any()


def test_a_click_or_a_number_chooses_the_row_and_a_window_follows_the_keys() -> None:
    session = softmax().click("weights", 3, 4)
    assert (session.view.s, session.view.u, session.widget("at:s").value) == (3, 4, 4)
    session.set("at:s", 6)
    assert session.view.s == 5 and np.allclose(array(bars(session, "row-scores")["y"]), parts_of(session).scores)
    session.set("shift", None).set("at:s", None)
    assert session.view.s == 5 and session.view.lab.shift == 0
    text = " ".join(f"w{i}" for i in range(40))
    session = softmax(text=text, from_u="10")
    assert np.allclose(array(bars(session, "row-weights")["y"]), parts_of(session).weights[10:34])
    assert shown(session.charts()["row-weights"]["layout"]["xaxis"]["ticktext"][0]) == "w10"
    assert session.widget("first:from_u").value == 11


@pytest.mark.parametrize(("n", "width"), [(FEW, NARROW), (FEW + 1, WIDE)])
def test_four_charts_stand_in_a_line_or_two(n: int, width: int) -> None:
    session = softmax(text="a " * n)
    assert {session.charts()[key]["layout"]["width"] for key in BARS} == {width}
    assert 1200 // width == (4 if n <= FEW else 2)


# ---- 15: dropout ----


def test_dropout_in_training_and_in_evaluation() -> None:
    session = softmax(seed="4", reveal="15")
    for share, training in ((0.2, True), (0.5, True), (0.5, False), (0.0, True)):
        session.set("dropout", share).set("training", training)
        assert session.linked[1].lab.dropout == share and session.linked[1].lab.training == training
        weights = head(session, trace_of(session).weights)
        kept, maps = dropped(weights, share, training=training, seed=4), session.maps()
        assert same(maps["before"], weights) and same(maps["dropped"], kept)
        assert same(maps["rows of dropped"][:, 0], kept.sum(-1))
        sums = dropped(weights, share, training=True, seed=4).sum(-1)
        if share:
            low, high = number(float(sums.min()), 4), number(float(sums.max()), 4)
            assert f"with p = {share:g} your rows sum to anything from {low} to {high}" in session.words()
        else:
            assert "at p = 0 it drops nothing" in session.words()
    rounding = float((weights.sum(-1) - 1).abs().max())
    assert f"by {number(rounding, 7)} at most" in session.set("dropout", 0.9).words() and rounding < 1e-6


def test_a_table_holds_all_parts_of_the_row() -> None:
    session = softmax(shift="100").open_tables()
    (frame,) = (frame.value for frame in session.at.dataframe if "exp(x) / Σ" in frame.value)
    parts = parts_of(session)
    for column, values in zip(
        frame.to_numpy().T,
        (parts.scores, parts.plain_exponentials, parts.plain_weights, parts.exponentials, parts.weights),
        strict=True,
    ):
        assert np.array_equal(column, values.numpy(), equal_nan=True)


def test_a_bad_link_says_so_and_keeps_the_defaults() -> None:
    session = softmax(shift="5000", dropout="2", axis="k")
    assert len(session.said()) == 1 and "shift = 5000" in session.said()[0]
    lab = session.view.lab
    assert (lab.shift, lab.dropout, lab.axis) == (0, 0.2, "u")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (-98.961, "−99"), (2.7e-43, "2.7·10⁻⁴³"), (-1e5, "−1·10⁵"), (math.nan, "NaN")],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value, 2) == text.replace("−1·", "−1.0·")
