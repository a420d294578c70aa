"""What an array of a file is: query, key, value, mask, weights, output or tokens, guessed from its name and numbers."""

from __future__ import annotations

import re
from typing import Literal, get_args

import torch
from torch import Tensor

Role = Literal["query", "key", "value", "mask", "weights", "output", "tokens", "other"]
ROLES: tuple[Role, ...] = get_args(Role)
_NAMES: tuple[tuple[Role, str], ...] = (  # in this order: attention_mask is a mask, attn_output an output
    ("mask", r"mask|bias"),
    ("output", r"out|outputs?|o|context|ctx|result|y"),
    ("weights", r"weights?|w|a|p|attns?|attentions?|probs?|scores?|map|maps"),
    ("query", r"q|query|queries|qs"),
    ("key", r"k|key|keys|ks"),
    ("value", r"v|value|values|vs"),
    ("tokens", r"tokens?|ids|labels"),
)
_OTHER = re.compile(r"\.weight$|\.bias$|proj")  # a model's parameters, whose names sound alike


def guess(name: str, x: Tensor) -> Role:
    """Guess what an array is; "other" where nothing speaks for a role. A guess: let people correct it.

    >>> guess("layer0.attn_weights", torch.zeros(2, 2)), guess("attention_mask", torch.zeros(1, 4))
    ('weights', 'mask')
    >>> guess("array", torch.tensor([[0.5, 0.5], [1.0, 0.0]])), guess("x", torch.ones(2, 3).bool())
    ('weights', 'mask')
    """
    words = set(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    if not _OTHER.search(name.lower()):
        for role, pattern in _NAMES:
            if any(re.fullmatch(pattern, word) for word in words):
                return role
    if x.dtype == torch.bool:
        return "mask"
    return "weights" if _sums_to_one(x) else "other"


def _sums_to_one(x: Tensor) -> bool:
    """Whether it looks like weights: no number below 0, and the rows sum to 1 but for those that are NaN or 0."""
    if x.ndim < 2 or not x.is_floating_point() or not x.numel() or x.shape[-1] < 2:
        return False
    sums = x[..., :64, :].float().sum(dim=-1)
    odd = sums.isnan() | (sums == 0)
    return bool(((sums - 1).abs() < 0.02).logical_or(odd).all()) and not odd.all() and not bool((x < 0).any())
