"""The map of a long text as one heatmap: each cell a block of tokens, zoomed in on until it is one weight.

Colours travel as bytes. A byte is no weight: what it says is "≈" in the tooltip. Where each cell is one weight and
they are few, the weights themselves travel along, in float32, and stand in the cells while they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnviz.core.pooling import PooledMap
from attnviz.experiment import View
from attnviz.figures.colours import Theme
from attnviz.figures.frame import bar, frame
from attnviz.figures.layout import TOOLS
from attnviz.figures.pooled_axes import BARS, GAP, LEFT, SIDE, SMALL, axis, foot, here, small_axes
from attnviz.figures.pooled_cells import Cells, Shown, block_of, cells_of, coarse, numbers
from attnviz.figures.pooled_scale import Scale, bar_ticks, colours, edges, scale_of
from attnviz.figures.pooled_traces import digits, trace, under
from attnviz.figures.text import number
from attnviz.locale import _

WHOLE = ":whole"  # after the name of a map: that of the small map of the whole text beside it
BESIDE = 64  # cells a side of that map
_BAR = 320.0  # pixels of the colour bar
Figure = dict[str, Any]


def specify(
    shown: Shown,
    name: str,
    called: str,
    kind: str,
    view: View,
    theme: Theme,
    *,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    drag: str | bool = False,
) -> tuple[Figure, list[dict[str, Any]]]:
    """Return the figure as Plotly's plain dict, and what the linked hover needs of its panels.

    name: by which a click names the map; called: what its weights are; kind: the scale of its colours; drag: what
    dragging does, "zoom", "pan" or False. Axes count tokens, from 0: the map of a window stands where it is.
    """
    scale = scale_of(kind, numbers(shown.pooled))
    cells, of_keys = cells_of(shown.pooled, scale), key_tokens or tokens
    below = foot(*shown.cols, SIDE, of_keys)
    # The small map stands under Plotly's buttons.
    size = (LEFT + SIDE + (GAP + SMALL + 4 if shown.is_part else TOOLS), BARS + SIDE + below)
    marked = any(_marked(pooled) for pooled in (shown.pooled, shown.whole))
    axes: Figure = {"coloraxis": colours(theme, marked) | bar(_words(kind, cells.block), LEFT, 2.0, *size)}
    vals, texts = bar_ticks(scale, _BAR)
    axes["coloraxis"]["colorbar"] |= {"len": _BAR, "tickmode": "array", "tickvals": vals, "ticktext": texts}
    axes["xaxis"] = axis("x", shown.cols, shown.size[1], (LEFT, size[0]), view, theme, of_keys)
    axes["yaxis"] = axis("y", shown.rows, shown.size[0], (below, size[1]), view, theme, tokens)
    data = [trace(cells) | digits(cells, shown, theme)]
    panels = [_panel(name, called, cells, scale, shown.size)]
    shapes: list[Figure] = []
    if shown.is_part:
        axes |= small_axes(shown.size, size, theme)
        shapes.append(here(shown, theme))
    if shown.is_part and shown.whole is not None:
        data = [*under(shown, cells, scale), *data]
        own = scale_of(kind, numbers(shown.whole))
        beside = cells_of(coarse(shown.whole, BESIDE), own)
        data.append(trace(beside, "2"))
        panels.append(_panel(name + WHOLE, called, beside, own, shown.size, "2"))
    figure = frame(data, axes, [], *size, theme)
    figure["layout"] |= {"dragmode": drag, "shapes": shapes}
    return figure, panels


def sentence(shown: Shown, called: str) -> str:
    """Say in one sentence what a map shows, for those who cannot see it."""
    rows, columns = block_of(shown.pooled)
    values = numbers(shown.pooled)
    what = _("{called}: query tokens {s0} to {s1}, key tokens {u0} to {u1}.").format(
        called=called, s0=shown.rows[0] + 1, s1=shown.rows[1], u0=shown.cols[0] + 1, u1=shown.cols[1]
    )
    if not shown.pooled.exact:
        what += " " + _("The largest weight in each block of {rows} x {columns} tokens.").format(
            rows=rows, columns=columns
        )
    shares = np.where(np.isfinite(values), values, -1)
    i, j = divmod(int(shares.argmax()), shares.shape[1])
    if shares[i, j] < 0:
        return what
    where = {"s": shown.pooled.row_edges[i] + 1, "u": shown.pooled.col_edges[j] + 1}
    words = (
        _("Largest: {value} at query {s}, key {u}.")
        if shown.pooled.exact
        else _("Largest: {value} in the block that begins at query {s}, key {u}.")
    )
    return what + " " + words.format(value=number(float(shares[i, j]), 4), **where)


def _marked(pooled: PooledMap | None) -> bool:
    return pooled is not None and not bool(((pooled.values >= 0) & pooled.values.isfinite()).all())


def _words(kind: str, block: tuple[int, int]) -> str:
    scales = {
        "linear": _("linear scale"),
        "sqrt": _("square-root scale"),
        "log": _("log scale"),
        "rows": _("relative to the row's largest"),
    }
    if block == (1, 1):
        return _("weight, {scale}").format(scale=scales[kind])
    return _("largest weight of {rows} × {columns} tokens, {scale}").format(
        rows=block[0], columns=block[1], scale=scales[kind]
    )


def _panel(name: str, called: str, cells: Cells, scale: Scale, size: tuple[int, int], axis: str = "") -> dict[str, Any]:
    pooled = {
        "first": list(cells.first),
        "end": list(cells.end),
        "block": list(cells.block),
        "size": list(size),
        "edges": edges(scale),
        "tops": None if cells.tops is None else [float(f"{top:.7g}") for top in cells.tops],
        "mark": _("no share: NaN, infinite or below 0"),
    }
    return {"name": name, "axis": axis, "row": "s", "col": "u", "start": [0, 0], "symbol": called, "pooled": pooled}
