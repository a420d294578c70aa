"""Where panels stand: Falk's scheme to the pixel, one size of cell, nothing over anything, no wider than the page."""

import itertools
from functools import cache
from typing import Any, NamedTuple

import pytest

from attnviz import locale
from attnviz.experiment import Experiment, View
from attnviz.figures.board import block_layout
from attnviz.figures.layout import BLOCKS, CELL_LEAST, DIGITS_ONE, STRETCH, TARGET
from attnviz.figures.panels import AXES
from tests.figures import reading

SIZES = [(n, d_model, d_k) for n in (1, 2, 6, 13, 24) for d_model, d_k in ((1, 1), (8, 4), (1, 64), (64, 1), (64, 64))]
# What stands left of each result, and what above it.
FACTORS = {
    "query": ("x", "w_q"),
    "key": ("x", "w_k"),
    "value": ("x", "w_v"),
    "scores": ("query", "key_t"),
    "output": ("weights", "value"),
}
# Widths of Source Sans, in thousandths of its size; what is not listed is 0.5 or less.
NARROW = dict.fromkeys("ijlt|.,;:'", 0.26) | dict.fromkeys("()[] rf", 0.32)
WIDE = dict.fromkeys("mwMW", 0.84) | dict.fromkeys("ABCDGHKNOPQRSUVX", 0.62)


class Box(NamedTuple):
    name: str
    left: float
    top: float
    right: float
    bottom: float


@cache
def drawn(block: str, n: int, d_model: int, d_k: int) -> reading.Figure:
    return reading.board(experiment_of(n, d_model, d_k, mask="causal"), block)


def experiment_of(n: int, d_model: int, d_k: int, **others: Any) -> Experiment:
    return Experiment(" ".join(f"token{i}" for i in range(n)), d_model=d_model, d_k=d_k, d_v=d_k, **others)


def width(text: str, size: float) -> float:
    return size * sum(NARROW.get(c) or WIDE.get(c) or (1.0 if ord(c) > 0x2E80 else 0.5) for c in text)


def boxes(figure: reading.Figure) -> list[Box]:
    """The cells of every panel, and the title of each as wide as its letters are."""
    whole = figure["layout"]["width"], figure["layout"]["height"]
    found = [Box(name, *reading.pixels(figure, name)) for name in reading.names(figure)]
    for note in figure["layout"]["annotations"]:
        text = reading.shown(note["text"])
        symbol, _, shape = text.partition(" (")
        left, bottom = note["x"] * whole[0], (1 - note["y"]) * whole[1]
        size = note["font"]["size"]
        wide = width(symbol, size) + (width(" (" + shape, size - 1) if shape else 0)
        found.append(Box("title " + text, left, bottom - 1.2 * size, left + wide, bottom))
    return found


def overlaps(a: Box, b: Box) -> bool:
    near = 0.5  # the size of a figure is rounded to whole pixels
    return min(a.right, b.right) - max(a.left, b.left) > near and min(a.bottom, b.bottom) - max(a.top, b.top) > near


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("n", "d_model", "d_k"), SIZES)
def test_a_cell_stands_where_its_row_and_its_column_meet(block: str, n: int, d_model: int, d_k: int) -> None:
    figure = drawn(block, n, d_model, d_k)
    there = set(reading.names(figure))
    met = [(result, *factors) for result, factors in FACTORS.items() if {result, *factors} <= there]
    assert len(met) == {"projections": 3, "scores": 1, "output": 1}[block]
    for result, left, above in met:
        assert reading.axis(figure, result, "y")["domain"] == pytest.approx(reading.axis(figure, left, "y")["domain"])
        assert reading.axis(figure, result, "x")["domain"] == pytest.approx(reading.axis(figure, above, "x")["domain"])
        x0, y0, _, _ = reading.pixels(figure, result)
        assert reading.pixels(figure, left)[2] < x0  # the left factor stands left of the result
        assert reading.pixels(figure, above)[3] < y0  # the right factor above it
        # The same numbers of rows and columns, so that cells and not only edges meet.
        assert reading.z(figure, result).shape == (reading.z(figure, left).shape[0], reading.z(figure, above).shape[1])
    if block == "scores":
        for name in ("masked", "weights", "row_sums"):
            assert reading.axis(figure, name, "y")["domain"] == pytest.approx(
                reading.axis(figure, "scores", "y")["domain"]
            )


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("n", "d_model", "d_k"), SIZES)
def test_one_cell_has_one_size_throughout_a_block(block: str, n: int, d_model: int, d_k: int) -> None:
    figure = drawn(block, n, d_model, d_k)
    sizes = []
    for name in set(reading.names(figure)) - {"row_sums"}:
        left, top, right, bottom = reading.pixels(figure, name)
        rows, columns = reading.z(figure, name).shape
        sizes.append(((right - left) / columns, (bottom - top) / rows))
    for size in sizes:
        assert size == pytest.approx(sizes[0], rel=0.01)
        assert min(size) >= CELL_LEAST * 0.99


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("n", "d_model", "d_k"), SIZES)
def test_nothing_overlaps_and_nothing_leaves_the_figure(block: str, n: int, d_model: int, d_k: int) -> None:
    _check_boxes(drawn(block, n, d_model, d_k))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_the_longest_titles_overlap_nothing(lang: str, n: int) -> None:
    locale.use(lang)
    experiment = experiment_of(n, 8, 2, mask="causal", temperature=2.75, n_heads=2)
    _check_boxes(reading.board(experiment, "scores"))
    edited = experiment.with_cell("x", (0, 0, 0), 1)
    _check_boxes(reading.board(edited, "scores", base=experiment.run()))


