"""Statistics of an attention map: where a head looks, in one number a row.

Letters: b batch, h head, s query token (the row that reads), u key token (the column that is read). Here are
those that need the weights alone; repeats.py has those that need the tokens, influence.py those that need the
values or several layers. All can be imported from here.

All take weights (..., s, u) as attention leaves them. Nothing is renormalised, and a row of zeros, which may
attend nowhere, gets 0, never NaN. dtype and device are kept: half precision is computed in float32 and rounded
once, at the end. `offset` is that of masks.py: query s stands at key s + offset.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.core.influence import contribution, rollout
from attnviz.core.repeats import duplicate_token_mass, induction_mass, score, seen_before
from attnviz.core.shapes import broadcast, check_count, check_floating, check_shape, check_whole, widened

__all__ = [
    "contribution",
    "duplicate_token_mass",
    "effective_tokens",
    "entropy",
    "entropy_share",
    "induction_mass",
    "mean_distance",
    "previous_token_mass",
    "rollout",
    "score",
    "seen_before",
    "sink_mass",
]


def entropy(weights: Tensor) -> Tensor:
    """How spread each row is, in nats: -sum_u a ln a, (..., s, u) -> (..., s).

    0 when one key has all the weight, ln n when n keys share it evenly. The slope at a weight of 0 is infinite;
    the gradient has there that of the smallest normal number, 87 in float32. Raises ValueError for a weight
    below 0 (scores are no weights), TypeError for a dtype that is not floating.
    Source: Shannon 1948, section 6; of attention: Clark et al. 2019 (What does BERT look at?), section 3.3.

    >>> entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
    tensor([0.6931, 0.0000])
    """
    return _entropy(weights).to(weights.dtype)


def entropy_share(weights: Tensor, mask: Tensor | None = None) -> Tensor:
    """The entropy as a share of the highest that the row can have: H / ln n, (..., s, u) -> (..., s).

    n is how many keys the row may see: all without a mask, so that a causal map wants its mask. 1 is even, 0 is
    one key alone; 0 too where there are less than two. mask: as attention's, bool (True = may attend) or floating
    (added; -inf or the lowest number of its dtype hides), broadcast to (..., s, u).
    Raises ValueError for a mask's shape and a weight below 0, TypeError for dtypes.
    Source: Pielou 1966 (evenness).

    >>> weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    >>> entropy_share(weights, torch.tensor([[True, False], [True, True]]))
    tensor([0., 1.])
    """
    spread = _entropy(weights)  # (..., s)
    n_keys = weights.shape[-1]
    n_seen = torch.full((), n_keys, device=weights.device)
    if mask is not None:
        seen = _seen(mask, weights)
        n_seen = seen.expand(*seen.shape[:-1], n_keys).sum(dim=-1)  # broadcasts to (..., s)
    highest = n_seen.clamp_min(2).to(spread.dtype).log()
    return torch.where(n_seen > 1, spread / highest, 0).to(weights.dtype)


def effective_tokens(weights: Tensor) -> Tensor:
    """How many tokens each row reads, in effect: exp(H), (..., s, u) -> (..., s).

    n keys of equal weight count n, whatever the rest; a row of zeros counts 0. Raises as entropy does.
    Source: Hill 1973, the number of order 1.

    >>> effective_tokens(torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    tensor([2., 1., 0.])
    """
    spread = _entropy(weights)  # (..., s)
    nowhere = (weights == 0).all(dim=-1)
    return spread.exp().masked_fill(nowhere, 0).to(weights.dtype)


def mean_distance(weights: Tensor, *, offset: int = 0) -> Tensor:
    """How far each row looks, in tokens: sum_u a |s + offset - u|, (..., s, u) -> (..., s).

    Raises TypeError for a dtype that is not floating or an offset that is no whole number.
    Source: Vig and Belinkov 2019 (attention distance).

    >>> mean_distance(torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]))
    tensor([0., 1., 1.])
    """
    check_floating("weights", weights, "... s u")
    n_query, n_key = weights.shape[-2:]
    s = torch.arange(n_query, device=weights.device)[:, None] + check_whole("offset", offset)  # (s, 1)
    distance = (s - torch.arange(n_key, device=weights.device)).abs()  # (s, u)
    return (widened(weights) * distance).sum(dim=-1).to(weights.dtype)


def sink_mass(weights: Tensor, n_first: int = 1) -> Tensor:
    """What each row gives to the first keys, where many heads leave what they do not need: (..., s, u) -> (..., s).

    The sum of a over u < n_first; where there are fewer keys, the whole row. Raises ValueError for n_first
    below 1, TypeError for a dtype that is not floating.
    Source: Xiao et al. 2023 (Efficient streaming language models with attention sinks), section 3.1.

    >>> sink_mass(torch.tensor([[0.75, 0.25, 0.0]])), sink_mass(torch.tensor([[0.75, 0.25, 0.0]]), 2)
    (tensor([0.7500]), tensor([1.]))
    """
    check_floating("weights", weights, "... s u")
    n_first = check_count("n_first", n_first, low=1)
    return widened(weights[..., :n_first]).sum(dim=-1).to(weights.dtype)


def previous_token_mass(weights: Tensor, *, offset: int = 0) -> Tensor:
    """What each row gives to the token before its own: a at u = s + offset - 1, (..., s, u) -> (..., s).

    A row without such a key, as the first without an offset, gets 0: leave it out of a mean, as
    score(previous_token_mass(weights)[..., 1:]) does. Raises as mean_distance does.
    Source: Elhage et al. 2021 (previous-token heads); Olsson et al. 2022, appendix, head activation evaluators.

    >>> previous_token_mass(torch.tensor([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.0, 0.5, 0.5]]))
    tensor([0.0000, 0.7500, 0.5000])
    """
    check_floating("weights", weights, "... s u")
    n_query, before = weights.shape[-2], check_whole("offset", offset) - 1
    found = weights.diagonal(offset=before, dim1=-2, dim2=-1)  # (..., rows that have the key)
    n_without = min(max(0, -before), n_query)  # the first rows, whose key would stand left of key 0
    rest = n_query - n_without - found.shape[-1]  # the last rows, whose key would stand right of the last one
    return torch.nn.functional.pad(found, (n_without, rest))  # (..., s)


def _entropy(weights: Tensor) -> Tensor:
    """The entropy before it is rounded to the dtype of the weights."""
    check_floating("weights", weights, "... s u")
    if (weights < 0).any():
        raise ValueError(f"weights: expected no number below 0, got {float(weights.min()):g}")
    wide = widened(weights)
    # 0 ln 0 is 0, but in floats 0 * -inf is NaN: so the logarithm's argument ends at the smallest normal number.
    logarithm = wide.clamp_min(torch.finfo(wide.dtype).tiny).log()  # (..., s, u)
    return 0 - (wide * logarithm).sum(dim=-1)  # not -sum, which of 0 is -0


def _seen(mask: Tensor, weights: Tensor) -> Tensor:
    check_shape("mask", mask, "...")
    if broadcast(mask.shape, weights.shape) != tuple(weights.shape):
        target = tuple(weights.shape)
        raise ValueError(f"mask: expected a shape that broadcasts to (..., s, u) = {target}, got {tuple(mask.shape)}")
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        raise TypeError(f"mask: expected dtype bool (True = may attend) or floating (added), got {mask.dtype}")
    return mask > torch.finfo(mask.dtype).min
