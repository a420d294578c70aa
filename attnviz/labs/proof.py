"""What a weight proves: weights beside what they carry, and beside what the output loses without them.

All functions take one head of one sequence: masked scores and weights (s, u), values (u, d).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.labs.softmax import over_axis

# Numbers that agree to a millionth of the largest are a tie: the same token twice has the same weight but for rounding.
TIE = 1e-6


class Knocked(NamedTuple):
    """Attention after an edge or a token was knocked out."""

    weights: Tensor  # (s, u), each row shared out anew; 0 where nothing is left
    output: Tensor  # (s, d)
    moved: Tensor  # (s,) how far each row's output moved, ||o - o'||


class Ranking(NamedTuple):
    """Some numbers of each key, or of each row, beside their ranks; both (statistic, n)."""

    values: Tensor
    ranks: Tensor  # 1 the largest; those that tie share the mean of their ranks


def knock_out(masked: Tensor, value: Tensor, s: int, u: int, what: str) -> Knocked:
    """Hide key u from row s ("edge"), or from every row ("token"); the softmax shares each row out anew.

    >>> masked, value = torch.zeros(2, 2), torch.tensor([[0.0], [4.0]])
    >>> knock_out(masked, value, 0, 1, "edge").output.tolist()
    [[0.0], [2.0]]
    >>> knock_out(masked, value, 0, 1, "token").moved.tolist()
    [2.0, 2.0]
    """
    hidden = masked.clone()
    rows = {"edge": slice(s, s + 1), "token": slice(None)}[what]
    hidden[rows, u] = -torch.inf
    weights = over_axis(hidden, "u")  # (s, u)
    output = weights @ value  # (s, d)
    before = over_axis(masked, "u") @ value  # (s, d)
    return Knocked(weights, output, torch.linalg.vector_norm(output - before, dim=-1))


def movement(masked: Tensor, value: Tensor) -> Tensor:
    """How far the output of row s moves when the edge (s, u) alone is knocked out, of every edge: (s, u).

    Shared out anew, the other weights grow by 1 / (1 - a), so that o - o' = a / (1 - a) (v_u - o). The largest weight
    of a row may be all but 1, where that loses its digits: its edge is knocked out in earnest.

    >>> movement(torch.zeros(1, 2), torch.tensor([[0.0], [4.0]])).tolist()
    [[2.0, 2.0]]
    """
    masked, value = masked.double(), value.double()
    weights = over_axis(masked, "u")  # (s, u)
    output = weights @ value  # (s, d)
    far = torch.cdist(output, value, compute_mode="donot_use_mm_for_euclid_dist")  # (s, u)
    highest = weights.argmax(dim=-1, keepdim=True)  # (s, 1)
    others = weights.scatter(-1, highest, 0.0)  # at most 0.5 each
    moved = others / (1 - others) * far  # (s, u)
    rest = over_axis(masked.scatter(-1, highest, -torch.inf), "u") @ value  # (s, d)
    return moved.scatter(-1, highest, torch.linalg.vector_norm(output - rest, dim=-1, keepdim=True)).float()


def along(weights: Tensor, value: Tensor) -> Tensor:
    """How far each weighted value reaches in the direction of its row's output: a v_u . o / ||o||, (s, u).

    A row sums to ||o||; it is 0 where the output is 0.

    >>> along(torch.tensor([[0.5, 0.5]]), torch.tensor([[3.0, 2.0], [3.0, -2.0]])).tolist()
    [[1.5, 1.5]]
    """
    output = weights @ value  # (s, d)
    length = torch.linalg.vector_norm(output, dim=-1, keepdim=True)  # (s, 1)
    direction = torch.where(length == 0, 0.0, output / length)  # (s, d)
    return weights * (direction @ value.mT)  # (s, u)


def by_weight(masked: Tensor, weights: Tensor, s: int) -> Tensor:
    """The keys that row s may see, those of the highest weight first: (at most u,).

    >>> by_weight(torch.tensor([[0.0, 1.0, -torch.inf]]), torch.tensor([[0.27, 0.73, 0.0]]), 0).tolist()
    [1, 0]
    """
    order = weights[s].argsort(descending=True, stable=True)
    return order[~masked[s, order].isneginf()]


def misled(weights: Tensor, moved: Tensor) -> Tensor:
    """Say of each row (s, u) whether its highest weight is not the largest movement: bool (s,).

    >>> misled(torch.tensor([[0.6, 0.4], [0.6, 0.4]]), torch.tensor([[1.0, 2.0], [2.0, 1.0]])).tolist()
    [True, False]
    """
    highest = weights >= weights.amax(dim=-1, keepdim=True) * (1 - TIE)  # (s, u), several where they tie
    its_movement = moved.masked_fill(~highest, 0.0).amax(dim=-1)  # (s,)
    return its_movement < moved.amax(dim=-1) * (1 - TIE)


def ranks(values: Tensor) -> Tensor:
    """The rank of each of n numbers from 1, the smallest; those that tie share the mean of their ranks: (..., n).

    >>> ranks(torch.tensor([0.2, 0.9, 0.2])).tolist()
    [1.5, 3.0, 1.5]
    """
    apart = values[..., :, None] - values[..., None, :]  # (..., n, n)
    tie = apart.abs() <= TIE * values.abs().amax(dim=-1)[..., None, None]
    below = ((apart > 0) & ~tie).sum(dim=-1)
    return below + (tie.sum(dim=-1) + 1) / 2


def ranking(statistics: Sequence[Tensor], shown: Tensor) -> Ranking:
    """Pick the numbers at `shown` (n,) of each statistic (u,), and rank them.

    >>> ranking([torch.tensor([0.2, 0.5, 0.3])], torch.tensor([1, 0])).ranks.tolist()
    [[1.0, 2.0]]
    """
    values = torch.stack([one[shown] for one in statistics])  # (statistic, n)
    return Ranking(values, len(shown) + 1 - ranks(values))


def rank_correlation(x: Tensor, y: Tensor) -> float | None:
    """Spearman's rank correlation of two rows of n numbers: 1 the same order, -1 the opposite one.

    None where there is no order to compare: of fewer than two numbers, of numbers that all tie, or of NaN.
    Source: Spearman 1904; with ties it is the correlation of the mean ranks.

    >>> rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]))
    0.5
    """
    if len(x) < 2 or not (x.isfinite().all() and y.isfinite().all()):
        return None
    a, b = (ranks(row).double() - (len(row) + 1) / 2 for row in (x, y))
    size = float(a.norm() * b.norm())
    return round(float(a @ b) / size, 12) if size else None  # so that the same order is 1