def _check_boxes(figure: reading.Figure) -> None:
    whole, all_boxes = figure["layout"], boxes(figure)
    for a, b in itertools.combinations(all_boxes, 2):
        assert not overlaps(a, b), (a, b)
    for box in all_boxes:
        assert box.left >= 0 and box.top >= 0, box
        assert box.right <= whole["width"] + 1 and box.bottom <= whole["height"] + 1, box


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("d_k", [1, 2, 3, 4, 8])
def test_the_titles_of_overridden_panels_overlap_nothing(lang: str, d_k: int) -> None:
    locale.use(lang)
    experiment = experiment_of(3, 1, d_k).with_cell("q", (0, 0, 0), 1).with_cell("k", (0, 0, 0), 1)
    for base in (None, experiment.unedited().run()):
        figure = reading.board(experiment.with_cell("v", (0, 0, 0), 1), "projections", base=base)
        for a, b in itertools.combinations(boxes(figure), 2):
            assert not overlaps(a, b), (a, b)


@pytest.mark.parametrize("block", BLOCKS)
def test_row_labels_stand_beside_their_rows_and_over_nothing(block: str) -> None:
    for n, d_model, d_k in SIZES:
        figure = drawn(block, n, d_model, d_k)
        cells = [Box(name, *reading.pixels(figure, name)) for name in reading.names(figure)]
        for name in reading.names(figure):
            axis, (left, top, _, bottom) = reading.axis(figure, name, "y"), reading.pixels(figure, name)
            if axis["showticklabels"]:
                wide = max(width(reading.shown(t), axis["tickfont"]["size"]) for t in axis["ticktext"])
                label = Box("rows of " + name, left - wide - axis["ticklabelstandoff"], top, left, bottom)
                assert label.left >= -1, label
                for other in cells:
                    assert not overlaps(label, other), (label, other)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("word", ["a", "internationalisation"])
def test_a_block_is_no_wider_than_the_page_while_its_cells_can_shrink(block: str, word: str) -> None:
    smallest = 0
    for n in (1, 4, 8, 12, 18, 24):
        for d_model, d_k in ((1, 1), (4, 4), (8, 8), (16, 4), (16, 16), (64, 8), (64, 64)):
            experiment = Experiment(f"{word} " * n, d_model=d_model, d_k=d_k, d_v=d_k)
            layout = block_layout(experiment, experiment.run(), View(), block)
            assert layout.cell >= CELL_LEAST
            if layout.cell > CELL_LEAST:
                room = STRETCH if layout.cell == DIGITS_ONE else TARGET  # wider where that keeps the digits
                assert layout.width <= room, (n, d_model, d_k)
            smallest += layout.cell == CELL_LEAST
    assert smallest  # the grid reaches what cannot shrink further


def test_a_panel_is_as_wide_as_it_has_columns() -> None:
    experiment = experiment_of(6, 8, 4)
    for block in BLOCKS:
        layout = block_layout(experiment, experiment.run(), View(), block)
        for slot in layout.slots:
            if AXES[slot.panel.name][1]:
                assert slot.width == pytest.approx(layout.cell * slot.panel.values.shape[1])
