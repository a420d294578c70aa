"""What weights alone tell of their making: sums, hidden keys, zeros, NaN. Far less than with queries and keys."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from attnviz.core.diagnosis_causes import STEPS
from attnviz.core.diagnosis_claims import Array, as_tensor, read_mask
from attnviz.core.diagnosis_masks import other_masks, split_mask
from attnviz.core.diagnosis_result import Diagnosis, Finding
from attnviz.core.diagnosis_rounded import decimals
from attnviz.core.diagnosis_sums import found, lower, of_sums
from attnviz.core.shapes import check_floating, widened

# What only weights can show; the other codes are those of diagnosis_causes.
NUMBERS: dict[str, str] = {
    "negative": "weights",  # scores, not weights; value: how many
    "nan": "weights",  # where no mask explains it; value: how many rows, where: the first
    "infinite": "weights",  # value: how many numbers
    "rounded": "weights",  # no mistake: right as far as decimals tell, or summing to 1; value: how many decimals
    "sums_off": "weights",  # rows do not sum to 1, for no reason that the numbers show
    "rows_empty": "masked",  # rows of zeros that the mask does not ask for; value: how many
    "leak": "masked",  # hidden keys get weight; value: how many cells
}
_ALL = STEPS | NUMBERS
_MASKS = {"inverted": "mask_inverted", "transposed": "mask_transposed", "later": "causal_off_by_one"}
_MASKS |= {"earlier": "causal_off_by_one", "corner": "causal_corner", "queries": "padding_on_queries"}
_SHIFTS = {"later": 1.0, "earlier": -1.0}


def diagnose_weights(weights: Tensor | Array, mask: Tensor | Array | Literal["causal"] | None = None) -> Diagnosis:
    """Say what weights (..., s, u) alone show of a mistake; correct says that they show none.

    mask as attention takes it, or "causal", as it was meant; arrays, as numpy's, are taken for tensors. Without one,
    weights that are 0 above the diagonal but for a few cells are taken as causal. Residuals are how far the sums are
    from 1 or, of a mask, the largest weight where there should be none or that is missing. Sums that are off by what
    rounding to decimals does are found to be "rounded", and correct. Raises TypeError for dtypes,
    ValueError for shapes and no numbers.

    >>> diagnose_weights(torch.tensor([[0.5, 0.25], [0.5, 0.75]])).findings[0][:4]
    ('softmax_over_queries', 0.25, 0.0, ('weights_transposed',))
    >>> diagnose_weights(torch.tensor([[0.5, 0.5], [0.25, 0.75]])).correct
    True
    """
    weights = as_tensor("weights", weights).detach()
    check_floating("weights", weights, "... s u")
    if not weights.numel():
        raise ValueError(f"weights: expected at least one number, got shape {tuple(weights.shape)}")
    wide, eps = widened(weights), torch.finfo(weights.dtype).eps
    visible, _ = split_mask(read_mask(mask, *wide.shape[-2:]), *wide.shape[-2:])
    if visible is not None:
        visible = visible.expand(wide.shape)
    findings = _odd_numbers(wide, visible)
    known = {finding.cause for finding in findings}
    if not known & {"negative", "infinite"}:
        clean = wide.nan_to_num(nan=0)
        rows = ~wide.isnan().any(dim=-1)  # that are numbers
        findings += of_sums(clean, rows, visible, eps, decimals(weights.nan_to_num(nan=0)))
        hidden = _hidden(clean, rows, visible, {finding.cause for finding in findings}, eps)
        if any(finding.cause in _MASKS.values() for finding in hidden):  # then NaN is what that mask makes of rows
            findings = [finding for finding in findings if finding.cause != "nan"]
        findings += hidden
    if len(findings) > 1:  # what is wrong besides is not right as far as decimals tell
        findings = [finding for finding in findings if finding.cause != "rounded"]
    wrong = [finding.cause for finding in findings if finding.cause != "rounded"]
    steps = [_ALL[cause] for cause in wrong]
    first = "masked" if "masked" in steps else ("weights" if steps else None)
    residual = max((each[1] for each in findings), default=_off(wide))
    return Diagnosis(tuple(findings), not wrong, first, (), residual)


def _off(weights: Tensor) -> float:
    """How far the sum of a row that is not empty is from 1, at most."""
    sums = weights.sum(dim=-1)
    return float(torch.where(sums == 0, 0, (sums - 1).abs()).amax())


def _odd_numbers(weights: Tensor, visible: Tensor | None) -> list[Finding]:
    """What is no number from 0 to 1 at all."""
    findings = []
    if weights.isinf().any():
        findings.append(found("infinite", math.inf, math.inf, value=float(weights.isinf().sum())))
    if (weights < 0).any():
        findings.append(
            found("negative", float(-weights.amin()), float(-weights.amin()), value=float((weights < 0).sum()))
        )
    nan = weights.isnan()
    if nan.any():
        rows = nan.any(dim=-1)
        masked = visible is not None and bool(
            (nan.all(dim=-1) == rows).all() and not (visible.any(dim=-1) & rows).any()
        )
        # NaN in whole rows, and just where the mask hides all: softmax of -inf alone
        n_rows, where = float(rows.sum()), tuple(rows.nonzero()[0].tolist())
        findings.append(
            found("rows_nan", math.inf, 0.0, value=n_rows)
            if masked
            else found("nan", math.inf, math.inf, value=n_rows, where=where)
        )
    return findings


def _hidden(weights: Tensor, rows: Tensor, visible: Tensor | None, known: set[str], eps: float) -> list[Finding]:
    """What is seen that a mask hides: another mask, or a leak."""
    n_query, n_key = weights.shape[-2:]
    if visible is None:
        if n_query != n_key or n_query < 4:
            return []
        visible = lower(weights)
        above = ~visible
        some = (weights[above] > 0).double().mean()
        if not 0 < float(some) <= 0.5 or not (weights > 0)[visible].double().mean() > 0.9:
            return []  # no causal map, or a sound one
        if known & {"softmax_over_queries", "softmax_over_heads", "softmax_over_batch", "dropout_on"}:
            return []
    there = (weights > 0.01 * eps) & rows[..., None]
    leaked = there & ~visible & rows[..., None]
    if not leaked.any():
        return []
    before, wholly = _largest(weights, leaked), ~visible.any(dim=-1)  # (..., s): rows without a key
    outside = _largest(weights, leaked & ~wholly[..., None])
    if outside == 0:
        return [found("mask_finite", before, outside)]
    # Rows that another mask would leave without a key hold what a softmax of nothing gives: NaN, zeros, or all even.
    odd = ~rows | (weights == 0).all(dim=-1) | (weights.amax(dim=-1) - weights.amin(dim=-1) <= 4 * eps)
    for name, mask in other_masks(visible, n_query, n_key).items():
        shown = mask.expand(weights.shape)
        reading = shown.any(dim=-1)  # (..., s)
        numbers = reading[..., None]
        fits = bool((rows | ~reading).all()) and bool((odd | reading).all())
        if fits and torch.equal(there & numbers, shown & numbers):
            return [found(_MASKS[name], before, _largest(weights, numbers & ~shown), value=_SHIFTS.get(name))]
    if not (~there & rows[..., None]).any():
        return [found("mask_missing", before, 0.0)]  # of a mask that hides nothing, nothing is left to see
    return [found("leak", before, before, value=float(leaked.sum()))]


def _largest(weights: Tensor, cells: Tensor) -> float:
    return float(weights.masked_fill(~cells, 0).amax())
