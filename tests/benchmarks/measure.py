"""Numbers from repeated measurements: medians, the middle half, and ratios of measurements taken side by side."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence

Sample = Mapping[str, float]  # the name of a time -> milliseconds


def parser(words: str, n: int) -> argparse.ArgumentParser:
    """Return a command's arguments: how many measurements are taken, and how many before them are not counted."""
    arguments = argparse.ArgumentParser(description=words.splitlines()[0])
    arguments.add_argument("-n", type=int, default=n, help=f"measurements of each side (default {n})")
    arguments.add_argument("--warm", type=int, default=3, help="more of them first, not counted (default 3)")
    return arguments


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies, between two of them where it falls between.

    >>> quantile([4, 1, 3, 2], 0.5)
    2.5
    """
    ordered = sorted(values)
    if not ordered:
        return math.nan
    at = share * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return the median, and in brackets the middle half: the noise, as it was.

    >>> spread([1, 2, 3, 4, 5])
    '3.0 (2.0-4.0)'
    """
    middle, low, high = statistics.median(values), quantile(values, 0.25), quantile(values, 0.75)
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def print_sides(ours: Sequence[Sample], floor: Sequence[Sample], rows: Mapping[str, str], goal: float) -> None:
    """Print both sides as medians with their middle half, and the ratio; the goal is for the last row.

    rows: the name of a time -> what the table calls it. ours[i] and floor[i] were measured one after the other.
    """
    print(f"{'ms, median (middle half)':34}  {'attnviz':>24}  {'floor':>24}  {'ratio':>5}")
    for name, words in rows.items():
        left, right = [s[name] for s in ours], [s[name] for s in floor]
        ratio = statistics.median(left) / max(statistics.median(right), 1e-9)
        print(f"{words:34}  {spread(left):>24}  {spread(right):>24}  {ratio:5.2f}")
    last = list(rows)[-1]
    pairs = [a[last] / b[last] for a, b in zip(ours, floor, strict=True)]
    low, high = quantile(pairs, 0.25), quantile(pairs, 0.75)
    middle = statistics.median(pairs)
    print(f"{rows[last]}: pair by pair {middle:.2f}, the middle half {low:.2f}-{high:.2f}; goal {goal:g}")


def line(name: str, figures: int, us: Sequence[float], them: Sequence[float]) -> str:
    """Return a line: both sides' times, the ratio of their medians, and the middle half of the pairs' ratios."""
    pairs = [a / b for a, b in zip(us, them, strict=True)]
    ratio = statistics.median(us) / statistics.median(them)
    middle = f"{quantile(pairs, 0.25):.2f}-{quantile(pairs, 0.75):.2f}"
    return f"{name:22}  {figures:7}  {spread(us):>24}  {spread(them):>24}  {ratio:5.2f}  {middle:>11}"
