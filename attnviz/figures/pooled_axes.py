"""The axes of a pooled map: tokens where each is legible, else numbers of tokens, and labels that never overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnviz.experiment import View
from attnviz.figures.axes import axis_title, plain_axis
from attnviz.figures.colours import Theme
from attnviz.figures.layout import UPRIGHT
from attnviz.figures.pooled_cells import Shown, Span
from attnviz.figures.text import cut, html, visible, width

SIDE = 512  # pixels of the map, whatever it holds: it stands still while one zooms; a cell is a pixel at least
LEFT, BARS = 78.0, 54.0  # pixels left of the map, and above it
SMALL, GAP = 104.0, 18.0  # pixels of the small map of the whole text, and of what is left of it
LEGIBLE = 13  # pixels of a token that is labelled
LABEL = 58  # pixels of a token's label
_ROOM = {"x": 56.0, "y": 30.0}  # pixels from one number to the next
_STEPS = (1, 2, 5)
Figure = dict[str, Any]


def axis(
    kind: str,
    span: Span,
    n: int,
    at: tuple[float, float],
    view: View,
    theme: Theme,
    tokens: Sequence[str] | None,
) -> Figure:
    """at: the pixels before the map, and those of the whole figure."""
    letter, other = ("u", "y") if kind == "x" else ("s", "x")
    made = plain_axis(at[0], SIDE, at[1], n, other, theme, letter) | ticks(kind, *span, SIDE, tokens)
    made["title"] = axis_title(letter, view, theme)
    shown = [span[0] - 0.5, span[1] - 0.5]
    made["range"] = shown if kind == "x" else shown[::-1]  # row 0 on top
    return made


def small_axes(n: tuple[int, int], size: tuple[float, float], theme: Theme) -> Figure:
    left, bottom = LEFT + SIDE + GAP, size[1] - BARS - SMALL
    frame_ = {"showline": True, "mirror": True, "linecolor": theme.quiet, "linewidth": 1, "fixedrange": True}
    x = plain_axis(left, SMALL, size[0], n[1], "y2", theme, "") | frame_ | {"range": [-0.5, n[1] - 0.5]}
    y = plain_axis(bottom, SMALL, size[1], n[0], "x2", theme, "") | frame_ | {"range": [n[0] - 0.5, -0.5]}
    return {"xaxis2": x, "yaxis2": y}


def here(shown: Shown, theme: Theme) -> Figure:
    """The window as a rectangle on the small map."""
    (s0, s1), (u0, u1) = shown.rows, shown.cols
    where = {"x0": u0 - 0.5, "x1": u1 - 0.5, "y0": s0 - 0.5, "y1": s1 - 0.5, "xref": "x2", "yref": "y2"}
    return {"type": "rect", "line": {"color": theme.letters["h"], "width": 2}, **where}


def ticks(kind: str, first: int, end: int, side: float, tokens: Sequence[str] | None) -> dict[str, Any]:
    """Return the ticks of an axis, "x" or "y", on which tokens first to end - 1 stand on `side` pixels."""
    each = side / (end - first)
    if tokens is not None and each >= LEGIBLE:
        words = [cut(visible(tokens[i]), LABEL) for i in range(first, end)]
        made = {"tickvals": list(range(first, end)), "ticktext": [html(word) for word in words]}
        level = kind == "y" or max(map(width, words)) <= each - 3
        return _shown(made) | {"tickangle": 0 if level else -90 if each < UPRIGHT else -45}
    at = numbered(first, end, _ROOM[kind] / each)
    return _shown({"tickvals": at, "ticktext": [f"{i + 1:,}" for i in at]}) | {"tickangle": 0}


def numbered(first: int, end: int, least: float) -> list[int]:
    """Return tokens at round numbers, counted from 1, at least `least` tokens apart; the first one where it fits.

    >>> [i + 1 for i in numbered(0, 1000, 180)], [i + 1 for i in numbered(512, 530, 4.5)]
    ([1, 200, 400, 600, 800, 1000], [515, 520, 525, 530])
    """
    step = next(step for power in range(9) for digit in _STEPS if (step := digit * 10**power) >= least)
    at = [i - 1 for i in range(step, end + 1, step) if i > first]
    if not at or at[0] - first >= least:
        at.insert(0, first)
    return at


def foot(first: int, end: int, side: float, tokens: Sequence[str] | None) -> float:
    """Return the pixels that the labels under the columns take, and the name of the axis."""
    made = ticks("x", first, end, side, tokens)
    if made["tickangle"] == 0:
        return 38.0
    return LABEL * (1.0 if made["tickangle"] == -90 else 0.75) + 34


def _shown(made: dict[str, Any]) -> dict[str, Any]:
    return made | {"tickmode": "array", "showticklabels": True, "ticklabelstandoff": 4}
