"""Softmax: over which axis, with dropout after it, and what the plain formula does where numbers end."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

VISIBLE = 5e-5  # an error of a weight from here on shows in four decimals


class Row(NamedTuple):
    """One row of scores on its way to weights, by the plain formula and by the safe one; each tensor is (u,)."""

    scores: Tensor
    plain_exponentials: Tensor  # exp(x): above 88.7 it is more than float32 can hold, below -104 it is 0
    plain_total: float  # their sum
    plain_weights: Tensor  # exp(x) / sum of exp(x)
    plain_error: float  # by how much these are wrong, at most; NaN where they are
    highest: float  # the largest score
    exponentials: Tensor  # exp(x - highest); 0 in a row of -inf alone, where that would be NaN
    total: float  # the sum of these
    weights: Tensor  # torch's softmax, which subtracts the largest score first; 0 in a row of -inf alone


def over_axis(masked: Tensor, axis: str) -> Tensor:
    """Softmax of the scores (..., s, u) over "u", as attention does it, or over "s"; 0 where all are hidden.

    >>> over_axis(torch.zeros(2, 4), "s").tolist()
    [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]]
    """
    dim = {"u": -1, "s": -2}[axis]
    nowhere = masked.isneginf().all(dim=dim, keepdim=True)
    return torch.softmax(masked.masked_fill(nowhere, 0), dim=dim).masked_fill(nowhere, 0)  # (..., s, u)


def dropped(weights: Tensor, share: float, *, training: bool, seed: int) -> Tensor:
    """Dropout of the weights (..., s, u): in training a share becomes 0 and the rest is divided by 1 - share.

    Outside training nothing changes. The same seed drops the same weights, on every machine. Source: Srivastava et
    al. 2014, section 10, as torch.nn.functional.dropout does it.

    >>> dropped(torch.ones(1, 4), 0.5, training=False, seed=0).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    >>> sorted(set(dropped(torch.ones(8, 8), 0.5, training=True, seed=0).flatten().tolist()))
    [0.0, 2.0]
    """
    if not training:
        return weights
    # Not torch's own: that draws from the one generator of the process, which other sessions use at the same time.
    generator = torch.Generator().manual_seed(seed)
    kept = torch.rand(weights.shape, dtype=torch.float64, generator=generator) >= share  # (..., s, u)
    return weights * (kept.to(weights.dtype) / (1 - share))


def row_sums(weights: Tensor, attention: Tensor, length: int) -> tuple[float, float]:
    """The least and the greatest sum of a row of weights (s, u), of the first `length` rows.

    Rows that may attend nowhere do not count: those that are 0 in the weights of attention, (s, u). 0 and 0 where none
    is left.

    >>> row_sums(torch.tensor([[0.5, 0.0], [0.5, 1.0], [0.0, 0.0]]), torch.tensor([[1.0, 0], [0, 1], [0, 0]]), 3)
    (0.5, 1.5)
    """
    counted = weights.sum(-1)[:length][attention.sum(-1)[:length] > 0]
    return (float(counted.min()), float(counted.max())) if counted.numel() else (0.0, 0.0)


def row(masked: Tensor, shift: float = 0.0) -> Row:
    """The parts of the softmax of one row of scores (u,), to each of which `shift` is added.

    >>> row(torch.tensor([0.0, 0.0]), shift=100).plain_weights.tolist()
    [nan, nan]
    """
    scores = masked + shift  # (u,)
    plain = scores.exp()
    plain_weights = plain / plain.sum()
    weights = over_axis(scores[None], "u")[0]
    highest = scores.max()
    exponentials = torch.zeros_like(scores) if highest == -torch.inf else (scores - highest).exp()
    return Row(
        scores,
        plain,
        float(plain.sum()),
        plain_weights,
        float((plain_weights - weights).abs().max()),
        float(highest),
        exponentials,
        float(exponentials.sum()),
        weights,
    )


def failure(parts: Row) -> str:
    """Say what is wrong with the plain formula for a row: a code, "" for nothing.

    "hidden": all scores are -inf. "infinite": one is inf or NaN, and the safe formula gives NaN as well. "overflow":
    an exponential is inf. "sum": only their sum is. "underflow": all are 0. "digits": they have lost so many digits
    that a weight is off by VISIBLE or more.

    >>> failure(row(torch.tensor([1.0, 2.0]))), failure(row(torch.tensor([1.0, 2.0]), shift=-1000))
    ('', 'underflow')
    """
    exponentials = parts.plain_exponentials
    if parts.highest == -torch.inf:
        return "hidden"
    if not bool(parts.weights.isfinite().all()):
        return "infinite"
    if bool(exponentials.isinf().any()):
        return "overflow"
    if parts.plain_total == torch.inf:
        return "sum"
    if not bool(exponentials.any()):
        return "underflow"
    return "digits" if parts.plain_error >= VISIBLE else ""
