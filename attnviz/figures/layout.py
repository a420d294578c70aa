"""Where each panel of the board stands, in pixels: Falk's scheme, a cell standing where its row and column meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from attnviz.figures.panels import AXES, Panel
from attnviz.figures.text import cut, visible, width
from attnviz.limits import NAME_CHARS

# One block is one of the three steps: the right factors above, the left factor and the results below.
BLOCKS: dict[str, tuple[tuple[str | None, ...], tuple[str, ...]]] = {
    "projections": ((None, "w_q", "w_k", "w_v"), ("x", "query", "key", "value")),
    "scores": ((None, "key_t", None, None, None), ("query", "scores", "masked", "weights", "row_sums")),
    "output": ((None, "value"), ("weights", "output")),
}

TARGET = 1200  # pixels that a block tries to keep to: the page in a window of 1,366
STRETCH = 1290  # pixels that it may take where that keeps digits in its cells: the page in a window of 1,440
CELL_MOST, CELL_LEAST = 38, 12
ROW_MOST = 27  # pixels of a row: digits need width, a lecture needs all three steps in sight
DIGITS_TWO, DIGITS_ONE = 34, 25  # cells that hold digits at 11 px, at 10 px
UPRIGHT = 16  # cells so narrow that labels at 45 degrees would touch: there they stand upright
MARKS = 22  # cells that hold −∞ in print
LABEL_MOST = 66  # pixels of a token's label
GAP = 22  # wider than the 20 pixels before a panel on which Plotly drags its axis, and swallows clicks
TITLE = 24
BAR = 172  # pixels of width that a colour bar takes in the corner above the left factor
BARS = 116  # pixels of height that two of them take
TOOLS = 26  # pixels at the right for Plotly's own buttons
SUMS = 46  # pixels of the column of row sums


class Slot(NamedTuple):
    """One panel and its place: the left, top, width and height of its cells in pixels, y downwards."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    row_labels: bool
    column_labels: str  # "top", "bottom" or ""
    title: float  # the y of the line under its title


class Layout(NamedTuple):
    """A block laid out: its panels, its size and that of one cell."""

    slots: tuple[Slot, ...]  # the axes of slot i are Plotly's axes i + 1
    width: float
    height: float
    cell: float  # the width of a cell; its height is ROW_MOST at the most
    top: float  # where the block begins: 0 but for the later blocks of a stack
    slanted: bool  # column labels stand at an angle


def names(block: str) -> tuple[str, ...]:
    """Return the names of a block's panels."""
    return tuple(name for row in BLOCKS[block] for name in row if name)


def place(block: str, panels: Mapping[str, Panel], tokens: Sequence[str]) -> Layout:
    """Place the panels of one block; `tokens` are those of the chosen sequence."""
    above, below = BLOCKS[block]
    widest = max((width(cut(visible(token[:NAME_CHARS]), LABEL_MOST)) for token in _shown(panels, tokens)), default=0.0)
    cell, columns = _fit(block, panels, widest)
    row = min(cell, ROW_MOST)
    slanted = widest > cell - 3
    token_room = (widest if cell < UPRIGHT else widest * 0.75) + 8 if slanted else 16.0

    head_top = TITLE + (token_room + 2 if "key_t" in above else 0)
    head = max(panels[name].values.shape[0] for name in above if name) * row
    head = max(head, BARS - head_top)  # the free corner holds the colour bars
    body_top = head_top + head + TITLE + 12
    slots, left = [], 0.0
    for top, bottom, column in zip(above, below, columns, strict=True):
        left += column.label
        panel = panels[bottom]
        w = SUMS if bottom == "row_sums" else panel.values.shape[1] * cell
        h = panel.values.shape[0] * row
        slots.append(Slot(panel, left, body_top, w, h, column.below, "bottom", body_top - 5))
        if top:
            h = panels[top].values.shape[0] * row
            y = head_top + head - h
            side, title = ("top", y - 5 - token_room) if top == "key_t" else ("", y - 5)
            slots.append(Slot(panels[top], left, y, w, h, column.above, side, title))
        left += column.width + column.gap
    foot = (token_room if any(AXES[name][1] in ("s", "u") for name in below) else 16) + 18
    return Layout(
        tuple(slots), left + TOOLS, body_top + panels[below[0]].values.shape[0] * row + foot, cell, 0.0, slanted
    )


