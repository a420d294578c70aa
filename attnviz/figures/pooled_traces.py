"""What Plotly draws of a pooled map: its colours, the weights in its cells, and the whole text under a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnviz.figures.colours import Theme
from attnviz.figures.layout import DIGITS_ONE
from attnviz.figures.pooled_axes import SIDE
from attnviz.figures.pooled_cells import Cells, Shown, cells_of, coarse
from attnviz.figures.pooled_scale import Scale
from attnviz.figures.text import number
from attnviz.figures.traces import font_size

UNDER = 128  # cells a side of the whole map that lies under a window
LINES = 10  # pixels of a cell from which a line stands between cells
Figure = dict[str, Any]


def trace(cells: Cells, axis: str = "") -> Figure:
    """Cell i of an axis reaches from its first token - 0.5 to that of the next one."""
    (s, u), (down, across) = cells.first, cells.block
    made = {
        "type": "heatmap",
        "name": "pooled",
        "z": cells.codes,
        "x0": u + (across - 1) / 2,
        "dx": across,
        "y0": s + (down - 1) / 2,
        "dy": down,
        "coloraxis": "coloraxis",
        "hoverinfo": "none",
        "xaxis": "x" + axis,
        "yaxis": "y" + axis,
    }
    return made if cells.weights is None else made | {"customdata": cells.weights}


def digits(cells: Cells, shown: Shown, theme: Theme) -> Figure:
    """The weights in their cells, with as many decimals as fit; between cells so large, a line."""
    each = _each(shown)
    lines = {"xgap": 1, "ygap": 1} if each >= LINES else {}
    if cells.weights is None or each < DIGITS_ONE or not np.isfinite(cells.weights).all():
        return lines
    for decimals in (4, 3, 2, 1, 0):
        texts = [[number(value, decimals) for value in row] for row in cells.weights.tolist()]
        if max(len(text) for row in texts for text in row) * 0.51 * font_size(each) + 4 <= each:
            font: Figure = {"size": font_size(each)} | ({"color": theme.digits} if theme.digits else {})
            return lines | {"text": texts, "texttemplate": "%{text}", "textfont": font}
    return lines


def under(shown: Shown, cells: Cells, scale: Scale) -> list[Figure]:
    """The whole text under a window: in sight where the window is dragged, but not between its cells."""
    assert shown.whole is not None
    whole = trace(cells_of(coarse(shown.whole, UNDER), scale)) | {"name": "under", "hoverinfo": "skip"}
    if _each(shown) < LINES:
        return [whole]
    ground = trace(cells._replace(codes=np.zeros((1, 1), dtype=np.uint8), weights=None, block=_length(cells)))
    return [whole, ground | {"name": "ground", "hoverinfo": "skip"}]


def _each(shown: Shown) -> float:
    """Pixels of a token, on the axis that has more of them."""
    return SIDE / max(shown.rows[1] - shown.rows[0], shown.cols[1] - shown.cols[0])


def _length(cells: Cells) -> tuple[int, int]:
    return cells.end[0] - cells.first[0], cells.end[1] - cells.first[1]
