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


def weight_by_formula(n: int, temperature: float) -> float:
    """The weight of the row that is asked for: its score is 1, the n - 1 others have 0.

    >>> round(weight_by_formula(3, 1.0), 4)  # e / (e + 1 + 1)
    0.5761
    """
    others = (n - 1) * torch.exp(torch.tensor(-1 / temperature, dtype=torch.float64))
    return float(1 / (1 + others))


def weights_by_torch(n: int, temperatures: Sequence[float]) -> Tensor:
    """The same weight at each temperature (t,), as torch's softmax gives it.

    >>> weights_by_torch(4, [0.01]).tolist()
    [1.0]
    """
    scores = torch.zeros(n)
    scores[0] = 1.0  # which row is asked for makes no difference
    return torch.softmax(scores / torch.tensor(temperatures)[:, None], dim=-1)[:, 0]  # (t, u) -> (t,)
