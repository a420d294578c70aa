"""How a block is drawn: axes that number and never merge, fixed or symmetric scales, digits that are legible."""

import itertools
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.experiment import Experiment, View
from attnviz.figures.board import BAR_HEIGHT, block_layout, hover_panels
from attnviz.figures.colours import DARK, LIGHT
from attnviz.figures.layout import BLOCKS
from attnviz.figures.text import number
from tests.figures import reading

CAT = "the cat sat on the mat"
ODD = "a \u200b <s> </s> &amp; $x$ * :red[x] 👩‍🚀 مرحبا #000001"


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("text", ["the cat the cat", "a", "我 喜 欢 我", "x " * 30])
def test_axes_are_numeric_and_every_label_has_its_place(block: str, text: str) -> None:
    figure = reading.board(Experiment(text, d_k=3, n_heads=2, mask="causal"), block)
    axes = {k: v for k, v in figure["layout"].items() if k[:5] in ("xaxis", "yaxis")}
    assert len(axes) == 2 * len(reading.names(figure))
    for name in reading.names(figure):
        rows, columns = reading.z(figure, name).shape
        assert reading.axis(figure, name, "x")["range"] == [-0.5, columns - 0.5]
        assert reading.axis(figure, name, "y")["range"] == [rows - 0.5, -0.5]  # row 0 on top
    for axis in axes.values():
        assert axis.get("type", "linear") == "linear"
        if axis["showticklabels"]:
            assert axis["tickmode"] == "array"
            assert len(axis["tickvals"]) == len(axis["ticktext"]) <= 24
            assert all(isinstance(place, int) for place in axis["tickvals"])
            assert all(isinstance(text, str) and text.strip() for text in axis["ticktext"])


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_plotly_knows_every_property_that_is_drawn(block: str, theme: Any) -> None:
    # Figures are drawn without Plotly's own check, which would take half of a run: it is made here.
    experiment = Experiment("a b c\nd", mask="causal", n_heads=2).with_cell("q", (1, 0, 0), 3e38)
    whole = [[1.0, 2, 3, 4, 5, 6, 7, 8]] * 3
    for e in (Experiment(CAT), experiment, Experiment("w " * 30), Experiment("a b c", d_k=8, q=whole)):
        for base in (None, e.unedited().run()):
            go.Figure(reading.board(e, block, View(b=len(e.sequences) - 1), theme=theme, base=base))


def test_repeated_tokens_stay_apart() -> None:
    figure = reading.board(Experiment("the cat the cat"), "scores")
    for name, kind in (("query", "y"), ("scores", "x"), ("weights", "x"), ("key_t", "x")):
        axis = reading.axis(figure, name, kind)
        assert axis["ticktext"] == ["the", "cat", "the", "cat"]
        assert axis["tickvals"] == [0, 1, 2, 3]
    assert reading.z(figure, "scores").shape == (4, 4)


def test_the_axes_of_tokens_are_titled_in_the_letters_of_the_reader() -> None:
    for letters, s, u in (("bsu", "s", "u"), ("bij", "i", "j"), ("bts", "t", "s")):
        figure = reading.board(Experiment(CAT), "scores", View(letters=letters))
        assert reading.axis(figure, "query", "y")["title"]["text"] == f"query token {s}"
        assert reading.axis(figure, "scores", "x")["title"]["text"] == f"key token {u}"
        assert reading.axis(figure, "scores", "x")["title"]["font"]["color"] == LIGHT.letters["u"]


