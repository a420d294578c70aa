"""Maps side by side: a few matrices of a lab, with sums in their margins where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnviz.experiment import View
from attnviz.figures.colours import Theme
from attnviz.figures.frame import bar, frame, note
from attnviz.figures.layout import BAR, DIGITS_ONE, TARGET, Slot
from attnviz.figures.map_axes import Axes, sum_axes, sums, x_axis, y_axis
from attnviz.figures.map_places import BAR_STEP, Arrangement, Axis, Map, Place, called, place, plain
from attnviz.figures.panels import Panel
from attnviz.figures.text import number
from attnviz.figures.titles import sized
from attnviz.figures.traces import traces
from attnviz.locale import _

__all__ = ["Axis", "Map", "sentence", "specify"]


def specify(
    maps: Sequence[Map],
    view: View,
    theme: Theme,
    *,
    bars: dict[str, str] | None = None,
    width: float = TARGET,
    cell: int | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a figure of maps as Plotly's plain dict, and what the linked hover needs of its panels.

    bars: what the bar of a scale is called, by the name of the scale; width: pixels after which a line of maps ends;
    cell: pixels of a cell, as large as fits when None. Of a long axis of tokens the window that starts at
    view.from_s or view.from_u is drawn.
    """
    arranged = place(maps, view, width, cell)
    scales = list(dict.fromkeys(map_.scale for map_ in maps))
    coloraxes = {scale: f"coloraxis{i if i > 1 else ''}" for i, scale in enumerate(scales, 1)}
    data: list[dict[str, Any]] = []
    axes: Axes = {}
    notes: list[dict[str, Any]] = []
    hover: list[dict[str, Any]] = []
    leaders: dict[tuple[object, ...], str] = {}
    for at in arranged.places:
        i = _next(axes)
        slot = _slot(at, arranged)
        cells = traces(slot, i, arranged.cell, theme, coloraxes[at.shown.map.scale])
        if at.shown.map.scale == "truth":
            cells[0]["texttemplate"] = "%{z:.0f}" if arranged.cell >= DIGITS_ONE else ""
        data += cells
        axes["xaxis" + i] = x_axis(at, i, slot, arranged, view, theme)
        axes["yaxis" + i] = y_axis(at, i, slot, arranged, view, theme)
        _tie(axes, at, i, leaders)
        notes.append(note(at.shown.map.title, at.left, at.top - 5, arranged.width, arranged.height, theme))
        hover.append(_hover(at, i))
        for side in ("rows", "columns"):
            if at.shown.map.sums in (side, "both"):
                n = _next(axes)
                data.append(sums(at, side, n, arranged.cell, theme))
                axes |= sum_axes(at, side, n, i, slot, arranged, view, theme)
                hover.append(_hover(at, n, side))
    left = 4.0
    for nth, scale in enumerate(scales):
        axes[coloraxes[scale]] = _colours([m for m in arranged.places if m.shown.map.scale == scale], theme)
        words = (bars or {}).get(scale) or _scale_words(scale)
        left = _bar_left(scale, nth, left, len(scales), arranged)
        axes[coloraxes[scale]] |= bar(words, left, 2.0, arranged.width, arranged.height)
        if scale == "truth":
            axes[coloraxes[scale]]["colorbar"] |= {"tickvals": [0.25, 0.75], "ticktext": ["0", "1"]}
    return frame(data, axes, notes, arranged.width, arranged.height, theme), hover


def _bar_left(scale: str, nth: int, before: float, n: int, arranged: Arrangement) -> float:
    """Where a bar begins: above the first map that it colours, or as near as the bars before and after it let it."""
    if not nth:
        return before
    first = next(at for at in arranged.places if at.shown.map.scale == scale)
    last = arranged.width - BAR - (n - 1 - nth) * BAR_STEP
    above = first.left if first.top == arranged.places[0].top else 0.0  # a later line is not below the bars
    return max(before + BAR_STEP, min(above, last))


def sentence(map_: Map) -> str:
    """Say in one sentence what a map shows, for those who cannot see it."""
    rows, columns = map_.values.shape
    words = sized(plain(map_.title), rows, columns)
    if map_.scale == "truth":
        return words + _(", 1 in {n} of {all} cells, else 0.").format(n=int(map_.values.sum()), all=rows * columns)
    finite = map_.values[map_.values.isfinite()]
    if not finite.numel():
        return words + "."
    s, u = divmod(int(map_.values.nan_to_num(-np.inf, -np.inf, -np.inf).argmax()), columns)
    return words + _(", largest {value} in row {row}, column {column}.").format(
        value=number(float(finite.max()), 4), row=called(map_.rows, s), column=called(map_.columns, u)
    )


def _next(axes: Axes) -> str:
    """The number of the next pair of axes, as Plotly writes it: "" for 1."""
    n = sum(name.startswith("xaxis") for name in axes) + 1
    return "" if n == 1 else str(n)


def _slot(at: Place, arranged: Arrangement) -> Slot:
    rows, columns = at.shown.values.shape
    panel = Panel(at.shown.map.name, at.shown.values, (rows, columns), at.shown.start, (), "")
    size = (columns * arranged.cell, rows * arranged.row)
    return Slot(panel, at.left, at.top, *size, at.names_rows, "bottom", at.top - 5)


def _tie(axes: Axes, at: Place, i: str, leaders: dict[tuple[object, ...], str]) -> None:
    """Let maps over the same tokens zoom together."""
    for kind, axis, size in zip("yx", (at.shown.map.rows, at.shown.map.columns), at.shown.values.shape, strict=True):
        if axis.words:
            leader = leaders.setdefault((kind, axis, size), kind + i)
            if leader != kind + i:
                axes[f"{kind}axis{i}"]["matches"] = leader


def _scale_words(scale: str) -> str:
    if scale == "share":
        return _("weight, 0 to 1")
    if scale == "truth":
        return _("0 = False, 1 = True")
    if scale == "difference":
        return _("difference, symmetric about 0")
    return _("value, from 0") if scale.startswith("amount") else _("value, symmetric about 0")


def _colours(places: Sequence[Place], theme: Theme) -> Axes:
    if places[0].shown.map.scale == "share":
        return {"cmin": 0, "cmax": 1, "colorscale": theme.share}
    if places[0].shown.map.scale == "truth":
        off, on = theme.hole, theme.share[3][1]
        return {"cmin": 0, "cmax": 1, "colorscale": [(0, off), (0.5, off), (0.5, on), (1, on)]}
    finite = [np.abs(at.shown.values[np.isfinite(at.shown.values)]).max(initial=0.0) for at in places]
    most = float(max(*finite, *(at.shown.map.least for at in places))) or 1.0
    if places[0].shown.map.scale.startswith("amount"):
        return {"cmin": 0, "cmax": most, "colorscale": theme.share}
    return {"cmin": -most, "cmax": most, "colorscale": theme.signed}


def _hover(at: Place, axis: str, sums: str = "") -> dict[str, Any]:
    symbol = plain(at.shown.map.title)
    return {
        "name": f"{sums} of {at.shown.map.name}" if sums else at.shown.map.name,
        "axis": axis,
        "row": "" if sums == "columns" else at.shown.map.rows.letter,
        "col": "" if sums == "rows" else at.shown.map.columns.letter,
        "start": [0 if sums == "columns" else at.shown.start[0], 0 if sums == "rows" else at.shown.start[1]],
        "symbol": f"Σ {symbol}" if sums else symbol,
    }
