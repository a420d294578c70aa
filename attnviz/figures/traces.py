"""What Plotly draws of one panel: its cells, the cells that hold no number, and the corners of typed ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.figures.colours import Theme
from attnviz.figures.layout import DIGITS_ONE, DIGITS_TWO, MARKS, Slot
from attnviz.figures.panels import Panel
from attnviz.figures.text import number, short

SHARES = ("weights",)


def traces(slot: Slot, n: str, cell: float, theme: Theme, bar: str) -> list[dict[str, Any]]:
    panel, place_ = slot.panel, {"xaxis": "x" + n, "yaxis": "y" + n}
    values = panel.values
    finite = np.isfinite(values)
    trace: dict[str, Any] = {
        "type": "heatmap",
        "name": panel.name,
        "z": np.where(finite, values, np.float32("nan")),
        "coloraxis": bar,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "none",  # the linked hover words it; "skip" would fire no event
        "opacity": 0.4 if panel.overridden == "wholly" else 1,
        **place_,
    }
    if panel.name == "row_sums":
        blank = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
        trace = {k: v for k, v in trace.items() if k != "coloraxis"} | {
            "colorscale": blank,
            "showscale": False,
            "texttemplate": "%{z:.4f}" if cell >= 14 else "",
            "textfont": {"size": 10, "color": theme.quiet},
        }
    elif printed := digits(values, cell):
        trace |= printed | {"textfont": {"size": font_size(cell)}}
        if theme.digits:
            trace["textfont"]["color"] = theme.digits
    drawn = [trace]
    for mark, where in (("−∞", values == -np.inf), ("∞", values == np.inf), ("NaN", np.isnan(values))):
        if where.any():
            drawn += [one | place_ for one in _mark(mark, where, cell, theme)]
    if panel.edited and len(panel.edited) < values.size:  # where all are, the title says so
        drawn.append(_pencil(panel, cell, theme) | place_)
    return drawn


def digits(values: npt.NDArray[np.float32], cell: float) -> dict[str, Any]:
    """Return what prints a matrix in its cells: Plotly's template, and the texts where some number is too long for one.

    Nothing where the cells are too small for some number however short it is written.
    """
    finite = values[np.isfinite(values)]
    if template := digits_that_fit(finite, cell):
        return {"texttemplate": template}
    if cell < DIGITS_ONE or not finite.size or np.abs(finite).max() < 0.005:
        return {}
    room = int((cell - 4) / (0.51 * font_size(cell)))  # characters
    texts = [[short(v, room) if math.isfinite(v) else None for v in row] for row in values.tolist()]
    if any(text == "" for row in texts for text in row):
        return {}
    return {"text": [[text or "" for text in row] for row in texts], "texttemplate": "%{text}"}


def digits_that_fit(values: npt.NDArray[np.float32], cell: float) -> str:
    """Return Plotly's template for the digits of a panel: two decimals, or as many as its widest number has room for.

    None where two decimals would print every number as 0.

    >>> digits_that_fit(np.array([0.31, -2.5], dtype="f"), 36), digits_that_fit(np.array([1e9], dtype="f"), 36)
    ('%{z:.2f}', '')
    >>> digits_that_fit(np.array([0.004], dtype="f"), 36)
    ''
    """
    if cell < DIGITS_ONE or not values.size:
        return ""
    if 0 < np.abs(values).max() < 0.005:  # as weights of a long text
        return ""
    for decimals in (2, 1, 0):
        widest = max(len(number(float(value), decimals)) for value in (values.min(), values.max()))
        if widest * 0.51 * font_size(cell) + 4 <= cell:
            return f"%{{z:.{decimals}f}}"
    return ""


def font_size(cell: float) -> int:
    """Return the size of digits in a cell, in pixels: never under 10."""
    return 11 if cell >= DIGITS_TWO else 10


def _mark(name: str, where: Any, cell: float, theme: Theme) -> list[dict[str, Any]]:
    """Give the cells that hold no number a ground of their own, and the value's name where it fits."""
    ground = {
        "type": "heatmap",
        "name": name,
        "z": np.where(where, np.float32(0), np.float32("nan")),
        "colorscale": [[0, theme.hole], [1, theme.hole]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "none",
    }
    rows, columns = where.nonzero()
    # Not a text template of the ground: Plotly prints a dash over each of its empty cells.
    text = {
        "type": "scatter",
        "mode": "text",
        "name": name,
        "x": columns.astype("uint8"),
        "y": rows.astype("uint8"),
        "text": name,
        "textfont": {"size": 10, "color": theme.quiet},
        "hoverinfo": "skip",
    }
    return [ground, text] if cell >= MARKS else [ground]


def _pencil(panel: Panel, cell: float, theme: Theme) -> dict[str, Any]:
    """Mark the typed cells with a corner, as a spreadsheet marks a comment; dark and light, seen on any cell."""
    inset = 0.5 - 5 / cell
    edge = {"width": 1, "color": theme.signed[len(theme.signed) // 2][1]}  # the page's own tone
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "edited",
        "x": [column + inset for _, column in panel.edited],
        "y": [row - inset for row, _ in panel.edited],
        "marker": {"symbol": "triangle-ne", "size": 9, "color": theme.ink, "line": edge},
        "hoverinfo": "skip",
    }