def stack(layouts: Sequence[Layout]) -> list[Layout]:
    """Move blocks below one another, so that one figure holds them all."""
    stacked, top = [], 0.0
    w, h = max(layout.width for layout in layouts), sum(layout.height for layout in layouts)
    for layout in layouts:
        slots = tuple(slot._replace(top=slot.top + top, title=slot.title + top) for slot in layout.slots)
        stacked.append(layout._replace(slots=slots, top=top, width=w, height=h))
        top += layout.height
    return stacked


def numbered(layout: Layout, first: int = 1) -> Iterator[tuple[str, Slot]]:
    """Yield each slot with the number of its axes, as Plotly writes it: "" for 1."""
    for i, slot in enumerate(layout.slots, first):
        yield "" if i == 1 else str(i), slot


class _Column(NamedTuple):
    label: float  # pixels for row labels, left of the cells
    width: float  # pixels for the cells, or for the titles where they are wider
    gap: float
    above: bool  # the upper panel names its rows
    below: bool


def _fit(block: str, panels: Mapping[str, Panel], widest: float) -> tuple[int, list[_Column]]:
    """Return the largest cell with which the block fits, and its columns.

    Row labels beside the weights are a comfort: they go before the digits in the cells do.
    """
    for cell in range(CELL_MOST, CELL_LEAST - 1, -1):
        room = STRETCH if cell == DIGITS_ONE else TARGET
        for beside_weights in (True, False) if cell < DIGITS_TWO else (True,):
            columns = _columns(block, panels, widest, cell, beside_weights)
            if sum(c.label + c.width + c.gap for c in columns) + TOOLS <= room or cell == CELL_LEAST:
                return cell, columns
    raise AssertionError("unreachable: the least cell is always taken")


def _columns(block: str, panels: Mapping[str, Panel], widest: float, cell: int, beside_weights: bool) -> list[_Column]:
    above, below = BLOCKS[block]
    columns = []
    for i, (top, bottom) in enumerate(zip(above, below, strict=True)):
        named_above = top is not None and _names_rows(above, i)
        named_below = _names_rows(below, i) or (bottom == "weights" and beside_weights)
        label = widest + 10 + (18 if AXES[bottom][0] == "s" else 20) if named_below else 0.0
        if named_above and top:
            label = max(label, widest + 30 if AXES[top][0] in ("s", "u") else 20)
        w = SUMS if bottom == "row_sums" else panels[bottom].values.shape[1] * cell
        bar = BAR - label if i == 0 or bottom == "masked" else 0.0  # for the colour bar above it
        w = max(w, *(_title_width(panels[name]) for name in (top, bottom) if name), bar)
        columns.append(_Column(label, w, GAP, named_above, named_below))
    return columns


def _names_rows(row: Sequence[str | None], i: int) -> bool:
    """Rows are named at the left of a block, and where their letter changes."""
    left = next((name for name in reversed(row[:i]) if name), None)
    return left is None or AXES[left][0] != AXES[row[i] or ""][0]


def _shown(panels: Mapping[str, Panel], tokens: Sequence[str]) -> set[str]:
    """Return the tokens that some axis names."""
    shown: set[str] = set()
    for panel in panels.values():
        for axis in (0, 1):
            if AXES[panel.name][axis] in ("s", "u"):
                start = panel.start[axis]
                shown |= set(tokens[start : start + panel.values.shape[axis]])
    return shown


def _title_width(panel: Panel) -> float:
    """Return about how many pixels the title takes, such as "Q (s=6, k=4)"."""
    if panel.name == "row_sums":
        return SUMS
    digits = sum(len(str(n)) for n in panel.shape)
    symbol = {"masked": 100.0, "w_q": 26.0, "w_k": 26.0, "w_v": 26.0, "key_t": 22.0}.get(panel.name, 14.0)
    symbol += {"rope": 40, "alibi": 44}.get(panel.positions, 0)
    return symbol + 48 + 6 * digits + (62 if panel.overridden else 0)
