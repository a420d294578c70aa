"""The title of a rotated axis, stood upright where it is one Chinese character, which cannot be read on its side."""

from __future__ import annotations

import html
import unicodedata
from typing import Any

from attnviz.figures.text import width


def stand(axes: dict[str, Any]) -> list[dict[str, Any]]:
    """Take such titles from the y axes, and return the annotations that stand in their places, letter below word.

    >>> axes = {"xaxis": {"domain": [0.2, 1]}, "yaxis": {"domain": [0, 1], "anchor": "x", "title": {"text": "层 h"}}}
    >>> [note["text"] for note in stand(axes)], axes["yaxis"]["title"]
    (['层<br>h'], {})
    """
    notes = []
    for name, axis in axes.items():
        title = axis.get("title", {}) if name.startswith("yaxis") else {}
        words = title.get("text", "").split(" ")
        if "anchor" not in axis or len(words[0]) != 1 or unicodedata.east_asian_width(words[0]) not in ("W", "F"):
            continue
        across = axes["xaxis" + axis["anchor"][1:]]["domain"]
        ticks = max((width(html.unescape(tick)) for tick in axis.get("ticktext", ())), default=0.0)
        notes.append(
            {
                "x": across[0],
                "y": sum(axis["domain"]) / 2,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "right",
                "yanchor": "middle",
                "xshift": -(ticks + 8),
                "showarrow": False,
                "align": "center",
                "font": title.get("font", {}),
                "text": "<br>".join(words),
            }
        )
        axis["title"] = {}
    return notes
