"""Scale: what 1/sqrt(d_k), 1/d_k and no scale make of rows of scores, drawn at random or a reader's own."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.statistics import entropy
from attnviz.labs.softmax import over_axis

SCALINGS = ("none", "sqrt", "d_k")  # Experiment's codes, in the order of every axis of scalings below
SIZES = tuple(2**i for i in range(10))  # d_k from 1 to 512, the most that limits lets one draw
SHARES = (0.1, 0.5, 0.9)  # of the rows: what lies between the first and the last is the middle 80%
MOST = 200_000  # scores drawn for one d_k: rows of many keys are much alike, and fewer of them tell as much


class Rows(NamedTuple):
    """What becomes of rows of scores (..., s, u), one number a row."""

    spread: Tensor  # (...) standard deviation of the scaled scores that the row may see
    largest: Tensor  # (...) weight
    entropy: Tensor  # (...) of the weights, in nats
    gradient: Tensor  # (...) Frobenius norm of the softmax's Jacobian


class Draws(NamedTuple):
    """What becomes of rows drawn at random, for each scaling and each d_k; the last three at SHARES of the rows."""

    spread: Tensor  # (scaling, size) standard deviation of all scaled scores together
    largest: Tensor  # (share, scaling, size)
    entropy: Tensor  # (share, scaling, size)
    gradient: Tensor  # (share, scaling, size)


def factors(d_k: int, temperature: float = 1.0) -> Tensor:
    """What each scaling multiplies the scores by: float64 (scaling,).

    >>> factors(16).tolist()
    [1.0, 0.25, 0.0625]
    """
    return torch.tensor([1.0, d_k**-0.5, 1 / d_k], dtype=torch.float64) / temperature


def by_each(scores: Tensor, d_k: int, temperature: float = 1.0) -> Tensor:
    """Scores as each scaling leaves them, in their dtype: (...) -> (scaling, ...).

    >>> by_each(torch.tensor([4.0, -4.0]), 16).tolist()
    [[4.0, -4.0], [1.0, -1.0], [0.25, -0.25]]
    """
    factor = factors(d_k, temperature).to(scores.dtype)  # (scaling,)
    return scores * factor.view(-1, *[1] * scores.ndim)  # (scaling, ...)


def gradient(weights: Tensor) -> Tensor:
    """How far weights move when their scores do: |diag(a) - a a^T|, the Frobenius norm, (..., u) -> (...).

    This is the Jacobian of the softmax: d a_i / d x_j = a_i (1 if i = j else 0) - a_i a_j. A row that may attend
    nowhere has 0. Source: Vaswani et al. 2017, section 3.2.1, on why its scores are scaled.

    >>> gradient(torch.tensor([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.5, 0.0]
    """
    # Row i of the Jacobian has the square a_i^2 ((1 - a_i)^2 + sum of the other a_j^2). Near a weight of 1, 1 - a_i and
    # sum a_j^2 - a_i^2 would keep no digit, so there both are summed from the others.
    largest, at = weights.max(dim=-1, keepdim=True)  # (..., 1)
    others = weights.scatter(-1, at, 0)  # (..., u)
    squares = others.square()
    of_largest = largest.square() * (others.sum(-1, keepdim=True).square() + squares.sum(-1, keepdim=True))
    whole = largest.square() + squares.sum(-1, keepdim=True)
    of_others = (squares * ((1 - others).square() + whole - squares)).sum(-1, keepdim=True)
    return (of_largest + of_others).sqrt()[..., 0]


def rows(masked: Tensor) -> Rows:
    """What becomes of rows of scaled scores (..., s, u), -inf where hidden.

    >>> [round(float(number), 4) for number in rows(torch.tensor([[1.0, -1.0, -torch.inf]]))]
    [1.0, 0.8808, 0.3653, 0.21]
    """
    weights = over_axis(masked, "u")  # (..., u)
    seen = ~masked.isneginf()
    n_seen = seen.sum(-1, keepdim=True).clamp_min(1)
    mean = masked.where(seen, 0).sum(-1, keepdim=True) / n_seen
    spread = ((masked - mean).where(seen, 0).square().sum(-1, keepdim=True) / n_seen).sqrt()[..., 0]
    return Rows(spread, weights.amax(-1), entropy(weights), gradient(weights))


def own(
    scores: Tensor, d_k: int, *, seen: Tensor | None = None, bias: Tensor | None = None, temperature: float = 1.0
) -> Rows:
    """What each scaling makes of one row of scores (u,), in its dtype: each (scaling,).

    seen: (u,), True = may attend; bias: (u,), added to the scaled scores, as ALiBi is.

    >>> own(torch.tensor([4.0, -4.0]), 16).spread.tolist()
    [4.0, 1.0, 0.25]
    """
    scaled = by_each(scores, d_k, temperature)  # (scaling, u)
    if bias is not None:
        scaled = scaled + bias
    return rows(scaled if seen is None else scaled.masked_fill(~seen, -torch.inf))


def n_rows(n_keys: int, draws: int) -> int:
    """How many rows are drawn where `draws` are asked for.

    >>> n_rows(6, 2000), n_rows(512, 2000)
    (2000, 390)
    """
    return min(draws, MOST // n_keys)


def drawn(d_k: int, n_keys: int, draws: int, seed: int) -> Tensor:
    """Rows of scores of queries and keys drawn standard normal, not scaled: float64 (row, u).

    Each n_keys rows are a random sequence of n_keys tokens: their queries are independent, and read the same keys. A
    larger d_k begins with the features of the smaller, and more draws with the fewer.

    >>> torch.equal(drawn(4, 3, 20, seed=0)[:10], drawn(4, 3, 10, seed=0))
    True
    """
    query, key = _vectors(n_keys, n_rows(n_keys, draws), seed)
    scores = torch.einsum("gsk,guk->gsu", query[..., :d_k], key[..., :d_k])
    return scores.flatten(0, 1)[: n_rows(n_keys, draws)]  # (row, u)


@lru_cache(maxsize=32)
def averages(n_keys: int, draws: int, seed: int, *, temperature: float = 1.0) -> Draws:
    """What each scaling makes of rows of n_keys scores drawn at random, at each of SIZES.

    >>> averages(6, 200, seed=0).spread[:, -1].round(decimals=1).tolist()
    [23.0, 1.0, 0.0]
    """
    spreads, made = [], []
    for d_k in SIZES:
        scaled = by_each(drawn(d_k, n_keys, draws, seed), d_k, temperature)  # (scaling, row, u)
        spreads.append(scaled.flatten(1).std(-1, correction=0))
        weights = torch.softmax(scaled, dim=-1)  # (scaling, row, u)
        made.append(torch.stack([weights.amax(-1), entropy(weights), gradient(weights)]))  # (statistic, scaling, row)
    shares = torch.tensor(SHARES, dtype=torch.float64)
    at = torch.stack(made, dim=-2).quantile(shares, dim=-1)  # (share, statistic, scaling, size)
    return Draws(torch.stack(spreads, dim=-1), *at.unbind(1))


def histogram(values: Tensor, low: float, high: float, bins: int) -> tuple[Tensor, Tensor]:
    """The middle of each of so many bins, and the share of the values in it; both (bin,).

    >>> [part.tolist() for part in histogram(torch.tensor([0.1, 0.2, 0.9, 1.0]).double(), 0, 1, 2)]
    [[0.25, 0.75], [0.5, 0.5]]
    """
    counts, edges = torch.histogram(values.flatten(), bins, range=(low, high))
    return (edges[1:] + edges[:-1]) / 2, counts / values.numel()


@lru_cache(maxsize=2)
def _vectors(n_keys: int, n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Queries and keys of whole sequences, for at least n rows: float64 (g, s, k) and (g, u, k).

    In float64, which every CPU draws alike, as in core.embeddings.
    """
    n_sequences = -(-n // n_keys)
    size = (n_sequences, n_keys, SIZES[-1])
    query, key = (
        torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed((2 * seed + i) % 2**32))
        for i in range(2)
    )
    return query, key