@pytest.mark.parametrize("block", BLOCKS)
def test_axes_that_are_the_same_are_tied_and_no_others(block: str) -> None:
    figure = reading.board(Experiment(CAT, d_k=3, d_v=2), block)
    group = {
        (name, kind): reading.axis(figure, name, kind).get(
            "matches", kind + reading.panel(figure, name)[kind + "axis"][1:]
        )
        for name in reading.names(figure)
        for kind in "xy"
    }
    same = {
        "projections": [
            [("x", "y"), ("query", "y"), ("key", "y"), ("value", "y")],
            [("w_q", "x"), ("query", "x")],
            [("w_k", "x"), ("key", "x")],
            [("w_v", "x"), ("value", "x")],
        ],
        "scores": [
            [("query", "y"), ("scores", "y"), ("masked", "y"), ("weights", "y"), ("row_sums", "y")],
            [("key_t", "x"), ("scores", "x"), ("masked", "x"), ("weights", "x")],
        ],
        "output": [[("weights", "y"), ("output", "y")], [("value", "x"), ("output", "x")]],
    }[block]
    for axes in same:
        assert len({group[axis] for axis in axes}) == 1, axes
    assert len({group[axes[0]] for axes in same}) == len(same)
    # Tied axes move together: they must have the same range, or Plotly widens the shorter one.
    for one, other in itertools.combinations(group, 2):
        if group[one] == group[other]:
            ranges = [reading.axis(figure, *axis)["range"] for axis in (one, other)]
            assert ranges[0] == ranges[1], (one, other)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_weights_run_from_0_to_1_and_signed_values_are_symmetric(block: str, theme: Any) -> None:
    experiment = Experiment(CAT, mask="causal", scale="none")
    figure = reading.board(experiment, block, theme=theme)
    largest = dict.fromkeys(("scores", "values"), 0.0)  # scores have a scale of their own
    for name in set(reading.names(figure)) - {"row_sums"}:
        scale = figure["layout"][reading.panel(figure, name)["coloraxis"]]
        if name == "weights":
            assert (scale["cmin"], scale["cmax"]) == (0, 1)
            assert scale["colorscale"] == [list(stop) for stop in theme.share]
        else:
            kind, numbers = "scores" if name in ("scores", "masked") else "values", np.abs(reading.z(figure, name))
            largest[kind] = max(largest[kind], float(numbers[np.isfinite(numbers)].max()))
            assert scale["cmin"] == -scale["cmax"]
            assert scale["colorscale"] == [list(stop) for stop in theme.signed]
            assert scale["colorscale"][len(theme.signed) // 2][0] == 0.5  # zero has the middle colour
    for kind, of_kind in (("scores", ("scores", "masked")), ("values", ("query", "key_t", "x", "value", "output"))):
        for name in set(of_kind) & set(reading.names(figure)):
            assert figure["layout"][reading.panel(figure, name)["coloraxis"]]["cmax"] == pytest.approx(largest[kind])
    bars = [v["colorbar"] for k, v in figure["layout"].items() if k.startswith("coloraxis")]
    assert len(bars) == {"projections": 1, "scores": 3, "output": 2}[block]  # one for each scale of a block
    assert all(bar["title"]["text"] for bar in bars)


def test_differences_of_scores_and_of_weights_have_scales_of_their_own() -> None:
    edited = Experiment(CAT, mask="causal").with_cell("x", (0, 1, 1), 5.0)
    figure = reading.board(edited, "scores", base=edited.unedited().run())
    for name in ("scores", "weights", "query"):
        scale = figure["layout"][reading.panel(figure, name)["coloraxis"]]
        shown = np.abs(reading.z(figure, name)).max()
        assert scale["cmin"] == -scale["cmax"] and scale["colorscale"] == [list(stop) for stop in LIGHT.signed]
        assert scale["cmax"] == pytest.approx(shown) or (name != "weights" and scale["cmax"] > shown)
    words = {v["colorbar"]["title"]["text"] for k, v in figure["layout"].items() if k.startswith("coloraxis")}
    assert words == {"difference from the unedited run", "difference of the scores", "difference of the weights"}


def test_the_weights_of_a_long_text_are_not_blank() -> None:
    figure = reading.board(Experiment(" ".join(f"w{i}" for i in range(600))), "output")
    scale = figure["layout"][reading.panel(figure, "weights")["coloraxis"]]
    assert scale["cmax"] == pytest.approx(reading.z(figure, "weights").max()) and scale["cmax"] < 0.1


@pytest.mark.parametrize("text", ["a", "a b c", " ".join("abcdefghijklmnopqrstuvwx")])
@pytest.mark.parametrize("d", [1, 4, 64])
def test_the_bars_of_the_scores_cover_no_panel_and_no_other_bar(text: str, d: int) -> None:
    figure = reading.board(Experiment(text, d_k=d, d_model=8), "scores")
    layout = figure["layout"]
    w, h = layout["width"], layout["height"]
    boxes = []
    for name in ("query", "key_t", "scores", "masked", "weights"):
        n = reading.panel(figure, name)["xaxis"][1:]
        (x0, x1), (y0, y1) = (layout[f"{axis}axis{n}"]["domain"] for axis in "xy")
        boxes.append((name, x0 * w, x1 * w, (1 - y1) * h, (1 - y0) * h))
    for axis, one in layout.items():
        if axis.startswith("coloraxis"):
            bar = one["colorbar"]
            x, y = bar["x"] * w, (1 - bar["y"]) * h
            assert x >= 0 and x + bar["len"] <= w + 0.5 and y >= 0
            boxes.append((axis, x, x + bar["len"], y, y + BAR_HEIGHT))
    for one, two in itertools.combinations(boxes, 2):
        apart = one[2] <= two[1] + 1 or two[2] <= one[1] + 1 or one[4] <= two[3] + 1 or two[4] <= one[3] + 1
        assert apart, (one, two)


def test_a_block_of_zeros_still_has_a_scale() -> None:
    figure = reading.board(Experiment("a", d_model=1, d_k=1, d_v=1, x=[[0]]).with_cell("w_q", (0, 0), 0), "scores")
    assert figure["layout"]["coloraxis"]["cmax"] > 0


@pytest.mark.parametrize("n_tokens", [1, 9, 24])
@pytest.mark.parametrize("d", [1, 8, 16, 64])
def test_no_printed_letter_is_smaller_than_10_px(n_tokens: int, d: int) -> None:
    text = " ".join(ODD.split()[i % 11] for i in range(n_tokens))
    experiment = Experiment(text, "spaces", d_model=d, d_k=d, d_v=d, mask="causal").with_cell("q", (0, 0, 0), 1)
    for block in BLOCKS:
        figure = reading.board(experiment, block)
        fonts = [trace | {"marker": {}} for trace in figure["data"]] + [figure["layout"]]  # a marker is no letter
        sizes = [value for key, value in reading.everything(fonts) if key == "size"]
        sizes += [
            int(n) for note in figure["layout"]["annotations"] for n in re.findall(r"font-size:(\d+)", note["text"])
        ]
        assert sizes and min(sizes) >= 10
        for trace in figure["data"]:
            if trace.get("texttemplate"):
                assert trace["textfont"]["size"] >= 10


@pytest.mark.parametrize("value", [0.5, -99.5, 12345.678, -3e8])
@pytest.mark.parametrize("text", ["a b c d e f"])
def test_digits_are_printed_only_where_they_fit(value: float, text: str) -> None:
    # Source Sans: a digit and the minus take half of the size of the font, the point a quarter.
    experiment = Experiment(text, d_model=2, d_k=2, d_v=2).with_cell("v", (0, 1, 1), value)
    figure = reading.board(experiment, "projections")
    trace, (left, _, right, _) = reading.panel(figure, "value"), reading.pixels(figure, "value")
    cell = (right - left) / 2
    if template := trace.get("texttemplate"):
        printed = trace["text"][1][1] if "text" in trace else f"{value:.{template[template.index('.') + 1]}f}"
        assert (len(printed) - 0.5) * 0.497 * trace["textfont"]["size"] <= cell - 1, printed


def test_row_sums_are_printed_with_four_digits() -> None:
    trace = reading.panel(reading.board(Experiment(CAT), "scores"), "row_sums")
    assert trace["texttemplate"] == "%{z:.4f}"
    assert trace["showscale"] is False


def test_the_hover_knows_each_panel_by_the_axes_that_it_has() -> None:
    experiment, view = Experiment("w " * 40), View(from_s=3, from_u=5)
    run = experiment.run()
    for block in BLOCKS:
        figure = reading.board(experiment, block, view, run=run)
        panels = {p["name"]: p for p in hover_panels(block_layout(experiment, run, view, block))}
        assert set(panels) == set(reading.names(figure))
        for name, panel in panels.items():
            assert "x" + panel["axis"] == reading.panel(figure, name)["xaxis"]
        starts = {name: panel["start"] for name, panel in panels.items()}
        windows = {"query": [3, 0], "key_t": [0, 5], "scores": [3, 5], "row_sums": [3, 0]}
        windows |= {"value": [5, 0], "output": [3, 0], "w_q": [0, 0], "x": [3, 0]}
        assert all(starts[name] == windows[name] for name in starts if name in windows)


def test_hover_events_come_and_plotly_words_nothing_itself() -> None:
    for block in BLOCKS:
        for trace in reading.board(Experiment(CAT, mask="causal"), block)["data"]:
            assert trace["hoverinfo"] == ("none" if trace["type"] == "heatmap" else "skip")


def test_a_number_too_long_for_its_cell_is_printed_short_and_its_neighbours_as_ever() -> None:
    trace = reading.panel(reading.board(Experiment(CAT).with_cell("x", (0, 1, 2), 3e7), "projections"), "x")
    assert trace["texttemplate"] == "%{text}"
    values = reading.array(trace["z"])
    assert values[1, 2] == 3e7 and trace["text"][1][2] == "3.0e7"
    for row, printed in zip(values.tolist(), trace["text"], strict=True):
        for value, text in zip(row, printed, strict=True):
            assert text == "3.0e7" or text == number(value, 2).replace("−", "-")
