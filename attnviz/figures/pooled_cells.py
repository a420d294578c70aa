"""The data of a pooled map: what travels to the browser, the part that a window touches, and a coarser whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from attnviz.core.pooling import PooledMap, pool
from attnviz.figures.pooled_scale import Scale, encode, row_tops

EXACT_CELLS = 200 * 200  # cells whose weights travel as float32 beside their colours
Span = tuple[int, int]  # the first token and the end, which is not included


class Shown(NamedTuple):
    """A window of a map, and the whole of it where that is known."""

    pooled: PooledMap  # values (rows, columns)
    whole: PooledMap | None
    rows: Span  # the query tokens that are shown; cells may reach beyond them
    cols: Span
    size: tuple[int, int]  # query and key tokens of the whole text

    @property
    def is_part(self) -> bool:
        """Say whether something of the text is not shown."""
        return (self.rows, self.cols) != ((0, self.size[0]), (0, self.size[1]))


class Cells(NamedTuple):
    """What travels to the browser of a map."""

    codes: npt.NDArray[np.uint8]  # (rows, columns)  the colour of each cell
    weights: npt.NDArray[np.float32] | None  # (rows, columns)  where each cell is one weight, and they are few
    tops: npt.NDArray[np.float64] | None  # (rows,)  where colours are relative to the largest of a row
    first: tuple[int, int]  # the first query and key token
    end: tuple[int, int]
    block: tuple[int, int]  # query and key tokens of a cell


def cells_of(pooled: PooledMap, scale: Scale) -> Cells:
    """Return the colours of a map, and its weights where they are exact and few."""
    values, block = numbers(pooled), block_of(pooled)
    first, end = (pooled.row_edges[0], pooled.col_edges[0]), (pooled.row_edges[-1], pooled.col_edges[-1])
    weights = values if pooled.exact and values.size <= EXACT_CELLS else None
    return Cells(encode(values, scale), weights, row_tops(values) if scale.kind == "rows" else None, first, end, block)


def numbers(pooled: PooledMap) -> npt.NDArray[np.float32]:
    """Return the values of a map, (rows, columns)."""
    values: npt.NDArray[np.float32] = pooled.values.detach().to("cpu").float().contiguous().numpy()
    return values


def block_of(pooled: PooledMap) -> tuple[int, int]:
    """Return how many query and key tokens a cell holds; the last of an axis may hold fewer."""
    return pooled.row_edges[1] - pooled.row_edges[0], pooled.col_edges[1] - pooled.col_edges[0]


def coarse(pooled: PooledMap, most: int) -> PooledMap:
    """Pool a map further, to at most `most` cells a side: of each the largest.

    >>> import torch
    >>> coarse(PooledMap(torch.eye(4), (0, 2, 4, 6, 7), (0, 2, 4, 6, 7), False), 2).row_edges
    (0, 4, 7)
    """
    again = pool(pooled.values, size=most)
    rows = tuple(pooled.row_edges[i] for i in again.row_edges)
    cols = tuple(pooled.col_edges[i] for i in again.col_edges)
    return PooledMap(again.values, rows, cols, pooled.exact and again.exact)


def part(pooled: PooledMap, rows: Span, cols: Span) -> PooledMap:
    """Return the cells of a map that a window touches.

    >>> import torch
    >>> part(PooledMap(torch.eye(4), (0, 2, 4, 6, 7), (0, 2, 4, 6, 7), False), (3, 5), (6, 7)).row_edges
    (2, 4, 6)
    """
    top, foot = _touched(pooled.row_edges, rows)
    left, right = _touched(pooled.col_edges, cols)
    row_edges, col_edges = pooled.row_edges[top : foot + 1], pooled.col_edges[left : right + 1]
    return PooledMap(pooled.values[top:foot, left:right], row_edges, col_edges, pooled.exact)


def _touched(at: tuple[int, ...], span: Span) -> tuple[int, int]:
    first = max(i for i, edge in enumerate(at) if edge <= span[0])
    return first, min(i for i, edge in enumerate(at) if edge >= span[1])
