"""What a panel draws is what the tensors hold: every panel, head, group, sequence, window and difference."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.experiment import Experiment, View
from attnviz.figures.layout import BLOCKS
from attnviz.limits import TOKENS_SHOWN
from tests.figures import reading

THREE = "the cat sat on the mat\nthe dog ran\nbirds"
GROUPED: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_model": 6, "d_k": 3, "d_v": 5, "mask": "causal"}
LONG = " ".join(f"word{i}" for i in range(40))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("b", "h"), [(0, 0), (1, 1), (2, 2), (0, 3)])
def test_every_panel_is_its_tensor(block: str, b: int, h: int) -> None:
    experiment = Experiment(THREE, **GROUPED)
    run = experiment.run()
    figure = reading.board(experiment, block, View(b=b, h=h), run=run)
    drawn = [name for row in BLOCKS[block] for name in row if name]
    assert sorted(reading.names(figure)) == sorted(drawn)
    for name in drawn:
        np.testing.assert_array_equal(
            reading.z(figure, name), reading.finite(reading.expected(run, b, h)[name]), err_msg=name
        )
    if block == "scores":
        hidden = reading.expected(run, b, h)["masked"].isneginf().numpy()
        assert hidden.any()
        np.testing.assert_array_equal(reading.marks(figure, "masked", "−∞"), hidden)


def test_a_query_head_meets_the_key_and_value_head_of_its_group() -> None:
    # Independent of the trace's own layout: what is drawn multiplies out to the scores that are drawn.
    experiment = Experiment(THREE, **GROUPED)
    for h in range(4):
        scores = reading.board(experiment, "scores", View(h=h))
        np.testing.assert_allclose(
            reading.z(scores, "query") @ reading.z(scores, "key_t"), reading.z(scores, "scores"), rtol=1e-5, atol=1e-5
        )
        output = reading.board(experiment, "output", View(h=h))
        np.testing.assert_allclose(
            reading.z(output, "weights") @ reading.z(output, "value"), reading.z(output, "output"), rtol=1e-5, atol=1e-6
        )
        projections = reading.board(experiment, "projections", View(h=h))
        for weight, result in (("w_q", "query"), ("w_k", "key"), ("w_v", "value")):
            product = reading.z(projections, "x") @ reading.z(projections, weight)
            np.testing.assert_allclose(product, reading.z(projections, result), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("from_s", "from_u", "s", "u"), [(0, 0, 0, 0), (5, 9, 5, 9), (16, 16, 16, 16), (30, 500, 16, 16)]
)
def test_a_long_text_shows_a_window_of_the_same_numbers(from_s: int, from_u: int, s: int, u: int) -> None:
    experiment = Experiment(LONG, mask="causal")
    run, view = experiment.run(), View(from_s=from_s, from_u=from_u)
    rows, columns = slice(s, s + TOKENS_SHOWN), slice(u, u + TOKENS_SHOWN)
    whole = reading.expected(run, 0, 0)
    scores = reading.board(experiment, "scores", view, run=run)
    windows = {"query": (rows, slice(None)), "key_t": (slice(None), columns), "row_sums": (rows, slice(None))}
    windows |= dict.fromkeys(("scores", "masked", "weights"), (rows, columns))
    for name, window in windows.items():
        np.testing.assert_array_equal(reading.z(scores, name), reading.finite(whole[name][window]), err_msg=name)
    # A row of weights sums to 1 over all keys, though only a window of them is drawn.
    np.testing.assert_allclose(reading.z(scores, "row_sums"), 1, rtol=1e-6)
    assert reading.axis(scores, "weights", "x")["ticktext"] == [f"word{i}" for i in range(u, u + TOKENS_SHOWN)]
    assert reading.axis(scores, "query", "y")["ticktext"] == [f"word{i}" for i in range(s, s + TOKENS_SHOWN)]
    projections = reading.board(experiment, "projections", view, run=run)
    np.testing.assert_array_equal(reading.z(projections, "key"), whole["key"][columns].numpy())
    np.testing.assert_array_equal(reading.z(projections, "x"), whole["x"][rows].numpy())
    output = reading.board(experiment, "output", view, run=run)
    np.testing.assert_array_equal(reading.z(output, "value"), whole["value"][columns].numpy())
    np.testing.assert_array_equal(reading.z(output, "output"), whole["output"][rows].numpy())


@pytest.mark.parametrize("block", BLOCKS)
def test_a_difference_is_now_minus_unedited(block: str) -> None:
    experiment = Experiment(THREE, **GROUPED).with_cell("x", (0, 2, 1), 3.5).with_cell("k", (0, 1, 4), -2)
    run, base = experiment.run(), experiment.unedited().run()
    figure = reading.board(experiment, block, View(h=3), base=base, run=run)
    now, before = reading.expected(run, 0, 3), reading.expected(base, 0, 3)
    for name in reading.names(figure):
        difference = torch.where(now[name] == before[name], 0, now[name] - before[name])
        np.testing.assert_array_equal(reading.z(figure, name), difference.numpy(), err_msg=name)
    assert all(title.startswith(("Δ", "Σ")) for title in reading.titles(figure))
    # Differences have a sign: no panel keeps the scale from 0 to 1.
    for name in set(reading.names(figure)) - {"row_sums"}:
        scale = figure["layout"][reading.panel(figure, name)["coloraxis"]]
        assert scale["cmin"] == -scale["cmax"], name


def test_infinite_and_undefined_numbers_are_marked_each_by_its_name() -> None:
    """An infinity times zero is NaN on every processor; a sum that overflows both ways is not, where it is fused."""
    huge = 3e38
    experiment = Experiment("a b c", d_model=2, d_k=2, x=[[huge, huge], [0, 0], [-huge, -huge]], w_q=[[9, 9], [9, 9]])
    run = experiment.run()
    assert run.trace is not None
    query, scores = run.trace.query[0, 0], run.trace.scores[0, 0]
    assert query.isposinf().any() and query.isneginf().any() and scores.isnan().any()
    for block, name, tensor in (("projections", "query", query), ("scores", "scores", scores)):
        figure = reading.board(experiment, block, run=run)
        np.testing.assert_array_equal(reading.marks(figure, name, "∞"), tensor.isposinf().numpy())
        np.testing.assert_array_equal(reading.marks(figure, name, "−∞"), tensor.isneginf().numpy())
        np.testing.assert_array_equal(reading.marks(figure, name, "NaN"), tensor.isnan().numpy())
        np.testing.assert_array_equal(reading.z(figure, name), reading.finite(tensor))
        marked = {"∞" if tensor.isposinf().any() else "", "NaN" if tensor.isnan().any() else ""} - {""}
        assert {t["text"] for t in figure["data"] if t.get("mode") == "text"} >= marked
    for block in BLOCKS:
        scales = [v for k, v in reading.board(experiment, block, run=run)["layout"].items() if "coloraxis" in k]
        assert all(np.isfinite([scale["cmin"], scale["cmax"]]).all() for scale in scales)


@pytest.mark.parametrize(
    ("field", "index", "view", "places"),
    [
        ("x", (1, 2, 3), View(b=1), {"x": {(2, 3)}}),
        ("x", (1, 2, 3), View(b=0), {}),
        ("w_q", (4, 7), View(h=2), {"w_q": {(4, 1)}}),  # column 7 is feature 1 of head 2
        ("w_q", (4, 7), View(h=1), {}),
        ("w_k", (4, 4), View(h=2), {"w_k": {(4, 1)}}),  # column 4 is feature 1 of key head 1: of heads 2 and 3
        ("w_k", (4, 4), View(h=3), {"w_k": {(4, 1)}}),
        ("w_k", (4, 4), View(h=1), {}),
        ("w_v", (0, 9), View(h=3), {"w_v": {(0, 4)}}),
        ("q", (0, 3, 11), View(h=3), {"query": {(3, 2)}}),
        ("k", (0, 3, 5), View(h=3), {"key": {(3, 2)}, "key_t": {(2, 3)}}),
        ("v", (0, 3, 0), View(h=1), {"value": {(3, 0)}}),
        ("v", (1, 2, 0), View(h=1), {}),
    ],
)
def test_the_cells_that_were_typed_are_marked_and_no_others(
    field: str, index: tuple[int, ...], view: View, places: dict[str, set[tuple[int, int]]]
) -> None:
    experiment = Experiment(THREE, **GROUPED).with_cell(field, index, 9)
    found: dict[str, set[tuple[int, int]]] = {}
    for block in BLOCKS:
        figure = reading.board(experiment, block, view)
        for name in reading.names(figure):
            if marked := reading.edited(figure, name):
                found[name] = marked
                (row, column) = next(iter(marked))
                assert reading.z(figure, name)[row, column] == 9
    assert found == places


def test_a_matrix_that_was_typed_whole_is_not_covered_with_marks_but_says_so() -> None:
    experiment = Experiment("a b", d_model=2, d_k=2, w_q=[[1, 2], [3, 4]])
    figure = reading.board(experiment, "projections")
    assert reading.edited(figure, "w_q") == set()
    titles = [title for title in reading.titles(figure) if "all typed" in title]
    assert len(titles) == 1 and titles[0].startswith("WQ")
    assert reading.edited(reading.board(experiment.with_cell("w_k", (0, 0), 1), "projections"), "w_k") == {(0, 0)}


def test_a_typed_cell_outside_the_window_is_not_marked() -> None:
    experiment = Experiment(LONG).with_cell("x", (0, 3, 0), 9).with_cell("x", (0, 20, 0), 9)
    assert reading.edited(reading.board(experiment, "projections"), "x") == {(3, 0), (20, 0)}
    assert reading.edited(reading.board(experiment, "projections", View(from_s=10)), "x") == {(10, 0)}


def test_what_typed_queries_replace_is_called_overridden() -> None:
    part = Experiment("a b", d_model=2, d_k=2).with_cell("q", (0, 0, 0), 1)
    titles = {title.split()[0]: title for title in reading.titles(reading.board(part, "projections"))}
    assert "partly overridden" in titles["WQ"] and "partly overridden" in titles["X"]
    assert "overridden" not in titles["WK"] + titles["Q"]
    whole = Experiment("a b", d_model=2, d_k=2, q=[[1, 2], [3, 4]])
    figure = reading.board(whole, "projections")
    titles = {title.split()[0]: title for title in reading.titles(figure)}
    assert titles["WQ"].endswith(" overridden") and "partly overridden" in titles["X"]
    assert "partly" not in titles["WQ"]
    assert reading.panel(figure, "w_q")["opacity"] < 1 == reading.panel(figure, "query")["opacity"]


def test_numbers_travel_as_float32_and_never_as_lists_or_texts() -> None:
    experiment = Experiment(THREE, **GROUPED).with_cell("q", (0, 1, 0), 9)
    for block in BLOCKS:
        figure = reading.board(experiment, block)
        for trace in figure["data"]:
            if trace["type"] == "heatmap":
                assert trace["z"]["dtype"] == "f4", trace["name"]
                assert not {"text", "customdata", "hovertext", "hovertemplate", "x", "y"} & set(trace)
        # No list grows with n * n: what is left of them are ticks, labels and colour scales.
        longest = max((len(v) for v in _lists(figure)), default=0)
        assert longest <= TOKENS_SHOWN


def test_the_figure_of_a_long_text_stays_small() -> None:
    experiment = Experiment(LONG, mask="causal")
    for block in BLOCKS:
        assert len(json.dumps(reading.board(experiment, block))) < 60_000


def _lists(value: Any) -> list[list[Any]]:
    if isinstance(value, dict):
        return [found for inner in value.values() for found in _lists(inner)]
    if isinstance(value, list):
        return [value, *(found for inner in value for found in _lists(inner))]
    return []
