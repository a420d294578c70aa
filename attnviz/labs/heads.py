"""Heads: one projection cut into several, a second text that is read, and averages of maps."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace, project
from attnviz.core.heads import split_heads
from attnviz.core.multi_head import multi_head
from attnviz.core.rotary import Rotary
from attnviz.labs.softmax import over_axis


class Opposite(NamedTuple):
    """Two heads that prefer opposite keys; each tensor is (s, u)."""

    first: Tensor  # the weights of the head that prefers the keys with the higher scores
    second: Tensor  # those of the head that prefers the others
    mean: Tensor  # of the two


def cut(x: Tensor, weight: Tensor, n_heads: int) -> Tensor:
    """Project once and cut the result into heads: x (b, s, m), weight (m, h*k) -> (b, h, s, k).

    >>> cut(torch.eye(2)[None], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2).tolist()
    [[[[1.0], [3.0]], [[2.0], [4.0]]]]
    """
    return split_heads(project(x, weight), n_heads)


def one_einsum(x: Tensor, weight: Tensor, n_heads: int) -> Tensor:
    """The same as one einsum, with the weight seen as (m, h, k): x (b, s, m) -> (b, h, s, k).

    >>> one_einsum(torch.eye(2)[None], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2).tolist()
    [[[[1.0], [3.0]], [[2.0], [4.0]]]]
    """
    return torch.einsum("bsm,mhk->bhsk", x, weight.unflatten(-1, (n_heads, -1)))


def one_by_one(x: Tensor, weight: Tensor, n_heads: int) -> Tensor:
    """The same with a matrix (m, k) for each head, columns h*k to (h + 1)*k - 1: x (b, s, m) -> (b, h, s, k).

    >>> one_by_one(torch.eye(2)[None], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2).tolist()
    [[[[1.0], [3.0]], [[2.0], [4.0]]]]
    """
    k = weight.shape[-1] // n_heads
    return torch.stack([x @ weight[:, h * k : (h + 1) * k] for h in range(n_heads)], dim=1)


def by_view(projected: Tensor, n_heads: int) -> Tensor:
    """The mistake: the right shape without the transpose, (b, s, h*k) -> (b, h, s, k), which mixes tokens.

    >>> by_view(torch.tensor([[[1, 2], [3, 4]]]), 2).tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    b, s, features = projected.shape
    return projected.contiguous().view(b, n_heads, s, features // n_heads)


def came_from(n: int, n_heads: int) -> Tensor:
    """The token (from 0) from which each row of by_view's heads comes: int64 (h, s).

    >>> came_from(4, 2).tolist()
    [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    numbers = torch.arange(n)[:, None].expand(n, n_heads)  # (s, h*k) with k = 1: each token's features are its number
    return by_view(numbers[None], n_heads)[0, :, :, 0]  # (h, s)


def apart(left: Tensor, right: Tensor) -> float:
    """The largest difference between the cells of two tensors of one shape; two that are both infinite do not differ.

    >>> apart(torch.tensor([1.0, torch.inf]), torch.tensor([1.5, torch.inf]))
    0.5
    """
    return float((left - right).abs().masked_fill(left == right, 0).max())


def cross(
    x: Tensor,
    context: Tensor,
    *,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    n_heads: int,
    n_kv_heads: int,
    scale: float,
    rotary: Rotary | None = None,
) -> AttentionTrace:
    """Let the tokens of x (s, m) read those of context (u, m): queries from the one, keys and values from the other.

    >>> eye = torch.eye(2)
    >>> cross(eye, torch.ones(3, 2), w_q=eye, w_k=eye, w_v=eye, n_heads=1, n_kv_heads=1, scale=1.0).weights.shape
    torch.Size([1, 2, 3])
    """
    heads = multi_head(
        x,
        context,
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        scale=scale,
        rotary=rotary,
    )
    return heads.trace


def opposite(masked: Tensor, sharpness: float) -> Opposite:
    """Make two heads of the scores (s, u) of one: each prefers the half of a row's keys that the other does not.

    One scores the upper half +sharpness and the lower -sharpness, the other the reverse. The key in the middle of an
    odd number gets ln cosh(sharpness) from both, the score whose weight is 1/u. The mean is flat, whatever the
    sharpness: (e^c + e^-c) / 2 is the same for all.

    >>> opposite(torch.tensor([[5.0, 1.0]]), 200.0)
    Opposite(first=tensor([[1., 0.]]), second=tensor([[0., 1.]]), mean=tensor([[0.5000, 0.5000]]))
    """
    seen = ~masked.isneginf()  # (s, u)
    n_seen = seen.sum(-1, keepdim=True)  # (s, 1)
    rank = masked.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)  # 0 for the highest; hidden keys last
    upper, lower = rank < n_seen // 2, rank >= n_seen - n_seen // 2
    middle = sharpness + math.log1p(math.exp(-2 * sharpness)) - math.log(2)
    scores = torch.full(masked.shape, middle).masked_fill(upper, sharpness).masked_fill(lower, -sharpness)
    turned = torch.full(masked.shape, middle).masked_fill(upper, -sharpness).masked_fill(lower, sharpness)
    first, second = (over_axis(one.masked_fill(~seen, -math.inf), "u") for one in (scores, turned))
    return Opposite(first, second, (first + second) / 2)


def averaged(weights: Tensor) -> Tensor:
    """The mean of the maps of all heads: (h, s, u) -> (s, u).

    >>> averaged(torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])).tolist()
    [[0.5, 0.5]]
    """
    return weights.mean(0)
