"""Why rows of weights do not sum to 1: what the sums along other axes, the zeros and the decimals tell."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnviz.core.diagnosis_result import Finding
from attnviz.core.diagnosis_rounded import TO_NAME, half_unit

_MOST_OFF = 0.25  # of a sum that rounded numbers may explain where another axis is looked for


def found(
    cause: str,
    before: float,
    after: float,
    same: tuple[str, ...] = (),
    value: float | None = None,
    where: tuple[int, ...] = (),
) -> Finding:
    """Make a finding of weights alone.

    >>> found("leak", 0.5, 0.5, value=1.0).claims
    ('weights',)
    """
    return Finding(cause, before, after, same, value, ("weights",), where)


def lower(weights: Tensor) -> Tensor:
    """Return which cells of weights (..., s, u) a causal mask shows.

    >>> lower(torch.zeros(2, 2)).int().tolist()
    [[1, 0], [1, 1]]
    """
    return torch.ones_like(weights, dtype=torch.bool).tril()


def of_sums(
    weights: Tensor, rows: Tensor, visible: Tensor | None, eps: float, n_decimals: int | None = None
) -> list[Finding]:
    """Say why rows do not sum to 1, where the sums, the zeros or the decimals do; nothing where they sum to 1.

    weights (..., s, u) with 0 for NaN, rows (..., s): those without NaN.

    >>> x = torch.tensor([[0.33, 0.33, 0.33]])
    >>> of_sums(x, x[:, 0] > 0, None, 1e-7, 2)[0].cause, of_sums(x, x[:, 0] > 0, None, 1e-7)[0].cause
    ('rounded', 'sums_off')
    """
    limit = _limit(weights, eps)
    sums = weights.sum(dim=-1)
    empty = (weights == 0).all(dim=-1) & rows
    off = float(torch.where(rows & ~empty, (sums - 1).abs(), 0).amax())
    n_empty = 0 if visible is None else int((empty & ~_may_be_empty(visible, n_decimals)).sum())
    if off <= limit:
        return [found("rows_empty", 1.0, 1.0, value=float(n_empty))] if n_empty else []
    if n_decimals is not None and _as_rounded(weights, rows & ~empty, visible, n_decimals):
        if n_empty:
            return [found("rows_empty", 1.0, 1.0, value=float(n_empty))]
        return [found("rounded", off, off, value=float(n_decimals))]
    if n_decimals is not None and n_decimals >= TO_NAME:
        limit += min(max(weights.shape[-4:]) * half_unit(n_decimals), _MOST_OFF)
    axes = {-2: "softmax_over_queries", -3: "softmax_over_heads", -4: "softmax_over_batch"}
    for axis, cause in axes.items():
        if weights.ndim < -axis or not rows.all():
            continue
        along = weights.sum(dim=axis)
        reached = (along != 0) | (visible.any(dim=axis) if visible is not None else True)
        left = float(torch.where(reached, (along - 1).abs(), 0).amax())
        if left <= limit:
            same = {-2: ("weights_transposed",), -3: ("softmax_over_batch",) if weights.ndim == 3 else ()}
            return [found(cause, off, left, same=same.get(axis, ()))]
    if eps < 1e-6 and off <= 0.02:  # numbers that float16 holds as they are; bfloat16's are among them, if not small
        for dtype in (torch.float16, torch.bfloat16):
            left = float((weights.to(dtype).to(weights.dtype) - weights).abs().amax())
            if left == 0:
                return [found("softmax_half", off, left)]
    if _after(weights, visible, sums, limit):
        whole = lower(weights) if visible is None else visible
        left = float(torch.where(whole.all(dim=-1), (sums - 1).abs(), 0).amax())
        return [found("mask_after_softmax", off, left)]
    dropped = _dropped(weights, visible, sums)
    if dropped is not None:
        return [found("dropout_on", off, abs(float(sums.mean()) - 1), value=dropped)]
    for ones in (weights.amax(dim=-1), weights.sum(dim=(-2, -1))):  # by each row's largest, or by the whole map
        left = float((ones - 1).abs().amax())
        if left <= limit:
            return [found("weights_renormalised", off, left)]
    return [found("sums_off", off, off)]


def _as_rounded(weights: Tensor, counted: Tensor, visible: Tensor | None, n_decimals: int) -> bool:
    """Whether the sums are off 1 by what rounding can do; a weight that became 0 can only have been larger."""
    half, off = half_unit(n_decimals), weights.sum(dim=-1) - 1
    more, less = ((cells.sum(dim=-1) + 0.01) * half for cells in (weights > 0, _shown(weights, visible)))
    return bool((((off <= more) & (off >= -less)) | ~counted).all())


def _may_be_empty(visible: Tensor, n_decimals: int | None) -> Tensor:
    """The rows (..., s) that read no key, or so many that each weight may have been rounded to 0."""
    n_keys = visible.sum(dim=-1)
    return (n_keys == 0) | (n_keys * (0.0 if n_decimals is None else half_unit(n_decimals)) >= 1)


def _shown(weights: Tensor, visible: Tensor | None) -> Tensor:
    """The cells that may have a weight: of a map that is 0 above the diagonal, those that a causal mask shows."""
    if visible is not None:
        return visible
    if weights.shape[-2] == weights.shape[-1] and not (weights.triu(1) != 0).any():
        return lower(weights)
    return torch.ones_like(weights, dtype=torch.bool)


def _after(weights: Tensor, visible: Tensor | None, sums: Tensor, limit: float) -> bool:
    """Whether rows lack just what a mask took: nothing in rows of which it hides nothing, and something in others."""
    if visible is None:
        if weights.shape[-2] != weights.shape[-1]:
            return False
        visible = lower(weights)
        if (weights.triu(1) != 0).any():
            return False
    hides = ~visible.all(dim=-1)
    whole = ((sums - 1).abs() <= limit) | hides
    short = (sums[hides] <= 1 + limit).all() and (sums[hides] < 1 - limit).any()
    return bool((weights[~visible] == 0).all() and whole.all() and (~hides).any() and short)


def _dropped(weights: Tensor, visible: Tensor | None, sums: Tensor) -> float | None:
    """The share of zeros that are strewn over the keys, where row sums lie about 1 as dropout leaves them."""
    counted = _shown(weights, visible)
    share = float((weights[counted] == 0).double().mean())
    if not 0 < share < 1 or (weights[~counted] != 0).any():
        return None
    # A row's variance: each weight a stays as a / (1 - p), so that p / (1 - p) a^2 of the right a, summed up
    variance = float((share * weights.square()).sum(dim=-1).mean())
    off = abs(float(sums.mean()) - 1) * math.sqrt(sums.numel())
    both = bool((sums > 1).any() and (sums < 1).any())
    return share if both and off <= 5 * math.sqrt(variance) + 1e-6 else None


def _limit(weights: Tensor, eps: float) -> float:
    """How far a sum may be from 1: of as many terms, each rounded."""
    return 16 * eps + 8 * torch.finfo(weights.dtype).eps * math.sqrt(max(weights.shape[-4:]))
