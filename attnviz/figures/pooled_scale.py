"""The colours of a pooled map: a weight as one byte, what a byte stands for, and the true weights on the bar.

Most weights of a long text are near 0, where a linear scale shows a blank square: a square root, a logarithm or each
row's own largest weight make them visible. A scale changes colours alone, never a number that is printed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attnviz.figures.colours import Theme
from attnviz.figures.text import width

Floats = npt.NDArray[np.float64]
LAST = 253  # of a byte: the largest weight; 0 is a weight of exactly 0, and 1 the least above it
MARK = 255  # no share: NaN, infinite or below 0
KINDS = ("linear", "sqrt", "log", "rows")
LINEAR_MOST = 64  # tokens of a row up to which weights are large enough for a linear scale
_DECADES = 6  # that the logarithm spans at most


class Scale(NamedTuple):
    """How a weight becomes a colour, from 0 to 1 of the way along the scale, and back."""

    kind: str  # "linear", "sqrt", "log" or "rows"
    top: float  # the weight of the last colour; of "rows" 1, the row's own largest
    low: float  # "log" alone: the weight of the first colour, and of all below

    def way(self, weights: Floats) -> Floats:
        """How far along the scale weights stand: 0 to 1.

        >>> Scale("sqrt", 0.04, 0.0).way(np.array([0.0, 0.01, 0.04]))
        array([0. , 0.5, 1. ])
        """
        shares = np.clip(weights / self.top, 0, 1)
        if self.kind == "log":
            least = self.low / self.top
            return 1 - np.log(np.maximum(shares, least)) / math.log(least)
        return np.sqrt(shares) if self.kind == "sqrt" else shares

    def weight(self, way: Floats) -> Floats:
        """Return the weights that stand so far along the scale."""
        if self.kind == "log":
            return self.top * (self.low / self.top) ** (1 - way)
        return self.top * (way**2 if self.kind == "sqrt" else way)


def choose(kind: str, n_key: int) -> str:
    """Return the kind of scale that is shown: "auto" is linear for a short row, of a long one the row's maximum.

    Of thousands of keys each gets little: beside the one weight of 1 in the first row of a causal map, whose query
    sees itself alone, even a square root leaves all others blank.
    """
    if kind in KINDS:
        return kind
    return "linear" if n_key <= LINEAR_MOST else "rows"


def scale_of(kind: str, values: npt.NDArray[np.float32]) -> Scale:
    """Return the scale that holds all weights of a map: linear from 0 to 1, the others to the largest."""
    shares = values[np.isfinite(values) & (values > 0)].astype(np.float64)
    largest = float(shares.max(initial=0.0)) or 1.0
    if kind == "rows":
        return Scale(kind, 1.0, 0.0)
    if kind == "linear":
        return Scale(kind, max(1.0, largest), 0.0)
    least = max(float(shares.min(initial=largest / 10)), largest * 10.0**-_DECADES)
    return Scale(kind, largest, 10.0 ** math.floor(math.log10(least)))


def row_tops(values: npt.NDArray[np.float32]) -> Floats:
    """Return the largest weight of each row, 1 where there is none."""
    shares = np.where(np.isfinite(values) & (values > 0), values, 0).astype(np.float64)
    tops = shares.max(axis=1, initial=0.0)
    return np.where(tops > 0, tops, 1.0)


def encode(values: npt.NDArray[np.float32], scale: Scale) -> npt.NDArray[np.uint8]:
    """Return each weight as a byte: 0, or 1 to LAST along the scale, or MARK.

    >>> encode(np.array([[0, 0.25, 1, np.nan]], dtype="f"), Scale("sqrt", 1.0, 0.0)).tolist()
    [[0, 127, 253, 255]]
    """
    weights = values.astype(np.float64)
    good = np.isfinite(weights) & (weights >= 0)
    weights = np.where(good, weights, 0)
    relative = weights / row_tops(values)[:, None] if scale.kind == "rows" else weights
    codes = 1 + np.rint(scale.way(relative) * (LAST - 1))
    return np.where(good, np.where(weights > 0, codes, 0), MARK).astype(np.uint8)


def edges(scale: Scale) -> list[float]:
    """Return the weights between which each byte lies: byte i those from edges[i - 1] to edges[i], i from 1.

    Of "rows" they are shares of the row's largest weight.
    """
    way = np.clip((np.arange(LAST + 1) - 0.5) / (LAST - 1), 0, 1)
    found = scale.weight(way)
    found[0] = 0.0
    return [float(f"{edge:.7g}") for edge in found]


def bar_ticks(scale: Scale, length: float) -> tuple[list[float], list[str]]:
    """Return where true weights stand on a bar of `length` pixels, as bytes, and their texts, which never touch."""
    if scale.kind == "rows":
        shares = [0.0, 0.25, 0.5, 0.75, 1.0]
        return [_byte(scale, share) for share in shares], [f"{share:.0%}" for share in shares]
    first = math.floor(math.log10(scale.top))
    steps = [digit * 10.0**power for power in range(first, first - 9, -1) for digit in (5, 2, 1)]
    ends = [scale.low] if scale.kind == "log" else [0.0]
    vals, texts = [], []
    taken: list[tuple[float, float]] = []
    # The ends of the scale first, then round weights from the largest down, where there is room.
    for weight in (*ends, *(step for step in steps if ends[0] < step <= scale.top)):
        at, text = _byte(scale, weight), short(weight)
        middle, half = at / LAST * length, width(text) / 2 + 4
        if all(middle + half <= left or middle - half >= right for left, right in taken):
            taken.append((middle - half, middle + half))
            vals.append(at)
            texts.append(text)
    return vals, texts


def short(weight: float) -> str:
    """Print a round weight as short as it is.

    >>> short(0.02), short(2e-05), short(0.0)
    ('0.02', '2e−5', '0')
    """
    if weight == 0 or weight >= 0.001:
        return f"{weight:.3g}"
    digits, _e, power = f"{weight:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e−{abs(int(power))}"


def _byte(scale: Scale, weight: float) -> float:
    return 1 + float(scale.way(np.array([weight]))[0]) * (LAST - 1)


def colours(theme: Theme, marked: bool) -> dict[str, Any]:
    """Return the colours of the bytes, as Plotly's coloraxis; marked: whether any of them is MARK."""
    most = MARK if marked else LAST
    stops = [(0.0, theme.share[0][1])] + [((1 + at * (LAST - 1)) / most, colour) for at, colour in theme.share]
    if marked:
        end = (LAST + 0.5) / MARK
        stops += [(end, theme.share[-1][1]), (end, theme.hole), (1.0, theme.hole)]
    return {"cmin": 0, "cmax": most, "colorscale": stops}
