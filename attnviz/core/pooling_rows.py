"""What lies under a pooled map: the weights of one row, its strongest keys, and the strongest pairs of a window."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from attnviz.core.pooling import PooledMap, RowsMask, pooled_weights
from attnviz.core.shapes import check_count, meet

Mask = Tensor | RowsMask | Literal["causal"] | None


class Strongest(NamedTuple):
    """The largest weights of a row, the largest first; of equal ones the earlier key."""

    weights: Tensor  # (..., count)
    keys: Tensor  # (..., count)  which key token u has it


class Edges(NamedTuple):
    """The largest weights of a window, the largest first."""

    weights: Tensor  # (..., count)
    queries: Tensor  # (..., count)  the query token s of each
    keys: Tensor  # (..., count)  its key token u


def row_weights(
    query: Tensor,
    key: Tensor,
    row: int,
    *,
    mask: Mask = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Tensor:
    """The weights of one query token, no other row computed: query (..., s, k), key (..., u, k) -> (..., u).

    mask, scale and softcap are those of pooled_weights. Raises ValueError for a row outside 0 to s - 1, and as
    pooled_weights does.

    >>> row_weights(torch.zeros(4, 2), torch.zeros(4, 2), 1, mask="causal")
    tensor([0.5000, 0.5000, 0.0000, 0.0000])
    """
    n_query = query.shape[-2] if isinstance(query, Tensor) and query.ndim > 1 else 1
    row = check_count("row", row)
    if row >= n_query:
        raise ValueError(f"row: expected a query token from 0 to s - 1 = {n_query - 1}, got {row}")
    size = max(1, key.shape[-2]) if isinstance(key, Tensor) and key.ndim > 1 else 1
    one = (row, row + 1)
    pooled = pooled_weights(query, key, mask=mask, scale=scale, softcap=softcap, rows=one, size=size)
    return pooled.values[..., 0, :]  # (..., u)


def strongest(
    query: Tensor,
    key: Tensor,
    row: int,
    *,
    count: int = 10,
    mask: Mask = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Strongest:
    """The keys to which one query token gives most: query (..., s, k), key (..., u, k) -> twice (..., count).

    All u keys where they are fewer than count. What is hidden has weight 0 and comes last. Raises as row_weights
    does, and ValueError for a count below 1.

    >>> query, key = torch.ones(3, 1), torch.tensor([[0.0], [2.0], [1.0]])
    >>> strongest(query, key, 2, count=2)
    Strongest(weights=tensor([0.6652, 0.2447]), keys=tensor([1, 2]))
    """
    count = check_count("count", count, low=1)
    weights = row_weights(query, key, row, mask=mask, scale=scale, softcap=softcap)
    ordered = weights.sort(dim=-1, descending=True, stable=True)
    return Strongest(ordered.values[..., :count], ordered.indices[..., :count])


def strongest_edges(
    query: Tensor,
    key: Tensor,
    pooled: PooledMap,
    *,
    count: int = 10,
    mask: Mask = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Edges:
    """The pairs with the largest weights of a window: query (..., s, k), key (..., u, k) -> three times (..., count).

    pooled: what pooled_weights made of the same arguments with reduce="max". The `count` largest weights lie in
    the `count` cells with the largest ones, since each cell above another has a weight above all of the other's:
    no row outside them is computed. The whole window where it has fewer weights than count. Of equal weights
    any may be taken. Raises ValueError for a count below 1, and as pooled_weights does.

    >>> query, key = torch.ones(2, 1), torch.tensor([[0.0], [2.0], [1.0]])
    >>> strongest_edges(query, key, pooled_weights(query, key, rows=(1, 2), size=2), count=2)
    Edges(weights=tensor([0.6652, 0.2447]), queries=tensor([1, 1]), keys=tensor([1, 2]))
    """
    count = check_count("count", count, low=1)
    given = torch.atleast_2d(mask) if isinstance(mask, Tensor) else mask
    leading = pooled.values.shape[:-2]
    n_window = (pooled.row_edges[-1] - pooled.row_edges[0]) * (pooled.col_edges[-1] - pooled.col_edges[0])
    shape = (*leading, min(count, n_window))
    found = Edges(pooled.values.new_zeros(shape), *(query.new_zeros(shape, dtype=torch.int64) for _ in range(2)))
    for index in itertools.product(*map(range, leading)):
        own = given[meet(index, leading, given.shape[:-2])] if isinstance(given, Tensor) else given
        of = query[meet(index, leading, query.shape[:-2])], key[meet(index, leading, key.shape[:-2])]
        edges = _edges(of, pooled._replace(values=pooled.values[index]), count, own, scale, softcap)
        for all_, one in zip(found, edges, strict=True):
            all_[index] = one
    return found


def _edges(
    of: tuple[Tensor, Tensor],
    pooled: PooledMap,
    count: int,
    mask: Mask,
    scale: float | None,
    softcap: float | None,
) -> Edges:
    """The largest weights of one map."""
    cells = pooled.values.flatten()
    by_row: dict[int, list[int]] = {}
    for cell in cells.topk(min(count, len(cells))).indices.tolist():
        by_row.setdefault(cell // pooled.values.shape[1], []).append(cell % pooled.values.shape[1])
    weights, queries, keys = [], [], []
    for i, columns in by_row.items():
        rows = pooled.row_edges[i : i + 2]
        cols = pooled.col_edges[min(columns)], pooled.col_edges[max(columns) + 1]
        size = max(1, rows[1] - rows[0], cols[1] - cols[0])
        near = pooled_weights(*of, mask=mask, scale=scale, softcap=softcap, rows=rows, cols=cols, size=size).values
        best = near.flatten().topk(min(count, near.numel()))
        weights.append(best.values)
        queries.append(rows[0] + best.indices // near.shape[1])
        keys.append(cols[0] + best.indices % near.shape[1])
    if not weights:
        return Edges(cells[:0], cells[:0].long(), cells[:0].long())
    order = torch.cat(weights).topk(min(count, sum(map(len, weights)))).indices
    return Edges(*(torch.cat(x)[order] for x in (weights, queries, keys)))
