"""How well a recipe explains numbers that were handed over: on a few rows first, then on all.

Whether two numbers agree depends on their dtype and on how large the scores were: a score that is off by e makes its
weight off by the share e. `excess` is the largest difference in units of what rounding explains, so that a recipe
reproduces the numbers where it is at most 1; `residual` is the largest difference as a share of the largest number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.diagnosis_compute import Computed, compute
from attnviz.core.diagnosis_fitted import Claim, fitted_scale, read_off
from attnviz.core.diagnosis_recipes import Given, Recipe, Sample, head_of

_ROWS = 6  # that are taken at even distances, and as many where the claim is furthest off
_MOST = 0.25  # the largest share of a weight that is put down to rounding where a cause is to be named
_CLOSER = 0.25  # how much closer than before a cause must come, where rounding is coarse
_HALF = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}  # their eps


class Fit(NamedTuple):
    """How far a recipe is from a claim."""

    excess: float  # the largest difference in units of what rounding explains
    residual: float  # the largest difference as a share of the largest number expected
    spread: float  # the root of the mean squared difference, as the same share
    value: float | None = None  # what was read off the claim: a scale, the share that is dropped


def fit(given: Given, recipe: Recipe, claim: Claim, sample: Sample | None = None) -> Fit:
    """Compare what a recipe gives with a claim, with all of it or a sample.

    >>> q = torch.eye(2)
    >>> given = Given(q, q, q, None, None, 1.0, None, None, {}, q.dtype)
    >>> claim = Claim(torch.full((2, 2), 0.5), None, 1e-7)
    >>> fit(given, Recipe(scale=0.0), claim).residual, fit(given, Recipe(), claim).excess > 1
    (0.0, True)
    """
    value = None
    if recipe.scale == "fitted":
        value = fitted_scale(given, recipe, claim, sample)
        if value is None:
            return Fit(math.inf, math.inf, math.inf)
        recipe = recipe._replace(scale=value)
    computed = compute(given, recipe, sample)
    claim = part_of(claim, recipe, sample)
    if recipe.after in ("dropped", "rescaled"):
        found = read_off(computed, claim, recipe.after)
        if found is None:
            return Fit(math.inf, math.inf, math.inf)
        computed, value = found
    half = _HALF[recipe.softmax_dtype] if recipe.softmax_dtype else 0.0
    return compare(computed, claim, half, value, _MOST)


def compare(
    computed: Computed, claim: Claim, half: float = 0.0, value: float | None = None, most: float = math.inf
) -> Fit:
    """Measure how far computed numbers are from a claim of the same rows.

    half: eps of a softmax in half precision; most: the largest share of a weight that rounding may excuse.

    >>> x = torch.tensor([[0.25, 0.75]])
    >>> compare(Computed(x, x, x, 1.0, 1.0), Claim(torch.tensor([[0.25, 0.5]]), None, 1e-7)).residual
    0.3333333333333333
    """
    # A product is rounded as the dtype says, and so is a sum; float32 sums up what half precision holds.
    working = torch.finfo(computed.weights.dtype).eps
    eps = max(claim.eps, half)
    share = 2 * eps * (1 + computed.largest) + 8 * working * (1 + computed.bound)
    share = min(share, most)
    fits = []
    if claim.weights is not None:
        limit = share * torch.maximum(computed.weights.abs(), claim.weights.abs()) + 0.01 * eps
        limit = limit + claim.weights_off
        fits.append(_measured(computed.weights, claim.weights, limit))
    if claim.output is not None:
        weights, carried = computed.weights.nan_to_num(nan=0), computed.value
        # What each weight is off by differs in sign from key to key: squares add up. Sums are off by all terms.
        limit = 3 * share * (weights.square() @ carried.square()).sqrt()
        limit = limit + 4 * eps * (weights.abs() @ carried.abs()) + 0.01 * eps * carried.abs().amax()
        limit = limit + claim.output_off
        fits.append(_measured(computed.output, claim.output, limit))
    if not fits:
        raise ValueError("claim: expected weights or an output, got neither")
    excess, residual, spread = (max(numbers) for numbers in zip(*fits, strict=True))
    return Fit(excess, residual, spread, value)


def part_of(claim: Claim, recipe: Recipe, sample: Sample | None) -> Claim:
    """The numbers of a claim that a recipe gives for a sample.

    >>> part_of(Claim(torch.eye(3), None, 1e-7), Recipe(), Sample(torch.tensor([1]))).weights.tolist()
    [[0.0, 1.0, 0.0]]
    """
    if sample is None:
        return claim
    heads = head_of(recipe, sample)
    weights, output = (
        x if x is None else (x if heads == slice(None) else x[..., heads, :, :])[..., sample.rows, :] for x in claim[:2]
    )
    return claim._replace(weights=weights, output=output)


def sampled(expected: Computed, claim: Claim) -> Sample:
    """Choose the query rows on which hypotheses are tried: some at even distances, and where the claim is off most.

    The head is the one that is off most.

    >>> x = torch.zeros(40, 2)
    >>> off = x.clone()
    >>> off[31] = 1
    >>> 31 in sampled(Computed(x, x, x, 1, 1), Claim(off, None, 1e-7)).rows.tolist()
    True
    """
    n_rows, has_heads = expected.weights.shape[-2], expected.weights.ndim > 2
    off = torch.zeros(expected.weights.shape[:-1], dtype=expected.weights.dtype, device=expected.weights.device)
    for mine, theirs in ((expected.weights, claim.weights), (expected.output, claim.output)):
        if theirs is not None:
            off = off + (mine - theirs).abs().nan_to_num(nan=1e9, posinf=1e9).amax(dim=-1)  # (..., s)
    head = int(off.sum(dim=-1).reshape(-1, off.shape[-2]).sum(dim=0).argmax()) if has_heads else None
    worst = off.reshape(-1, n_rows).amax(dim=0).topk(min(_ROWS, n_rows)).indices
    even = torch.linspace(0, n_rows - 1, min(_ROWS, n_rows), device=worst.device).round().long()
    return Sample(torch.cat([even, worst]).unique(), head)


def explains(given: Given, recipe: Recipe, claim: Claim, before: Fit) -> Fit | None:
    """Compare on all rows; None where the recipe does not reproduce the claim, or is hardly closer than before.

    A softmax in half precision leaves its mark, numbers that the half dtype holds, and it must come much closer
    than the same recipe without it: within its own rounding anything nearly right would do.

    >>> x = torch.zeros(2, 2)
    >>> given = Given(x, x, x, None, None, 1.0, None, None, {}, x.dtype)
    >>> claim = Claim(torch.full((2, 2), 0.5), None, 1e-7)
    >>> explains(given, Recipe(scale=3.0), claim, Fit(9.0, 1.0, 1.0)) is not None  # all scores are 0
    True
    """
    found = fit(given, recipe, claim)
    if not (found.excess <= 1 and found.spread <= _CLOSER * before.spread):
        return None
    if recipe.softmax_dtype is not None:
        if claim.weights is not None and not torch.equal(
            claim.weights.to(recipe.softmax_dtype).to(claim.weights.dtype).nan_to_num(nan=-1),
            claim.weights.nan_to_num(nan=-1),
        ):
            return None
        if not found.spread <= _CLOSER * fit(given, recipe._replace(softmax_dtype=None), claim).spread:
            return None
    return found


def _measured(expected: Tensor, claimed: Tensor, limit: Tensor) -> tuple[float, float, float]:
    """Excess, residual and spread of one tensor; NaN agrees with NaN, and with nothing else."""
    if not expected.numel():
        return 0.0, 0.0, 0.0
    agree = (expected == claimed) | (expected.isnan() & claimed.isnan())
    off = (expected - claimed).abs().masked_fill(agree, 0).nan_to_num(nan=math.inf, posinf=math.inf)
    largest = max(float(expected.abs().nan_to_num(nan=0, posinf=0).amax()), torch.finfo(expected.dtype).tiny)
    excess = (off / limit.nan_to_num(nan=0).clamp_min(torch.finfo(limit.dtype).tiny)).amax()
    return float(excess), float(off.amax()) / largest, float(off.square().mean().sqrt()) / largest
