"""Tensors and masks for the tests of pooling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnviz.core import masks

KINDS = ["none", "causal", "bool", "float", "keys", "heads", "nowhere", "rows", "added"]


def draw(*shapes: tuple[int, ...], seed: int = 0, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]


def mask_of(kind: str, heads: int, n_query: int, n_key: int, seed: int) -> Tensor | None:
    """A mask of a kind; "causal" is the whole bool matrix, for the reference."""
    (noise,) = draw((heads, n_query, n_key), seed=seed + 1)
    return {
        "none": None,
        "causal": masks.causal(n_query, n_key),
        "bool": noise[0] > -0.3,
        "float": noise[0].masked_fill(noise[0] < -0.5, -torch.inf),
        "keys": noise[0, 0] > 0,
        "heads": noise > -0.3,
        "rows": noise[0] > 0.2,
        "added": noise[0].masked_fill(noise[0] < -0.5, -torch.inf),
        "nowhere": (noise > -0.3) & (torch.arange(n_query) % 3 > 0)[:, None],
    }[kind]


def asked_as(kind: str, mask: Tensor | None) -> Any:
    """The mask as it is handed over: by its name, whole, or as a function that gives some of its rows."""
    if kind == "causal":
        return "causal"
    if kind in ("rows", "added"):
        assert mask is not None
        return lambda first, end: mask[first:end]
    return mask
