"""Where each panel of the board stands, in pixels: Falk's scheme, in which a cell stands where its row and column meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attnviz.figures.panels import AXES, Panel
from attnviz.figures.text import cut, visible, width

# One block is one of the three steps: the right factors above, the left factor and the results below.
BLOCKS: dict[str, tuple[tuple[str | None, ...], tuple[str | None, ...]]] = {
    "projections": ((None, "w_q", "w_k", "w_v"), ("x", "query", "key", "value")),
    "scores": ((None, "key_t", None, None, None), ("query", "scores", "masked", "weights", "row_sums")),
    "output": ((None, "value"), ("weights", "output")),
}

TARGET = 1240  # pixels that a block tries to keep to: the board of a 13-inch laptop
CELL_MOST, CELL_LEAST = 38, 16
DIGITS_TWO, DIGITS_ONE = 35, 26  # cells that hold two decimals at 11 px, one at 10 px
LABEL_MOST = 76  # pixels of a token's label
GAP = 26
TITLE = 24
BAR = 168  # pixels of a colour bar, and so of the corner that holds it
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

    slots: tuple[Slot, ...]
    width: float
    height: float
    cell: float
    corner: tuple[float, float, float]  # left, top and height of the free corner above the left factor
    slanted: bool  # column labels stand at an angle


def names(block: str) -> tuple[str, ...]:
    """Return the names of a block's panels."""
    return tuple(name for row in BLOCKS[block] for name in row if name)


def place(block: str, panels: Mapping[str, Panel], tokens: Sequence[str]) -> Layout:
    """Place the panels of one block; `tokens` are those of the chosen sequence."""
    above, below = BLOCKS[block]
    shown = {p.start[a] + i for p in panels.values() for a in (0, 1) if AXES[p.name][a] in "su" for i in range(99)}
    widths = [width(cut(visible(t), LABEL_MOST)) for i, t in enumerate(tokens) if i in shown]
    label = max(widths, default=0) + 10
    labelled = {name for name in names(block) if _has_row_labels(block, name)}
    fixed, cells = 0.0, 0
    for top, bottom in zip(above, below, strict=True):
        fixed += GAP + _label_width(bottom, labelled, label, top)
        cells += 0 if bottom == "row_sums" or bottom is None else panels[bottom].values.shape[1]
    cell = max(CELL_LEAST, min(CELL_MOST, int((TARGET - fixed) / max(1, cells))))
    slanted = max(widths, default=0) > cell - 3
    token_room = max(widths, default=0) * 0.75 + 10 if slanted else 18

    head = max(panels[name].values.shape[0] for name in above if name) * cell
    head_top = TITLE + (token_room + 4 if "key_t" in above else 0)
    head = max(head, 112 - head_top)  # the corner holds its colour bars
    body_top = head_top + head + TITLE + 14
    slots, left = [], 0.0
    for top, bottom in zip(above, below, strict=True):
        assert bottom is not None
        left += _label_width(bottom, labelled, label, top)
        panel = panels[bottom]
        w = SUMS if bottom == "row_sums" else panel.values.shape[1] * cell
        h = panel.values.shape[0] * cell
        slots.append(Slot(panel, left, body_top, w, h, bottom in labelled, "bottom", body_top - 5))
        if top:
            other = panels[top]
            h = other.values.shape[0] * cell
            y = head_top + head - h
            title = y - 5 - (token_room if top == "key_t" else 0)
            slots.append(Slot(other, left, y, w, h, top in labelled, "top" if top == "key_t" else "", title))
        need = max(w, *(_title_width(p) for p in (panel, panels[top] if top else panel)))
        if bottom == below[0]:
            need = max(need, BAR)
        left += need + (8 if bottom == "weights" and "row_sums" in below else GAP)
    height = body_top + panels[below[0] or ""].values.shape[0] * cell + token_room + 20
    corner = (slots[0].left, 4.0, body_top - TITLE)
    return Layout(tuple(slots), left, height, cell, corner, slanted)


def _has_row_labels(block: str, name: str) -> bool:
    """Rows are named at the left of a block, where the row letter changes, and beside the weights."""
    above, below = BLOCKS[block]
    row = above if name in above else below
    i = row.index(name)
    left = next((n for n in reversed(row[:i]) if n), None)
    return left is None or AXES[left][0] != AXES[name][0] or (name == "weights" and block == "scores")


def _label_width(bottom: str | None, labelled: set[str], token: float, top: str | None) -> float:
    room = 0.0
    if bottom in labelled:
        room = token + (18 if bottom in ("x", "query", "weights") else 0)
    if top in labelled:
        room = max(room, token if AXES[top or ""][0] in "su" else 22)
    return room


def _title_width(panel: Panel) -> float:
    """Pixels that the title, such as "Q  (s=6, k=4)", takes."""
    if panel.name == "row_sums":
        return SUMS
    digits = sum(len(str(n)) for n in panel.shape)
    return {"masked": 160.0, "scores": 90.0, "weights": 90.0}.get(panel.name, 82.0) + 7 * digits
