"""Where the weights of a pooled map come from: queries and keys, or a matrix that is there."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple, Protocol

from torch import Tensor

from attnviz.core.pooling import PooledMap, Progress, pool, pooled_weights

Rows = tuple[int, int]  # the first token and the end, which is not included
_TOUCH = 16  # weights that are read from memory in the time in which one is computed


class Pooled(Protocol):
    """Pools the weights of a window to at most size x size cells; raises Stopped when progress answers False."""

    def __call__(self, *, rows: Rows, cols: Rows, size: int, progress: Progress | None = None) -> PooledMap: ...


class Source(NamedTuple):
    """The weights of one head, s query tokens by u key tokens, of which a window is pooled at a time."""

    name: Hashable  # by it maps are kept for the session: equal names, equal weights
    n_query: int
    n_key: int
    pooled: Pooled
    work: Callable[[Rows], int]  # how many weights are computed for a window of rows


def of_projections(
    query: Tensor,
    key: Tensor,
    name: Hashable,
    *,
    mask: object = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Source:
    """Return the weights of query (s, k) and key (u, k), computed a window at a time; the rest as pooled_weights takes.

    >>> import torch
    >>> source = of_projections(torch.zeros(4, 2), torch.zeros(4, 2), "zeros", mask="causal")
    >>> source.pooled(rows=(2, 4), cols=(0, 4), size=2).values
    tensor([[0.3333, 0.3333],
            [0.2500, 0.2500]])
    """
    n_key = key.shape[-2]
    pooled = partial(pooled_weights, query, key, mask=mask, scale=scale, softcap=softcap)  # type: ignore[arg-type]
    return Source(name, query.shape[-2], n_key, pooled, lambda rows: (rows[1] - rows[0]) * n_key)


def of_weights(weights: Tensor, name: Hashable) -> Source:
    """Return weights that are there already: (s, u).

    >>> import torch
    >>> of_weights(torch.eye(4), "eye").pooled(rows=(0, 4), cols=(0, 4), size=2).values
    tensor([[1., 0.],
            [0., 1.]])
    """
    n_query, n_key = weights.shape
    return Source(name, n_query, n_key, partial(pool, weights), lambda rows: (rows[1] - rows[0]) * n_key // _TOUCH)
