"""What a cause leaves open and a claim tells: a scale, the weights that were dropped, each row's factor."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis_compute import Computed
from attnviz.core.diagnosis_recipes import Given, Recipe, Sample, rearranged, turn


class Claim(NamedTuple):
    """The numbers that somebody got, at least float32, and the eps of the coarsest dtype that they went through."""

    weights: Tensor | None  # (..., s, u)
    output: Tensor | None  # (..., s, d)
    eps: float
    weights_off: float = 0.0  # what each may be off besides, where they were rounded to decimals
    output_off: float = 0.0


def read_off(computed: Computed, claim: Claim, after: str) -> tuple[Computed, float | None] | None:
    """Take from the claim what cannot be known before: which weights were dropped, or each row's factor.

    None where nothing is to be read off, or where the zeros are not as many as dropping leaves.

    >>> x = torch.full((4, 4), 0.25)
    >>> claim = Claim(torch.eye(4), None, 1e-7)
    >>> read_off(Computed(x, x, x, 1.0, 1.0), claim, "dropped")[1]
    0.75
    """
    weights = computed.weights
    if after == "dropped":
        if claim.weights is None or weights.isnan().any() or claim.weights.isnan().any():
            return None
        kept, there = claim.weights != 0, weights > 0
        n_kept, n_there = int((kept & there).sum()), int(there.sum())
        if n_kept == 0 or n_kept == n_there:
            return None
        factor = float((claim.weights[kept & there] / weights[kept & there]).median())
        dropped, share = 1 - 1 / factor if factor > 0 else -1.0, 1 - n_kept / n_there
        # The share that is 0 is drawn: it lies within five standard deviations of the probability.
        if not 0 < dropped < 1 or abs(share - dropped) > 5 * math.sqrt(dropped * (1 - dropped) / n_there):
            return None
        weights, value = weights * kept * factor, dropped
    else:
        source, target = (weights, claim.weights) if claim.weights is not None else (computed.output, claim.output)
        if target is None or source.shape[-1] < 3:  # of one or two numbers, a factor explains too much
            return None
        factors = (source * target).sum(dim=-1, keepdim=True) / source.square().sum(dim=-1, keepdim=True)
        weights, value = weights * factors.nan_to_num(nan=0), None
    return computed._replace(weights=weights, output=weights @ computed.value), value


def fitted_scale(given: Given, recipe: Recipe, claim: Claim, sample: Sample | None) -> float | None:
    """Read the scale off the claimed weights: ln a is the scaled scores, but for one number a row.

    None where there are no weights, or they tell nothing.

    >>> q = torch.eye(2)
    >>> given = Given(q, q, q, None, None, 1.0, None, None, {}, q.dtype)
    >>> claim = Claim(torch.softmax(3 * q, dim=-1), None, 1e-7)
    >>> round(fitted_scale(given, Recipe(), claim, None), 5)
    3.0
    """
    if claim.weights is None or recipe.axis != -1 or recipe.mask not in ("given", "none"):
        return None
    query, key, value = turn(given, recipe, *rearranged(given, recipe.inputs))
    rows = slice(None) if sample is None else sample.rows
    claimed = claim.weights[..., rows, :]
    scores = attention(query[..., rows, :], key, value[..., :0]).scores  # (..., s, u)
    counted = claimed.nan_to_num(nan=0, posinf=0).clamp_min(0)
    logs = torch.where(counted > 0, counted.log(), 0)
    total = counted.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(counted.dtype).tiny)
    scores = scores - (counted * scores).sum(dim=-1, keepdim=True) / total
    logs = logs - (counted * logs).sum(dim=-1, keepdim=True) / total
    steep = float((counted * scores.square()).sum())
    scale = float((counted * scores * logs).sum()) / steep if steep > 0 else math.nan
    return scale if math.isfinite(scale) else None
