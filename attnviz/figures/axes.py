"""The axes of each panel: numeric always, with tokens as tick texts, since equal labels would merge."""

from __future__ import annotations

from typing import Any

from attnviz.experiment import View
from attnviz.figures.colours import Theme
from attnviz.figures.layout import UPRIGHT, Layout, Slot, numbered
from attnviz.figures.panels import AXES
from attnviz.figures.text import html, label
from attnviz.figures.titles import role
from attnviz.letters import relabel


def x_axis(slot: Slot, n: str, layout: Layout, tokens: tuple[str, ...], view: View, theme: Theme) -> dict[str, Any]:
    letter, columns = AXES[slot.panel.name][1], slot.panel.values.shape[1]
    axis = plain_axis(slot.left, slot.width, layout.width, columns, "y" + n, theme, letter)
    axis["range"] = [-0.5, columns - 0.5]
    if letter in ("s", "u") and slot.column_labels:
        axis |= token_ticks(slot.panel.start[1], columns, tokens)
        axis["tickangle"] = 0 if not layout.slanted else -90 if layout.cell < UPRIGHT else -45
        axis["side"] = slot.column_labels
    elif slot.column_labels and letter:
        axis |= feature_ticks(columns)
    if slot.column_labels == "bottom" and letter and slot.width >= 64:
        axis["title"] = axis_title(letter, view, theme)
    return axis


def y_axis(slot: Slot, n: str, layout: Layout, tokens: tuple[str, ...], view: View, theme: Theme) -> dict[str, Any]:
    letter, rows = AXES[slot.panel.name][0], slot.panel.values.shape[0]
    axis = plain_axis(layout.height - slot.top - slot.height, slot.height, layout.height, rows, "x" + n, theme, letter)
    axis["range"] = [rows - 0.5, -0.5]  # row 0 on top
    if slot.row_labels:
        axis |= token_ticks(slot.panel.start[0], rows, tokens) if letter in ("s", "u") else feature_ticks(rows)
    if slot.row_labels and letter in ("s", "u") and slot.height >= 76:
        axis["title"] = axis_title(letter, view, theme)
    return axis


def axis_title(letter: str, view: View, theme: Theme) -> dict[str, Any]:
    return {
        "text": f"{html(role(letter))} {relabel(letter, view.letters)}",
        "standoff": 4,
        "font": {"size": 11, "color": theme.letters[letter]},
    }


def plain_axis(
    first: float, size: float, whole: float, cells: int, anchor: str, theme: Theme, letter: str
) -> dict[str, Any]:
    return {
        "domain": [max(0.0, first / whole), min(1.0, (first + size) / whole)],
        "anchor": anchor,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "showticklabels": False,
        "tickfont": {
            "size": 11 if letter in ("s", "u") else 10,
            "color": theme.letters.get(letter, theme.quiet),
        },
        "minallowed": -0.5,
        "maxallowed": cells - 0.5,
    }


def token_ticks(start: int, count: int, tokens: tuple[str, ...]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(count)),
        "ticktext": [label(token) for token in tokens[start : start + count]],
        "showticklabels": True,
    }


def feature_ticks(count: int) -> dict[str, Any]:
    step = 1 if count <= 24 else 4
    shown = [i for i in range(count) if i == 0 or (i + 1) % step == 0]
    return {
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": [str(i + 1) for i in shown],
        "tickangle": 0,
        "showticklabels": True,
    }


def share_axes(layout: Layout, first: int, axes: dict[str, Any]) -> None:
    """Tie the axes that are one and the same within a block, so that zooming one zooms all."""
    leaders: dict[tuple[object, ...], str] = {}
    for n, slot in numbered(layout, first):
        column = AXES[slot.panel.name][1]
        # Rows that stand side by side are one axis; so are columns of tokens, and what stands above one another.
        same: dict[str, tuple[object, ...]] = {"y": ("y", slot.top)}
        if column:
            same["x"] = ("x", column) if column in ("s", "u") else ("x", column, slot.left)
        for kind, key in same.items():
            leader = leaders.setdefault(key, kind + n)
            if leader != kind + n:
                axes[f"{kind}axis{n}"]["matches"] = leader
