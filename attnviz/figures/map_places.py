"""Where the maps of a lab stand, in pixels: side by side, cells of one size, as large as fits."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from attnviz.experiment import View
from attnviz.figures.layout import (
    BAR,
    CELL_LEAST,
    CELL_MOST,
    DIGITS_ONE,
    GAP,
    LABEL_MOST,
    ROW_MOST,
    SUMS,
    TITLE,
    TOOLS,
    UPRIGHT,
)
from attnviz.figures.text import cut, visible, width
from attnviz.limits import TOKENS_SHOWN

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BARS = 52  # pixels of height that the colour bars take above the maps
BAR_STEP = BAR + 30  # pixels from one bar to the next


class Axis(NamedTuple):
    """The rows or the columns of a map."""

    letter: str  # the index letter, which gives its hue; "" for none
    words: tuple[str, ...] = ()  # what each is called, such as tokens; their numbers when empty
    name: str = ""  # what they are; the role of the letter when empty


class Map(NamedTuple):
    """One matrix, as numbers and words; how it looks is not its business."""

    name: str  # no two maps of a figure have the same one
    title: str  # in Plotly's markup: data goes through html() first
    values: Tensor  # (rows, columns)
    rows: Axis
    columns: Axis
    # "share" runs from 0 to 1, "amount..." from 0 to the largest, "truth" is of bools; maps of any other name share one
    # symmetric about 0
    scale: str = "signed"
    sums: str = ""  # "rows", "columns" or "both": their sums stand in the margins
    least: float = 0.0  # to which a signed scale reaches at least, so that what rounding left is not painted as large


def called(axis: Axis, at: int, number: int | None = None) -> str:
    """Return what a row or a column is called: its number from 1, and its word; number: where that is not its place.

    >>> called(Axis("s", ("the", "cat")), 1), called(Axis("s", ("cat",)), 0, number=1), called(Axis("k"), 1)
    ('2 “cat”', '2 “cat”', '2')
    """
    count = (at if number is None else number) + 1
    return f"{count} “{axis.words[at]}”" if axis.words else str(count)


class Window(NamedTuple):
    """The part of a map that is drawn: all of it, but for long axes of tokens."""

    map: Map
    values: npt.NDArray[np.float32]
    start: tuple[int, int]
    labels: tuple[float, float]  # pixels of the widest label of its rows and of its columns


class Place(NamedTuple):
    """A window in its place: the upper left corner of its cells in pixels."""

    shown: Window
    left: float
    top: float
    names_rows: bool


class Arrangement(NamedTuple):
    """The maps in their places, and the size of the whole in pixels."""

    places: list[Place]
    cell: int  # the width of a cell
    row: int  # its height
    width: float
    height: float


def place(maps: Sequence[Map], view: View, most: float, cell: int | None = None) -> Arrangement:
    """Place maps with the largest cell with which one line holds all, else lines with one that holds digits.

    cell: pixels of a cell, where it is given.
    """
    windows = [_window(map_, view) for map_ in maps]
    if cell is not None:
        return _lines(windows, cell, most)[0]
    for cell in range(CELL_MOST, CELL_LEAST - 1, -1):
        arranged, lines = _lines(windows, cell, most)
        if (arranged.width <= most and (lines == 1 or cell <= DIGITS_ONE)) or cell == CELL_LEAST:
            return arranged
    raise AssertionError("unreachable: the least cell is always taken")


def _lines(windows: Sequence[Window], cell: int, most: float) -> tuple[Arrangement, int]:
    row = min(cell, ROW_MOST)
    places: list[Place] = []
    left, top, foot, whole, lines, before = 0.0, float(BARS), 0.0, 0.0, 1, None
    for shown in windows:
        map_, (rows, columns) = shown.map, shown.values.shape
        names_rows = before is None or before.rows != map_.rows
        label = shown.labels[0] + 28 if names_rows else 0.0
        wide = max(columns * cell + (SUMS + 4 if map_.sums in ("rows", "both") else 0), _title_width(map_))
        if before is not None and left + label + wide + TOOLS > most:
            left, top, foot, lines = 0.0, top + foot, 0.0, lines + 1
            names_rows, label = True, shown.labels[0] + 28
        places.append(Place(shown, left + label, top + TITLE, names_rows))
        left += label + wide + GAP
        whole = max(whole, left - GAP + TOOLS)
        below = (row + 6 if map_.sums in ("columns", "both") else 0) + _foot(shown, cell)
        foot = max(foot, TITLE + rows * row + below + 10)
        before = map_
    whole = max(whole, len({shown.map.scale for shown in windows}) * BAR_STEP)
    return Arrangement(places, cell, row, whole, top + foot), lines


def _window(map_: Map, view: View) -> Window:
    parts: list[slice] = []
    labels: list[float] = []
    for axis, size in zip((map_.rows, map_.columns), map_.values.shape, strict=True):
        first = {"s": view.from_s, "u": view.from_u}.get(axis.letter, 0)
        start = max(0, min(first, size - TOKENS_SHOWN)) if axis.words else 0
        parts.append(slice(start, start + (TOKENS_SHOWN if axis.words else size)))
        words = axis.words[parts[-1]]
        labels.append(max((width(cut(visible(word), LABEL_MOST)) for word in words), default=14.0))
    values = map_.values.detach()[parts[0], parts[1]].to("cpu").float().contiguous().numpy()
    return Window(map_, values, (parts[0].start, parts[1].start), (labels[0], labels[1]))


def slanted(shown: Window, cell: int) -> bool:
    """Say whether the labels of the columns are too wide to stand level."""
    return bool(shown.map.columns.words) and shown.labels[1] > cell - 3


def _foot(shown: Window, cell: int) -> float:
    """Pixels under the cells for the labels and the name of the columns."""
    if not slanted(shown, cell):
        return 16.0 + 18
    return (shown.labels[1] if cell < UPRIGHT else shown.labels[1] * 0.75) + 8 + 18


def _title_width(map_: Map) -> float:
    return width(plain(map_.title)) * 1.1 + 6


def plain(markup: str) -> str:
    """Return a title without its markup, as plain_symbol() writes it.

    >>> plain("<b>W<sub>Q</sub></b> &lt;s&gt;")
    'W_Q <s>'
    """
    markup = re.sub("<sub>(?!_)", "_", markup).replace("<sup>", "^")
    return html.unescape(re.sub("<[^>]*>", "", markup))
