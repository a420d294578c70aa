"""The map of a long text, pooled to the screen: the exact softmax of each row, and the matrix never held whole.

    32,768 tokens, size 512: of each 64 x 64 weights one number is kept, their largest or their mean
    rows (640, 1152), cols (0, 512): the zoomed window; it fits, and each cell is one weight

Rows are computed a piece at a time by core.attention, over all keys that they may see, pooled, and let go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import _check, attention
from attnviz.core.heads import shared_by
from attnviz.core.pooling_cells import PooledMap as PooledMap
from attnviz.core.pooling_cells import Window, block_of, edges_of, pool_axis, sizes_of
from attnviz.core.shapes import broadcast, check_count, meet, widened

Progress = Callable[[float], bool | None]  # is told the share that is done, 0 to 1; False stops the work
RowsMask = Callable[[int, int], Tensor]  # the mask of query tokens first to end - 1: (rows, u)
_PIECE = 2**22  # weights computed at once: 16 MB in float32; in smaller pieces, threads wait for each other more often


class Stopped(Exception):
    """The work was given up, because progress answered False."""


def pooled_weights(
    query: Tensor,
    key: Tensor,
    *,
    mask: Tensor | RowsMask | Literal["causal"] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    rows: Window | None = None,
    cols: Window | None = None,
    size: int = 512,
    reduce: Literal["max", "mean"] = "max",
    progress: Progress | None = None,
) -> PooledMap:
    """Attention's weights of a long text, pooled: query (..., s, k), key (..., u, k) -> values (..., rows, columns).

    The values are attention(...).weights in rows x cols, of each cell the largest or the mean. A cell is
    ceil(s / size) query tokens by ceil(u / size) key tokens of the window, the last of an axis what is left.
    rows and cols: (first, end) or a slice, end not included; all tokens when None. Each row's softmax is over all
    keys, whatever cols shows. mask: as attention takes it, or "causal", masks.causal(s, u), of which what is
    hidden is not computed, or a function mask(first, end) -> (rows, u) for query tokens first to end - 1, which
    serves all leading axes, where the whole mask would be too large. Leading axes, heads, scale and softcap are
    those of attention. dtype and device are kept; half precision is computed in float32. The values carry no gradient.
    progress is told the share of the work that is done after each piece; False from it raises Stopped.
    Raises ValueError for shapes and numbers, TypeError for dtypes, that do not fit.
    Source: Vaswani et al. 2017, equation 1; rows in pieces: Rabe and Staats 2021, section 2.

    >>> query, key = torch.zeros(1, 6, 2), torch.zeros(1, 6, 2)
    >>> pooled = pooled_weights(query, key, mask="causal", size=2)
    >>> pooled.values, pooled.row_edges, pooled.exact
    (tensor([[[1.0000, 0.0000],
             [0.2500, 0.2500]]]), (0, 3, 6), False)
    >>> pooled_weights(query, key, mask="causal", rows=(3, 5), cols=(2, 4), size=2).values
    tensor([[[0.2500, 0.2500],
             [0.2000, 0.2000]]])
    """
    if isinstance(mask, str) and mask != "causal":
        raise ValueError(f"mask: expected a torch.Tensor, 'causal' or None, got {mask!r}")
    causal, of_rows, given = isinstance(mask, str), None, None
    if not isinstance(mask, str):
        of_rows, given = (mask, None) if callable(mask) else (None, mask)
    _check(query, key, key, given, softcap, None)
    if reduce not in ("max", "mean"):
        raise ValueError(f"reduce: expected 'max' or 'mean', got {reduce!r}")
    size = check_count("size", size, low=1)
    n_query, n_key = query.shape[-2], key.shape[-2]
    row_edges, col_edges = edges_of("rows", "s", rows, n_query, size), edges_of("cols", "u", cols, n_key, size)
    blocks = block_of(row_edges), block_of(col_edges)

    asked, read = query.shape[:-2], key.shape[:-2]
    leading = broadcast(asked, shared_by(asked, read)) or ()
    given = None if given is None else torch.atleast_2d(given)
    sums = torch.zeros(
        (*leading, len(row_edges) - 1, len(col_edges) - 1),
        dtype=widened(query[..., :0, :]).dtype,
        device=query.device,
    )
    # What a causal mask hides is left out: keys after the piece's last row, and pieces that see none of cols.
    pieces = [(piece, min(piece.end, n_key) if causal else n_key) for piece in _pieces(row_edges, n_key)]
    pieces = [(piece, stop) for piece, stop in pieces if stop > col_edges[0]]
    work = sums[..., 0, 0].numel() if 0 not in sums.shape else 0
    told = _Told(progress, work * sum((piece.end - piece.first) * stop for piece, stop in pieces))

    with torch.no_grad():
        for index in itertools.product(*map(range, leading)) if work else ():
            of_query = widened(query[meet(index, leading, asked)])  # (s, k)
            of_key = widened(key[meet(index, leading, read)])  # (u, k)
            of_mask = None if given is None else given[meet(index, leading, given.shape[:-2])]  # (s or 1, u or 1)
            for piece, stop in pieces:
                own = slice(piece.first, piece.end)
                seen = of_mask if of_mask is None or len(of_mask) == 1 else of_mask[own]
                if of_rows is not None:
                    seen = of_rows(piece.first, piece.end)  # (rows, u)
                elif causal:
                    seen = masks.causal(piece.end - piece.first, stop, offset=piece.first).to(query.device)
                near = of_key[:stop]
                weights = attention(of_query[own], near, near[:, :0], mask=seen, scale=scale, softcap=softcap).weights
                shown = weights[:, col_edges[0] : col_edges[-1]]  # (rows of the piece, u of the window)
                cells = pool_axis(pool_axis(shown, -2, blocks[0], reduce), -1, blocks[1], reduce)
                # A cell taller than a piece comes in several: they are joined. No weight is below 0.
                part = sums[index][piece.row : piece.row + cells.shape[0], : cells.shape[1]]
                torch.maximum(part, cells, out=part) if reduce == "max" else part.add_(cells)
                told.after((piece.end - piece.first) * stop)
        if reduce == "mean":
            sums /= sizes_of(row_edges, sums)[:, None] * sizes_of(col_edges, sums)  # (rows, columns)
    return PooledMap(sums.to(query.dtype), row_edges, col_edges, blocks == (1, 1))


class _Piece(NamedTuple):
    """Query tokens whose weights are computed at once: several rows of cells, or a part of one."""

    row: int  # the first row of cells
    first: int
    end: int


class _Told:
    """Tells how much is done, as a share of all the weights that are computed."""

    def __init__(self, progress: Progress | None, work: int) -> None:
        self._progress, self._work, self._done = progress, work, 0

    def after(self, work: int) -> None:
        self._done += work
        if self._progress is not None and self._progress(self._done / self._work) is False:
            raise Stopped


def _pieces(edges: tuple[int, ...], n_key: int) -> Iterator[_Piece]:
    most = max(1, _PIECE // max(1, n_key))  # rows
    at, last = 0, len(edges) - 1
    while at < last:
        stop = at + max(1, most // block_of(edges))
        end = edges[min(stop, last)]
        yield from (_Piece(at, first, min(first + most, end)) for first in range(edges[at], end, most))
        at = stop


def pool(
    weights: Tensor,
    *,
    rows: Window | None = None,
    cols: Window | None = None,
    size: int = 512,
    reduce: Literal["max", "mean"] = "max",
    progress: Progress | None = None,
) -> PooledMap:
    """Pool a matrix that is there already, as pooled_weights pools: weights (..., s, u) -> values (..., rows, columns).

    Raises as pooled_weights does.

    >>> pool(torch.eye(4), size=2).values
    tensor([[1., 0.],
            [0., 1.]])
    """
    if reduce not in ("max", "mean"):
        raise ValueError(f"reduce: expected 'max' or 'mean', got {reduce!r}")
    if weights.ndim < 2:
        raise ValueError(f"weights: expected (..., s, u), got {tuple(weights.shape)}")
    size = check_count("size", size, low=1)
    row_edges = edges_of("rows", "s", rows, weights.shape[-2], size)
    col_edges = edges_of("cols", "u", cols, weights.shape[-1], size)
    blocks = block_of(row_edges), block_of(col_edges)
    shown = weights[..., row_edges[0] : row_edges[-1], col_edges[0] : col_edges[-1]]
    cells = pool_axis(pool_axis(shown, -2, blocks[0], reduce), -1, blocks[1], reduce)
    if reduce == "mean":
        cells = cells / (sizes_of(row_edges, cells)[:, None] * sizes_of(col_edges, cells))  # (..., rows, columns)
    if progress is not None and progress(1.0) is False:
        raise Stopped
    return PooledMap(cells, row_edges, col_edges, blocks == (1, 1))
