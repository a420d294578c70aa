"""What weights alone tell of their making: sums, hidden keys, zeros, NaN. Far less than with queries and keys."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnviz.core.diagnosis_causes import STEPS
from attnviz.core.diagnosis_masks import other_masks, split_mask
from attnviz.core.diagnosis_result import Diagnosis, Finding
from attnviz.core.shapes import check_floating, widened

# What only weights can show; the other codes are those of diagnosis_causes.
NUMBERS: dict[str, str] = {
    "negative": "weights",  # scores, not weights; value: how many
    "nan": "weights",  # where no mask explains it; value: how many rows
    "infinite": "weights",  # value: how many numbers
    "sums_off": "weights",  # rows do not sum to 1, for no reason that the numbers show
    "rows_empty": "masked",  # rows of zeros that the mask does not ask for; value: how many
    "leak": "masked",  # hidden keys get weight; value: how many cells
}
_ALL = STEPS | NUMBERS
_MASKS = {"inverted": "mask_inverted", "transposed": "mask_transposed", "later": "causal_off_by_one"}
_MASKS |= {"earlier": "causal_off_by_one", "corner": "causal_corner", "queries": "padding_on_queries"}
_SHIFTS = {"later": 1.0, "earlier": -1.0}


def diagnose_weights(weights: Tensor, mask: Tensor | None = None) -> Diagnosis:
    """Say what weights (..., s, u) alone show of a mistake; correct says that they show none.

    mask as attention takes it, as it was meant. Without one, weights that are 0 above the diagonal but for a few
    cells are taken as causal. Residuals are how far the sums are from 1 or, of a mask, the largest weight where
    there should be none or that is missing. Raises TypeError for dtypes, ValueError for shapes and no numbers.

    >>> diagnose_weights(torch.tensor([[0.5, 0.25], [0.5, 0.75]])).findings[0][:4]
    ('softmax_over_queries', 0.25, 0.0, ('weights_transposed',))
    >>> diagnose_weights(torch.tensor([[0.5, 0.5], [0.25, 0.75]])).correct
    True
    """
    check_floating("weights", weights, "... s u")
    if not weights.numel():
        raise ValueError(f"weights: expected at least one number, got shape {tuple(weights.shape)}")
    wide, eps = widened(weights), torch.finfo(weights.dtype).eps
    visible, _ = split_mask(mask, *wide.shape[-2:])
    if visible is not None:
        visible = visible.expand(wide.shape)
    findings = _odd_numbers(wide, visible)
    known = {finding.cause for finding in findings}
    if not known & {"negative", "infinite"}:
        clean = wide.nan_to_num(nan=0)
        rows = ~wide.isnan().any(dim=-1)  # that are numbers
        findings += _sums(clean, rows, visible, eps)
        hidden = _hidden(clean, rows, visible, {finding.cause for finding in findings}, eps)
        if any(finding.cause in _MASKS.values() for finding in hidden):  # then NaN is what that mask makes of rows
            findings = [finding for finding in findings if finding.cause != "nan"]
        findings += hidden
    steps = [_ALL[finding.cause] for finding in findings]
    first = "masked" if "masked" in steps else ("weights" if steps else None)
    residual = max((each[1] for each in findings), default=_off(wide))
    return Diagnosis(tuple(findings), not findings, first, (), residual)


def _off(weights: Tensor) -> float:
    """How far the sum of a row that is not empty is from 1, at most."""
    sums = weights.sum(dim=-1)
    return float(torch.where(sums == 0, 0, (sums - 1).abs()).amax())


def _found(cause: str, before: float, after: float, same: tuple[str, ...] = (), value: float | None = None) -> Finding:
    return Finding(cause, before, after, same, value, ("weights",))


def _odd_numbers(weights: Tensor, visible: Tensor | None) -> list[Finding]:
    """What is no number from 0 to 1 at all."""
    findings = []
    if weights.isinf().any():
        findings.append(_found("infinite", math.inf, math.inf, value=float(weights.isinf().sum())))
    if (weights < 0).any():
        findings.append(
            _found("negative", float(-weights.amin()), float(-weights.amin()), value=float((weights < 0).sum()))
        )
    nan = weights.isnan()
    if nan.any():
        rows = nan.any(dim=-1)
        masked = visible is not None and bool(
            (nan.all(dim=-1) == rows).all() and not (visible.any(dim=-1) & rows).any()
        )
        # NaN in whole rows, and just where the mask hides all: softmax of -inf alone
        findings.append(
            _found("rows_nan" if masked else "nan", math.inf, 0.0 if masked else math.inf, value=float(rows.sum()))
        )
    return findings


def _sums(weights: Tensor, rows: Tensor, visible: Tensor | None, eps: float) -> list[Finding]:
    """Why rows do not sum to 1, where the sums or the zeros say it."""
    limit = _limit(weights, eps)
    sums = weights.sum(dim=-1)
    empty = (weights == 0).all(dim=-1) & rows
    off = float(torch.where(rows & ~empty, (sums - 1).abs(), 0).amax())
    n_empty = 0 if visible is None else int((empty & visible.any(dim=-1)).sum())
    if off <= limit:
        return [_found("rows_empty", 1.0, 1.0, value=float(n_empty))] if n_empty else []
    axes = {-2: "softmax_over_queries", -3: "softmax_over_heads", -4: "softmax_over_batch"}
    for axis, cause in axes.items():
        if weights.ndim < -axis or not rows.all():
            continue
        along = weights.sum(dim=axis)
        reached = (along != 0) | (visible.any(dim=axis) if visible is not None else True)
        left = float(torch.where(reached, (along - 1).abs(), 0).amax())
        if left <= limit:
            same = {-2: ("weights_transposed",), -3: ("softmax_over_batch",) if weights.ndim == 3 else ()}
            return [_found(cause, off, left, same=same.get(axis, ()))]
    if eps < 1e-6 and off <= 0.02:  # numbers that float16 holds as they are; bfloat16's are among them, if not small
        for dtype in (torch.float16, torch.bfloat16):
            left = float((weights.to(dtype).to(weights.dtype) - weights).abs().amax())
            if left == 0:
                return [_found("softmax_half", off, left)]
    if _after(weights, visible, sums, limit):
        whole = _causal(weights) if visible is None else visible
        left = float(torch.where(whole.all(dim=-1), (sums - 1).abs(), 0).amax())
        return [_found("mask_after_softmax", off, left)]
    dropped = _dropped(weights, visible, sums)
    if dropped is not None:
        return [_found("dropout_on", off, abs(float(sums.mean()) - 1), value=dropped)]
    for ones in (weights.amax(dim=-1), weights.sum(dim=(-2, -1))):  # by each row's largest, or by the whole map
        left = float((ones - 1).abs().amax())
        if left <= limit:
            return [_found("weights_renormalised", off, left)]
    return [_found("sums_off", off, off)]


def _after(weights: Tensor, visible: Tensor | None, sums: Tensor, limit: float) -> bool:
    """Whether rows lack just what a mask took: nothing in rows of which it hides nothing, and something in others."""
    if visible is None:
        if weights.shape[-2] != weights.shape[-1]:
            return False
        visible = _causal(weights)
        if (weights.triu(1) != 0).any():
            return False
    hides = ~visible.all(dim=-1)
    whole = ((sums - 1).abs() <= limit) | hides
    short = (sums[hides] <= 1 + limit).all() and (sums[hides] < 1 - limit).any()
    return bool((weights[~visible] == 0).all() and whole.all() and (~hides).any() and short)


def _dropped(weights: Tensor, visible: Tensor | None, sums: Tensor) -> float | None:
    """The share of zeros that are strewn over the keys, where row sums lie about 1 as dropout leaves them."""
    counted = torch.ones_like(weights, dtype=torch.bool) if visible is None else visible
    if visible is None and weights.shape[-2] == weights.shape[-1] and not (weights.triu(1) != 0).any():
        counted = counted.tril()
    share = float((weights[counted] == 0).double().mean())
    if not 0 < share < 1 or (weights[~counted] != 0).any():
        return None
    # A row's variance: each weight a stays as a / (1 - p), so that p / (1 - p) a^2 of the right a, summed up
    variance = float((share * weights.square()).sum(dim=-1).mean())
    off = abs(float(sums.mean()) - 1) * math.sqrt(sums.numel())
    both = bool((sums > 1).any() and (sums < 1).any())
    return share if both and off <= 5 * math.sqrt(variance) + 1e-6 else None


def _hidden(weights: Tensor, rows: Tensor, visible: Tensor | None, known: set[str], eps: float) -> list[Finding]:
    """What is seen that a mask hides: another mask, or a leak."""
    n_query, n_key = weights.shape[-2:]
    if visible is None:
        if n_query != n_key or n_query < 4:
            return []
        visible = _causal(weights)
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
        return [_found("mask_finite", before, outside)]
    # Rows that another mask would leave without a key hold what a softmax of nothing gives: NaN, zeros, or all even.
    odd = ~rows | (weights == 0).all(dim=-1) | (weights.amax(dim=-1) - weights.amin(dim=-1) <= 4 * eps)
    for name, mask in other_masks(visible, n_query, n_key).items():
        shown = mask.expand(weights.shape)
        reading = shown.any(dim=-1)  # (..., s)
        numbers = reading[..., None]
        fits = bool((rows | ~reading).all()) and bool((odd | reading).all())
        if fits and torch.equal(there & numbers, shown & numbers):
            return [_found(_MASKS[name], before, _largest(weights, numbers & ~shown), value=_SHIFTS.get(name))]
    if not (~there & rows[..., None]).any():
        return [_found("mask_missing", before, 0.0)]  # of a mask that hides nothing, nothing is left to see
    return [_found("leak", before, before, value=float(leaked.sum()))]


def _largest(weights: Tensor, cells: Tensor) -> float:
    return float(weights.masked_fill(~cells, 0).amax())


def _causal(weights: Tensor) -> Tensor:
    return torch.ones_like(weights, dtype=torch.bool).tril()


def _limit(weights: Tensor, eps: float) -> float:
    """How far a sum may be from 1: of as many terms, each rounded."""
    return 16 * eps + 8 * torch.finfo(weights.dtype).eps * math.sqrt(max(weights.shape[-4:]))
