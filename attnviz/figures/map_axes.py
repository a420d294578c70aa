"""The axes of a map, its labels, and the sums in its margins with axes of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.experiment import View
from attnviz.figures.axes import feature_ticks, plain_axis, token_ticks
from attnviz.figures.colours import Theme
from attnviz.figures.frame import NOWHERE
from attnviz.figures.layout import SUMS, UPRIGHT, Slot
from attnviz.figures.map_places import Arrangement, Axis, Place, slanted
from attnviz.figures.text import html, number
from attnviz.figures.titles import role
from attnviz.figures.traces import digits, font_size
from attnviz.letters import relabel

Axes = dict[str, Any]


def x_axis(at: Place, i: str, slot: Slot, arranged: Arrangement, view: View, theme: Theme) -> Axes:
    columns = at.shown.values.shape[1]
    made = plain_axis(slot.left, slot.width, arranged.width, columns, "y" + i, theme, at.shown.map.columns.letter)
    made["range"] = [-0.5, columns - 0.5]
    if at.shown.map.sums in ("columns", "both"):
        return made  # its labels stand under the sums
    return made | column_ticks(at, slot, arranged, view, theme)


def y_axis(at: Place, i: str, slot: Slot, arranged: Arrangement, view: View, theme: Theme) -> Axes:
    axis, rows = at.shown.map.rows, at.shown.values.shape[0]
    bottom = arranged.height - slot.top - slot.height
    made = plain_axis(bottom, slot.height, arranged.height, rows, "x" + i, theme, axis.letter)
    made["range"] = [rows - 0.5, -0.5]  # row 0 on top
    if slot.row_labels:
        made |= token_ticks(at.shown.start[0], rows, axis.words) if axis.words else feature_ticks(rows)
        if slot.height >= 76:
            made["title"] = axis_title(axis, view, theme)
    return made


def column_ticks(at: Place, slot: Slot, arranged: Arrangement, view: View, theme: Theme) -> Axes:
    axis, columns = at.shown.map.columns, at.shown.values.shape[1]
    made = token_ticks(at.shown.start[1], columns, axis.words) if axis.words else feature_ticks(columns)
    if axis.words:
        made["tickangle"] = 0 if not slanted(at.shown, arranged.cell) else -90 if arranged.cell < UPRIGHT else -45
    if slot.width >= 64:
        made["title"] = axis_title(axis, view, theme)
    return made


def axis_title(axis: Axis, view: View, theme: Theme) -> Axes:
    words = html(axis.name or role(axis.letter)) if axis.name or axis.letter else ""
    hue = theme.letters.get(axis.letter, theme.quiet)
    text = f"{words} {relabel(axis.letter, view.letters)}".strip()
    return {"text": text, "standoff": 4, "font": {"size": 11, "color": hue}}


def sums(at: Place, side: str, n: str, cell: int, theme: Theme) -> dict[str, Any]:
    """The sums of whole rows or columns, of what the window leaves out as well."""
    axis = 1 if side == "rows" else 0
    whole = at.shown.map.values.detach().to("cpu").float().sum(axis).numpy()
    sums = whole[at.shown.start[1 - axis] :][: at.shown.values.shape[1 - axis]]
    return {
        "type": "heatmap",
        "name": f"{side} of {at.shown.map.name}",
        "z": np.where(np.isfinite(sums), sums, np.float32("nan")).reshape((-1, 1) if axis else (1, -1)),
        "colorscale": [[0, NOWHERE], [1, NOWHERE]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "none",
        **_sum_digits(np.where(np.isfinite(sums), sums, np.float32("nan")), axis, cell),
        "textfont": {"size": 10 if axis else font_size(cell), "color": theme.quiet},
        "xaxis": "x" + n,
        "yaxis": "y" + n,
    }


def _sum_digits(sums: npt.NDArray[np.float32], axis: int, cell: int) -> dict[str, Any]:
    """What prints sums in their margin: those of rows with four decimals, where they have the room."""
    if not axis:
        return digits(sums.reshape(1, -1), cell)
    widest = max((len(number(float(value), 4)) for value in sums[np.isfinite(sums)]), default=0)
    return {"texttemplate": "%{z:.4f}"} if widest <= SUMS // 5 else digits(sums.reshape(-1, 1), SUMS)


def sum_axes(
    at: Place, side: str, n: str, of: str, slot: Slot, arranged: Arrangement, view: View, theme: Theme
) -> Axes:
    rows, columns = at.shown.values.shape
    whole, height = arranged.width, arranged.height
    named = {"tickmode": "array", "tickvals": [0], "ticktext": ["Σ"], "showticklabels": True}
    bottom = height - slot.top - slot.height
    if side == "rows":
        x = plain_axis(slot.left + slot.width + 4, SUMS, whole, 1, "y" + n, theme, "") | named
        y = plain_axis(bottom, slot.height, height, rows, "x" + n, theme, "")
        ranges = ([-0.5, 0.5], [rows - 0.5, -0.5])
        y["matches"] = "y" + of
    else:
        x = plain_axis(slot.left, slot.width, whole, columns, "y" + n, theme, at.shown.map.columns.letter)
        x |= column_ticks(at, slot, arranged, view, theme)
        y = plain_axis(bottom - 4 - arranged.row, arranged.row, height, 1, "x" + n, theme, "") | named
        ranges = ([-0.5, columns - 0.5], [0.5, -0.5])
        x["matches"] = "x" + of
    return {"xaxis" + n: x | {"range": ranges[0]}, "yaxis" + n: y | {"range": ranges[1]}}
