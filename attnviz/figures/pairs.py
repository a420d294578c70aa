"""Lines between two columns of tokens: each row's weights as lines to the keys, the darker the more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.figures.colours import Theme
from attnviz.figures.frame import frame, note
from attnviz.figures.text import html, label

LEAST = 0.02  # a weight below is not drawn
_STEPS = 16  # shades of a line
_ROW, _LABEL, _BETWEEN, _HEAD = 24.0, 96.0, 190.0, 24.0  # pixels


def lines(weights: npt.NDArray[np.float32], row: int | None = None) -> list[tuple[int, int, float]]:
    """Return the lines that are drawn, (row, column, weight), the lightest first: of all rows, or of one.

    >>> [(s, u) for s, u, _ in lines(np.array([[1.0, 0.0], [0.25, 0.75]], dtype="f"))]
    [(1, 0), (1, 1), (0, 0)]
    """
    found = [
        (s, u, float(weights[s, u]))
        for s, u in zip(*np.nonzero(weights >= LEAST), strict=True)
        if row is None or s == row
    ]
    return sorted(((int(s), int(u), a) for s, u, a in found), key=lambda one: one[2])


def specify(
    weights: npt.NDArray[np.float32],
    rows: Sequence[str],
    columns: Sequence[str],
    theme: Theme,
    *,
    row: int | None = None,
    titles: tuple[str, str] = ("", ""),
) -> dict[str, Any]:
    """Return the figure as Plotly's plain dict; with `row` that row's lines stand out and the others are faint."""
    n = max(len(rows), len(columns))
    width, height = 2 * _LABEL + _BETWEEN, _HEAD + n * _ROW + 6
    data: list[dict[str, Any]] = []
    if row is not None:
        data += _shaded(lines(weights), theme, 0.18)
    data += _shaded(lines(weights, row), theme, 1.0)
    for x, words, side, letter in ((0, rows, "middle left", "s"), (1, columns, "middle right", "u")):
        data.append(
            {
                "type": "scatter",
                "mode": "text",
                "name": letter,
                "x": np.full(len(words), x, dtype=np.float32),
                "y": np.arange(len(words), dtype=np.float32),
                "text": [
                    f"<b>{label(word, 84)}</b>" if letter == "s" and i == row else label(word, 84)
                    for i, word in enumerate(words)
                ],
                "textposition": side,
                "textfont": {"size": 12, "color": theme.letters[letter]},
                "hoverinfo": "skip",
                "cliponaxis": False,
            }
        )
    plain = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "fixedrange": True}
    left, right = _LABEL / width, 1 - _LABEL / width
    axes = {
        "xaxis": plain | {"range": [0, 1], "domain": [left, right]},
        "yaxis": plain | {"range": [n - 0.5, -0.5], "domain": [0, 1 - _HEAD / height]},
    }
    notes = []
    for at, anchor, words, letter in ((left, "right", titles[0], "s"), (right, "left", titles[1], "u")):
        notes.append(note(html(words), at * width, _HEAD - 4, width, height, theme))
        notes[-1] |= {"xanchor": anchor, "font": {"size": 11, "color": theme.letters[letter]}}
    made = frame(data, axes, notes, width, height, theme)
    made["layout"]["hovermode"] = False
    return made


def _shaded(drawn: Sequence[tuple[int, int, float]], theme: Theme, opacity: float) -> list[dict[str, Any]]:
    """One trace for each shade: a thousand traces would take a browser seconds."""
    shades: dict[int, list[tuple[int, int]]] = {}
    for s, u, weight in drawn:
        shades.setdefault(round(min(1.0, weight) * _STEPS), []).append((s, u))
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{shade / _STEPS:g}",
            "x": np.array([x for _ in ends for x in (0.02, 0.98, np.nan)], dtype=np.float32),
            "y": np.array([y for s, u in ends for y in (s, u, np.nan)], dtype=np.float32),
            "line": {"color": theme.share[-1][1], "width": 1 + 2.5 * shade / _STEPS},
            "opacity": opacity * max(0.06, shade / _STEPS),
            "hoverinfo": "skip",
        }
        for shade, ends in sorted(shades.items())
    ]
