"""The cells of a pooled map: which tokens each stands for, and how the numbers under it become one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, cat

from attnviz.core.shapes import check_count

Window = Sequence[int] | slice


class PooledMap(NamedTuple):
    """A map of at most size x size cells, and which tokens each cell stands for."""

    values: Tensor  # (..., rows, columns)  of each cell the largest weight, or the mean
    row_edges: tuple[int, ...]  # row i holds the query tokens row_edges[i] to row_edges[i + 1] - 1
    col_edges: tuple[int, ...]  # column j holds the key tokens col_edges[j] to col_edges[j + 1] - 1
    exact: bool  # each cell is one query and one key token: nothing is pooled


def edges_of(name: str, letter: str, window: Window | None, n: int, size: int) -> tuple[int, ...]:
    """The first token of each of at most `size` cells of a window, and the end of the last one.

    Raises TypeError for a window that is none, ValueError for one outside the n tokens; both name it.

    >>> edges_of("rows", "s", (2, 9), n=10, size=3)
    (2, 5, 8, 9)
    """
    if window is None:
        first, end = 0, n
    elif isinstance(window, slice) and window.step in (None, 1):
        first, end, _ = window.indices(n)
        end = max(first, end)
    elif isinstance(window, slice) or not isinstance(window, Sequence) or len(window) != 2:
        raise TypeError(f"{name}: expected (first, end), a slice of step 1 or None, got {window!r}")
    else:
        first, end = (check_count(name, i) for i in window)
    if not first <= end <= n:
        raise ValueError(f"{name}: expected (first, end) with 0 <= first <= end <= {letter}={n}, got {(first, end)}")
    block = max(1, -(-(end - first) // size))
    return (*range(first, end, block), end)


def block_of(edges: tuple[int, ...]) -> int:
    """How many tokens a cell has: the first is as large as any.

    >>> block_of((2, 5, 8, 9))
    3
    """
    return edges[1] - edges[0] if len(edges) > 1 else 1


def pool_axis(x: Tensor, axis: int, block: int, reduce: str) -> Tensor:
    """The largest, or the sum, of each `block` numbers along an axis, the last of them what is left.

    >>> from torch import arange
    >>> pool_axis(arange(5), -1, 2, "max").tolist(), pool_axis(arange(5), -1, 2, "sum").tolist()
    ([1, 3, 4], [1, 5, 4])
    """
    if block == 1:
        return x
    n = x.shape[axis]
    whole = n // block * block
    blocks: Tensor = x.narrow(axis, 0, whole).unflatten(axis, (whole // block, block))
    made = blocks.amax(axis) if reduce == "max" else blocks.sum(axis)
    if whole == n:
        return made
    rest = x.narrow(axis, whole, n - whole)
    rest = rest.amax(axis, keepdim=True) if reduce == "max" else rest.sum(axis, keepdim=True)
    return cat((made, rest), axis)


def sizes_of(edges: tuple[int, ...], like: Tensor) -> Tensor:
    """How many tokens each cell has, as a tensor like another.

    >>> from torch import zeros
    >>> sizes_of((2, 5, 8, 9), zeros(1)).tolist()
    [3.0, 3.0, 1.0]
    """
    return like.new_tensor([end - first for first, end in itertools.pairwise(edges)])
