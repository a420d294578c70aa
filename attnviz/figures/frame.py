"""What every figure has in common: its frame, the notes that are its titles, and the bars of its colour scales."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import numpy as np

from attnviz.figures.colours import Theme
from attnviz.figures.text import html
from attnviz.figures.upright import stand

FONT = '"Source Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif'  # as .streamlit/config.toml
BAR_EDGE = 12.0  # pixels from the figure's edge at least: Plotly leaves out a number that would reach beyond it
NOWHERE = "rgba(0,0,0,0)"


def frame(
    data: list[dict[str, Any]],
    axes: dict[str, Any],
    notes: list[dict[str, Any]],
    width: float,
    height: float,
    theme: Theme,
) -> dict[str, Any]:
    """Return a whole figure as Plotly's own plain dict; width and height in pixels."""
    upright = stand(axes)
    return {
        "data": data,
        "layout": {
            **axes,
            "annotations": [*notes, *upright],
            "width": round(width),
            "height": round(height),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "font": {"family": FONT, "size": 11, "color": theme.ink},
            "paper_bgcolor": NOWHERE,
            "plot_bgcolor": NOWHERE,
            "showlegend": False,
            "hovermode": "closest",
            "datarevision": _revision(data),  # by which Plotly sees that nothing changed
            "dragmode": False,  # a finger that drags scrolls the page; Plotly's own buttons switch to zoom
            "modebar": {"orientation": "v", "bgcolor": NOWHERE, "color": theme.quiet, "activecolor": theme.ink},
        },
    }


def _revision(data: list[dict[str, Any]]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for trace in data:
        for name in ("z", "x", "y"):
            if name in trace:
                digest.update(np.ascontiguousarray(trace[name]).tobytes())
    return digest.hexdigest()


def note(words: str, x: float, y: float, width: float, height: float, theme: Theme) -> dict[str, Any]:
    """Place a line of Plotly's markup, its lower left corner x and y pixels from the figure's upper left."""
    return {
        "x": x / width,
        "y": 1 - y / height,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "align": "left",
        "font": {"size": 12, "color": theme.ink},
        "text": words,
    }


def bar(words: str, x: float, y: float, width: float, height: float) -> dict[str, Any]:
    """Place the bar of a colour scale, its upper left corner x and y pixels from the figure's; `words` name it."""
    return {
        "colorbar": {
            "orientation": "h",
            "x": max(x, BAR_EDGE) / width,
            "xanchor": "left",
            "xpad": 0,
            "y": 1 - y / height,
            "yanchor": "top",
            "ypad": 0,
            "lenmode": "pixels",
            "len": 160,
            "thickness": 8,
            "nticks": 5,
            "exponentformat": "e",  # as in the cells
            "outlinewidth": 0,
            "tickfont": {"size": 10},
            "title": {"text": html(words), "side": "top", "font": {"size": 11}},
        }
    }


def typed(value: Any) -> Any:
    """Return an array as Plotly's typed array, its very bytes; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    bytes_ = base64.b64encode(np.ascontiguousarray(value).data).decode("ascii")
    made = {"dtype": value.dtype.kind + str(value.dtype.itemsize), "bdata": bytes_}
    return made | {"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else made
