"""The window of a pooled map: which query and key tokens are shown, and the ones that a step leads to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnviz.lab import Lab
from attnviz.limits import POOLED_CELLS

LEAST = 4  # tokens of an axis that zooming leaves
CLICK = 8  # times that a click on a cell of several tokens brings one closer
STEP = 4  # times that a button does
SLACK = 16  # tokens above POOLED_CELLS that a drag gives up, so that each cell is one weight


class Window(NamedTuple):
    """Query and key tokens: the first, and the end, which is not included."""

    rows: tuple[int, int]
    cols: tuple[int, int]


def of(lab: Lab, n_query: int, n_key: int) -> Window:
    """Return the window of a link or of the session, cut to a text of so many tokens; all of an axis it misses.

    >>> of(Lab(map_s=2, map_s_end=9, map_u=7), 6, 6)
    Window(rows=(2, 6), cols=(0, 6))
    """
    return Window(_cut(lab.map_s, lab.map_s_end, n_query), _cut(lab.map_u, lab.map_u_end, n_key))


def _cut(first: int, end: int, n: int) -> tuple[int, int]:
    end = min(end or n, n)
    return (first, end) if first < end else (0, n)


def fields(window: Window, n_query: int, n_key: int) -> dict[str, int]:
    """Return the settings of a Lab that hold a window; an end that is the text's is not written."""
    (s, s_end), (u, u_end) = window
    ends = (0 if s_end == n_query else s_end, 0 if u_end == n_key else u_end)
    return {"map_s": s, "map_s_end": ends[0], "map_u": u, "map_u_end": ends[1]}


def scaled(
    window: Window, factors: tuple[float, float], n_query: int, n_key: int, at: tuple[float, float] | None = None
) -> Window:
    """Return a window `factors` times as large, about its middle or another place (s, u), inside the text.

    >>> scaled(Window((0, 64), (0, 64)), (1 / 8, 1 / 8), 64, 64, (10, 60))
    Window(rows=(6, 14), cols=(56, 64))
    >>> scaled(Window((8, 16), (0, 8)), (4, 4), 64, 64)
    Window(rows=(0, 32), cols=(0, 32))
    """
    spans = []
    for i, (span, n) in enumerate(zip(window, (n_query, n_key), strict=True)):
        length = min(n, max(LEAST, math.ceil((span[1] - span[0]) * factors[i])))
        middle = sum(span) / 2 if at is None else at[i]
        first = max(0, min(n - length, round(middle - length / 2)))
        spans.append((first, first + length))
    return Window(spans[0], spans[1])


def dragged(zoom: Any, n_query: int, n_key: int) -> Window | None:
    """Return what a browser says is shown: x from, x to, y from (below) and y to, in tokens; None for no numbers.

    >>> dragged({"": [99.6, 149.5, 39.4, -0.5]}, 1000, 1000)
    Window(rows=(0, 40), cols=(100, 150))
    """
    shown = zoom.get("") if isinstance(zoom, Mapping) else None
    if not isinstance(shown, list) or len(shown) != 4 or not all(isinstance(x, int | float) for x in shown):
        return None
    left, right, below, above = map(float, shown)
    if not all(map(math.isfinite, (left, right, below, above))) or left >= right or above >= below:
        return None
    spans = []
    for low, high, n in ((above, below, n_query), (left, right, n_key)):
        # Token i reaches from i - 0.5 to i + 0.5; the end of a drag is some way into a token.
        first = max(0, min(n - 1, math.floor(low + 0.5)))
        end = max(first + 1, min(n, math.ceil(high + 0.5 - 1e-3)))
        spans.append(_fitting(first, end, n))
    return Window(spans[0], spans[1])


def _fitting(first: int, end: int, n: int) -> tuple[int, int]:
    length = min(n, max(LEAST, end - first))
    if POOLED_CELLS < length <= POOLED_CELLS + SLACK and length < n:
        length = POOLED_CELLS
    first = max(0, min(n - length, first - (length - (end - first)) // 2))
    return first, first + length
