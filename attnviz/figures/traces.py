"""What Plotly draws of one panel: its cells, the cells that hold no number, and the corners of typed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnviz.figures.colours import Theme
from attnviz.figures.layout import DIGITS_ONE, DIGITS_TWO, MARKS, Slot
from attnviz.figures.panels import Panel

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
    elif cell >= DIGITS_ONE:
        # A weight has no sign, so that its two decimals fit where a score has one.
        trace["texttemplate"] = "%{z:.1f}" if cell < DIGITS_TWO and panel.name not in SHARES else "%{z:.2f}"
        trace["textfont"] = {"size": 11 if cell >= DIGITS_TWO else 10}
        if theme.digits:
            trace["textfont"]["color"] = theme.digits
    drawn = [trace]
    for mark, where in (("−∞", values == -np.inf), ("∞", values == np.inf), ("NaN", np.isnan(values))):
        if where.any():
            drawn += [one | place_ for one in _mark(mark, where, cell, theme)]
    if panel.edited:
        drawn.append(_pencil(panel, cell, theme) | place_)
    return drawn


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
    """Mark the typed cells with a corner, as a spreadsheet marks a comment."""
    inset = 0.5 - 5 / cell
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "edited",
        "x": [column + inset for _, column in panel.edited],
        "y": [row - inset for row, _ in panel.edited],
        "marker": {"symbol": "triangle-ne", "size": 9, "color": theme.letters["h"], "line": {"width": 0}},
        "hoverinfo": "skip",
    }
