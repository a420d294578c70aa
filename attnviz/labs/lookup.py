"""Attention as a look-up table: one-hot keys, numbers for values, and a temperature that softens the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import attention


class Lookup(NamedTuple):
    """One question to a table of n rows; its one query token is the row axis of length 1."""

    query: Tensor  # (1, k=n) one-hot: 1 at the row that is asked for
    keys: Tensor  # (u=n, k=n) one-hot: each row has a direction of its own
    values: Tensor  # (u=n, d=1) the numbers 1 to n
    weights: Tensor  # (1, u=n)
    output: Tensor  # (1, d=1)


class Curve(NamedTuple):
    """How the weight of the row that is asked for falls with the temperature; each tensor is (t,)."""

    temperatures: Tensor  # in float64
    by_formula: Tensor  # in float64
    by_torch: Tensor


def look_up(n: int, row: int, temperature: float) -> Lookup:
    """Ask a table of n rows for one of them, counted from 0.

    >>> look_up(3, row=1, temperature=0.01).output.tolist()
    [[2.0]]
    """
    keys = torch.eye(n)  # (u, k)
    values = torch.arange(1.0, n + 1)[:, None]  # (u, d)
    query = keys[row : row + 1]  # (1, k)
    trace = attention(query, keys, values, scale=1 / temperature)
    return Lookup(query, keys, values, trace.weights, trace.output)


def weight_curve(n: int, temperatures: Sequence[float]) -> Curve:
    """The weight of the row that is asked for at each temperature, twice.

    >>> [round(float(column[0]), 4) for column in weight_curve(3, [1.0])]  # e / (e + 1 + 1)
    [1.0, 0.5761, 0.5761]
    """
    at = torch.tensor(temperatures, dtype=torch.float64)
    return Curve(at, weights_by_formula(n, temperatures), weights_by_torch(n, temperatures))


def weights_by_formula(n: int, temperatures: Sequence[float]) -> Tensor:
    """The weight of the row that is asked for at each temperature (t,): its score is 1, the n - 1 others have 0.

    >>> weights_by_formula(3, [0.01]).tolist()
    [1.0]
    """
    others = (n - 1) * torch.exp(-1 / torch.tensor(temperatures, dtype=torch.float64))  # (t,)
    return 1 / (1 + others)


def weights_by_torch(n: int, temperatures: Sequence[float]) -> Tensor:
    """The same weight at each temperature (t,), as torch's softmax gives it.

    >>> weights_by_torch(4, [0.01]).tolist()
    [1.0]
    """
    scores = torch.zeros(n)
    scores[0] = 1.0  # which row is asked for makes no difference
    return torch.softmax(scores / torch.tensor(temperatures)[:, None], dim=-1)[:, 0]  # (t, u) -> (t,)
