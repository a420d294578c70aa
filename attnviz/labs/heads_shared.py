"""Key-value heads that several query heads share: which remain, what the cache saves, and how far the maps move."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace, attention
from attnviz.core.heads import repeat_kv
from attnviz.labs.sizes import Sizes, costs


class Moved(NamedTuple):
    """How far maps move when query heads share key-value heads."""

    most: float  # the largest change of a weight
    mean: float  # of the changes of all weights that the mask leaves, whatever their sign
    by_head: Tensor  # (h,) that mean of each query head


def counts(n_heads: int) -> tuple[int, ...]:
    """How many key-value heads n_heads query heads may share, from all to one.

    >>> counts(8), counts(6)
    ((8, 4, 2, 1), (6, 3, 2, 1))
    """
    return tuple(n for n in range(n_heads, 0, -1) if n_heads % n == 0)


def to_front(heads: Tensor, n_kv_heads: int) -> Tensor:
    """Move the first n_kv_heads of the heads (h, u, k), each to the front of a group; the rest keeps its order.

    So a layer with as many key-value heads as query heads, made longer from a grouped one, becomes that again when
    the first head of each group is kept.

    >>> to_front(torch.tensor([0, 1, 2, 3]), 2).tolist()
    [0, 2, 1, 3]
    """
    n = len(heads)
    fronts, others = iter(range(n_kv_heads)), iter(range(n_kv_heads, n))
    return heads[[next(others if i % (n // n_kv_heads) else fronts) for i in range(n)]]


def share(own: Tensor, n_kv_heads: int, how: str) -> Tensor:
    """Let each group of heads share one: (h, u, k) -> (h_kv, u, k), the "first" of the group or the "mean" of it.

    Source: Ainslie et al. 2023, section 2.1, who find that the mean works better than one of the heads.

    >>> share(torch.tensor([[[1.0]], [[3.0]], [[5.0]], [[9.0]]]), 2, "mean").flatten().tolist()
    [2.0, 7.0]
    """
    groups: Tensor = own.unflatten(0, (n_kv_heads, -1))  # (h_kv, heads of a group, u, k)
    return groups.mean(1) if how == "mean" else groups[:, 0]


def reads(n_heads: int, n_kv_heads: int) -> Tensor:
    """Which key-value head each query head reads: bool (h, h_kv), one True in a row.

    >>> reads(4, 2).int().tolist()
    [[1, 0], [1, 0], [0, 1], [0, 1]]
    """
    return repeat_kv(torch.eye(n_kv_heads)[:, None], n_heads)[:, 0].bool()


def shared(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    n_kv_heads: int,
    how: str,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> AttentionTrace:
    """Attention of query (h, s, k) when only n_kv_heads of the h key-value heads remain: see share.

    >>> ones = torch.ones(4, 3, 2)
    >>> shared(ones, ones, ones, 2, "first").key.shape
    torch.Size([2, 3, 2])
    """
    key, value = (share(own, n_kv_heads, how) for own in (key, value))
    return attention(query, key, value, mask=mask, scale=scale)


def moved(own: AttentionTrace, now: AttentionTrace) -> Moved:
    """How far the weights (h, s, u) move from those where every query head has its own keys.

    >>> query, key = torch.zeros(2, 1, 1), torch.zeros(2, 2, 1)
    >>> moved(attention(query, key, key), attention(query, key[:1], key[:1])).most
    0.0
    """
    change = (now.weights - own.weights).abs()  # (h, s, u)
    seen = ~own.masked.isneginf()
    by_head = change.sum((-2, -1)) / seen.sum((-2, -1)).clamp_min(1)  # (h,)
    return Moved(float(change.max()), float(change.sum() / seen.sum().clamp_min(1)), by_head)


def cache_bytes(sizes: Sizes, n: int) -> int:
    """Bytes of the keys and values of n tokens, in float32.

    >>> cache_bytes(Sizes(d_model=8, d_k=4, d_v=4, n_heads=8, n_kv_heads=2), 6)
    384
    """
    return sum(cost.bytes for cost in costs(sizes, n) if cost.step in ("key", "value"))


def score_multiplications(sizes: Sizes, n: int) -> int:
    """The multiplications of the scores of n tokens: the same, however many key-value heads there are.

    >>> score_multiplications(Sizes(d_model=8, d_k=4, d_v=4, n_heads=8, n_kv_heads=2), 6)
    1152
    """
    return next(cost.multiplications for cost in costs(sizes, n) if cost.step == "scores")


def heads_apart(weights: Tensor) -> float:
    """The largest difference between two heads' weights (h, s, u) in one cell.

    >>> heads_apart(torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]], [[0.75, 0.25]]]))
    0.5
    """
    return float((weights.amax(0) - weights.amin(0)).max())
