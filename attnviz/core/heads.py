"""Heads: one wide projection seen as several narrow ones, and key heads shared by groups of query heads."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from attnviz.core.shapes import check_count, check_shape


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """See the last axis as heads and move them to axis -3, without a copy: (..., s, h*k) -> (..., h, s, k).

    Head h owns the features h*k to (h + 1)*k - 1. Raises ValueError when n_heads does not divide the
    features. Source: Vaswani et al. 2017, section 3.2.2.

    >>> import torch
    >>> split_heads(torch.tensor([[0, 1, 2, 3]]), 2).tolist()
    [[[0, 1]], [[2, 3]]]
    """
    check_shape("x", x, "... s h*k")
    n_heads = check_count("n_heads", n_heads, low=1)
    n_features = x.shape[-1]
    if n_features % n_heads:
        raise ValueError(f"n_heads: expected a divisor of the {n_features} features of x, got {n_heads}")
    x = x.unflatten(-1, (n_heads, n_features // n_heads))  # (..., s, h, k)
    return x.transpose(-3, -2)  # (..., h, s, k)


def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side, the inverse of split_heads: (..., h, s, k) -> (..., s, h*k).

    >>> import torch
    >>> merge_heads(torch.tensor([[[0, 1]], [[2, 3]]])).tolist()
    [[0, 1, 2, 3]]
    """
    check_shape("x", x, "... h s k")
    x = x.transpose(-3, -2)  # (..., s, h, k)
    return x.flatten(-2)  # (..., s, h*k)


def repeat_kv(x: Tensor, n_heads: int) -> Tensor:
    """Repeat each key or value head for its group of query heads: (..., h_kv, u, k) -> (..., h, u, k).

    Query head h reads key head h // (n_heads // n_kv_heads): with 6 query heads on 2 key heads, query heads
    0, 1, 2 read key head 0 and 3, 4, 5 read key head 1. Raises ValueError when n_heads is no multiple of
    h_kv. Source: Ainslie et al. 2023 (grouped-query attention).

    >>> import torch
    >>> repeat_kv(torch.tensor([[[1]], [[2]]]), 4).flatten().tolist()
    [1, 1, 2, 2]
    """
    check_shape("x", x, "... h_kv u k")
    n_heads = check_count("n_heads", n_heads, low=1)
    n_kv_heads = x.shape[-3]
    if n_kv_heads == 0 or n_heads % n_kv_heads:
        raise ValueError(f"n_heads: expected a multiple of the {n_kv_heads} heads of x, got {n_heads}")
    if n_heads == n_kv_heads:
        return x
    return x.repeat_interleave(n_heads // n_kv_heads, dim=-3)  # (..., h, u, k)


def for_heads_of(query: Tensor, x: Tensor) -> Tensor:
    """Key or value x, its heads repeated to be as many as query has: (..., h_kv, u, k) -> (..., h, u, k).

    x itself where the heads are as many, where one serves all and broadcasts, or where they do not divide.

    >>> import torch
    >>> for_heads_of(torch.ones(4, 1, 1), torch.tensor([[[1]], [[2]]])).flatten().tolist()
    [1, 1, 2, 2]
    """
    asked, read = query.shape[:-2], x.shape[:-2]
    leading = read if asked == read else shared_by(asked, read)
    return x if leading == read else repeat_kv(x, leading[-1])


def shared_by(asked: Sequence[int], read: Sequence[int]) -> Sequence[int]:
    """The leading axes of keys or values, whose last are the heads, once for_heads_of has repeated these.

    >>> shared_by((2, 6), (2, 3)), shared_by((2, 6), (2, 1))
    ((2, 6), (2, 1))
    """
    if asked and read and 1 < read[-1] < asked[-1] and asked[-1] % read[-1] == 0:
        return (*read[:-1], asked[-1])
    return read
