"""Positions from inside: the four terms of an added position, concatenation as a sum, and RoPE's two layouts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import project
from attnviz.core.counts import projection_parameters
from attnviz.core.positions import Rotary, half_from_interleaved, rotate
from attnviz.labs.positions import largest


class Terms(NamedTuple):
    """The scores of x + p, opened, each (s, u): the first letter of a name is the query's, the second the key's."""

    xx: Tensor  # content with content
    xp: Tensor  # content with position
    px: Tensor  # position with content
    pp: Tensor  # position with position, the same for every text
    total: Tensor  # their sum
    scores: Tensor  # the scores as attention computes them
    apart: float  # the largest difference of the two


class Beside(NamedTuple):
    """Positions concatenated to X instead of added."""

    wide: Tensor  # (s, 2m), content and position side by side
    as_sum: Tensor  # (s, 2m), the same as a sum: (x, 0) + (0, p)
    scores: Tensor  # (s, u), with each weight of the narrow layer twice
    width: int  # 2m
    numbers: int  # in W_Q, W_K and W_V of all heads
    narrow: int  # the same, where positions are added


class Layouts(NamedTuple):
    """The same queries and keys (s, k) rotated in both layouts, and in the half one after their features moved."""

    half: Tensor  # (s, k), the rotated queries
    interleaved: Tensor  # (s, k)
    scores_half: Tensor  # (s, u)
    scores_interleaved: Tensor
    scores_permuted: Tensor  # half, of features in the order half_from_interleaved
    vectors_apart: float  # the largest difference of the rotated queries
    scores_apart: float  # of the scores, from the same queries and keys
    permuted_apart: float  # of the scores, once the features have moved


class Curve(NamedTuple):
    """The score of one query and one key against the distance s - u of their places."""

    distances: Tensor  # (2n - 1,), from 1 - n to n - 1
    scores: Tensor  # (2n - 1,), where the earlier of the two stands at place 0
    spread: float  # by how much scores of one distance differ, at most


def without_places(x: Tensor, typed: Tensor, place: Tensor) -> Tensor:
    """Tokens' own vectors x (s, m); where a number of x + p was typed, what is left of it without p.

    typed (s, m) is NaN where none was.

    >>> without_places(torch.ones(1, 2), torch.tensor([[torch.nan, 5.0]]), torch.tensor([[0.0, 2.0]])).tolist()
    [[1.0, 3.0]]
    """
    return x.where(typed.isnan(), typed - place)  # (s, m)


def four_terms(content: Tensor, place: Tensor, w_q: Tensor, w_k: Tensor) -> Terms:
    """Open the scores of content plus place, both (s, m), into their four terms.

    >>> one = torch.ones(1, 1)
    >>> [float(term) for term in four_terms(2 * one, 3 * one, one, one)[:6]]
    [4.0, 6.0, 6.0, 9.0, 25.0, 25.0]
    """
    queries, keys = ([project(part, weight) for part in (content, place)] for weight in (w_q, w_k))
    xx, xp, px, pp = (query @ key.mT for query in queries for key in keys)  # (s, u) each
    total = xx + xp + px + pp
    both = content + place  # (s, m)
    scores = project(both, w_q) @ project(both, w_k).mT  # (s, u)
    return Terms(xx, xp, px, pp, total, scores, largest(total, scores))


def concatenate(content: Tensor, place: Tensor, w_q: Tensor, w_k: Tensor, *, columns: int) -> Beside:
    """Put positions beside the content instead of adding them; `columns` is how many W_Q, W_K and W_V have together.

    [x, p] is (x, 0) + (0, p). With every weight twice, one above the other, its scores are those of x + p.

    >>> one = torch.ones(1, 1)
    >>> beside = concatenate(2 * one, 3 * one, one, one, columns=3)
    >>> beside.wide.tolist(), float(beside.scores), beside.narrow, beside.numbers
    ([[2.0, 3.0]], 25.0, 3, 6)
    """
    m = content.shape[1]
    nothing = torch.zeros_like(content)
    wide = torch.cat([content, place], dim=-1)  # (s, 2m)
    as_sum = torch.cat([content, nothing], dim=-1) + torch.cat([nothing, place], dim=-1)
    query, key = (project(wide, torch.cat([weight, weight])) for weight in (w_q, w_k))
    narrow, numbers = (projection_parameters(width, 1, columns) for width in (m, 2 * m))
    return Beside(wide, as_sum, query @ key.mT, 2 * m, numbers, narrow)


def layouts(query: Tensor, key: Tensor) -> Layouts:
    """Rotate queries (s, k) and keys (u, k) in both layouts of RoPE; k is even.

    >>> found = layouts(torch.eye(4), torch.eye(4))
    >>> found.permuted_apart < 1e-6 < found.scores_apart
    True
    """
    half, interleaved = Rotary("half"), Rotary("interleaved")
    order = half_from_interleaved(query.shape[-1])
    scores = {rotary: rotate(query, rotary) @ rotate(key, rotary).mT for rotary in (half, interleaved)}  # (s, u)
    permuted = rotate(query[:, order], half) @ rotate(key[:, order], half).mT  # (s, u)
    in_halves, in_pairs = rotate(query, half), rotate(query, interleaved)  # (s, k)
    return Layouts(
        in_halves,
        in_pairs,
        scores[half],
        scores[interleaved],
        permuted,
        largest(in_halves, in_pairs),
        largest(scores[half], scores[interleaved]),
        largest(permuted, scores[interleaved]),
    )


def by_distance(query: Tensor, key: Tensor, n: int, rotary: Rotary) -> Curve:
    """Put one query (k,) and one key (k,) at every two of n places; their scores depend on the distance alone.

    >>> curve = by_distance(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), 3, Rotary())
    >>> curve.distances.tolist(), [round(score, 3) for score in curve.scores.tolist()], curve.spread < 1e-6
    ([-2, -1, 0, 1, 2], [-0.416, 0.54, 1.0, 0.54, -0.416], True)
    """
    scores = rotate(query.expand(n, -1), rotary) @ rotate(key.expand(n, -1), rotary).mT  # (s, u)
    one = torch.cat([scores[0].flip(0), scores[1:, 0]])  # (2n - 1,), of distances 1 - n to n - 1
    s = torch.arange(n)
    spread = (scores - one[s[:, None] - s + n - 1]).abs().max()  # from the first pair of each distance
    return Curve(torch.arange(1 - n, n), one, float(spread))
