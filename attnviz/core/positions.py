"""Positions: what tells token 3 from the same token at place 7."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.core.shapes import check_count


def sinusoidal(n: int, d_model: int) -> Tensor:
    """Waves to be added to X, sin on even features, cos on odd ones: (n, d_model) -> float32 (s, m).

    Features 2i and 2i + 1 of token s are sin and cos of s / 10000^(2i / d_model) radians; an odd d_model ends
    on a sin. Raises ValueError for a negative n or a d_model below 1. Source: Vaswani et al. 2017, section
    3.5.

    >>> [[round(value, 3) for value in row] for row in sinusoidal(2, 4).tolist()]
    [[0.0, 1.0, 0.0, 1.0], [0.841, 0.54, 0.01, 1.0]]
    """
    n, d_model = check_count("n", n), check_count("d_model", d_model, low=1)
    s = torch.arange(n, dtype=torch.float64)[:, None]  # (s, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (i,)
    angle = s / 10000 ** (even / d_model)  # (s, i)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (s, i, 2)
    return waves.flatten(-2)[:, :d_model].to(torch.float32)  # (s, m)
