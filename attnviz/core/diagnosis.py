"""What is wrong with somebody's attention: known mistakes are made on purpose, until one gives the same numbers.

Every cause of diagnosis_causes.CODES is tried, alone and in the pairs of diagnosis_pairs.PAIRS: on a few query rows
first, then on all. A cause is named only where it reproduces every number within rounding; causes that give the same
numbers are named together. diagnose_weights, for weights alone, stands in diagnosis_weights.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis_causes import STEPS
from attnviz.core.diagnosis_claims import Array, as_tensor, check_finite, coarsest, read_mask, read_output, read_weights
from attnviz.core.diagnosis_compute import Computed, compute
from attnviz.core.diagnosis_fitted import Claim
from attnviz.core.diagnosis_masks import other_masks, split_mask
from attnviz.core.diagnosis_recipes import Given, Recipe
from attnviz.core.diagnosis_result import Diagnosis, Finding, first_difference, nan_rows
from attnviz.core.diagnosis_rounded import as_rounded, with_room, written
from attnviz.core.diagnosis_screening import Fit, compare
from attnviz.core.diagnosis_search import Search, on_one_thread
from attnviz.core.diagnosis_weights import diagnose_weights
from attnviz.core.rotary import Rotary
from attnviz.core.shapes import widened

__all__ = ["Diagnosis", "Finding", "diagnose", "diagnose_weights"]


def diagnose(
    query: Tensor | Array,
    key: Tensor | Array,
    value: Tensor | Array,
    *,
    weights: Tensor | Array | None = None,
    output: Tensor | Array | None = None,
    mask: Tensor | Array | Literal["causal"] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    rotary: Rotary | None = None,
    d_model: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Diagnosis:
    """Say what somebody computed who was to compute attention(query, key, value): by which mistake, if any.

    query (..., s, k), key (..., u, k), value (..., u, d), mask, scale and softcap as attention takes them, and as
    they were meant; a floating mask hides where it adds -1e4 or less, and "causal" is masks.causal(s, u).
    weights (..., s, u) and output (..., s, d) are the numbers that were got, at least one; an output may also have
    its heads merged, (..., s, h*d), and weights may lack the head axis. Where they were rounded to decimals, they are
    compared as far as these tell. Arrays, as numpy's, are taken for tensors. rotary: query and key come before it.
    d_model is h*k when None. progress is told how many hypotheses were tried so far; what it raises ends the search.
    Raises ValueError for shapes, numbers that are not finite in the inputs, and where there is nothing to explain;
    TypeError for dtypes and what is no tensor.

    >>> import torch
    >>> q, k, v = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.eye(2), torch.eye(2)
    >>> diagnose(q, k, v, weights=torch.softmax(q @ k.mT, dim=-1)).findings[0].cause
    'scale_missing'
    >>> diagnose(q, k, v, weights=attention(q, k, v).weights).correct
    True
    """
    query, key, value = as_tensor("query", query), as_tensor("key", key), as_tensor("value", value)
    weights = None if weights is None else as_tensor("weights", weights)
    output = None if output is None else as_tensor("output", output)
    given = _given(query, key, value, mask, scale, softcap, rotary)
    if weights is None and output is None:
        raise ValueError("weights, output: expected at least one of them, got neither")
    with on_one_thread():
        return _diagnosed(given, Claim(weights, output, coarsest(query)), d_model, progress)


def _diagnosed(given: Given, claimed: Claim, d_model: int | None, progress: Callable[[int], None] | None) -> Diagnosis:
    expected = compute(given, Recipe())
    weights, output = claimed.weights, claimed.output
    layout = ""
    if weights is not None:
        weights, layout = read_weights(weights, tuple(expected.weights.shape))
        weights = weights.detach().to(given.query.dtype)
    if output is not None:
        output = read_output(output, tuple(expected.output.shape)).detach().to(given.query.dtype)
    eps = max(claimed.eps, coarsest(claimed.weights, claimed.output))  # of the dtypes as they came
    whole, parts = Claim(weights, output, eps), {}
    if weights is not None:
        parts["weights"] = Claim(weights, None, eps)
    if output is not None:
        parts["output"] = Claim(None, output, eps)
    fits = {name: compare(expected, part) for name, part in parts.items()}
    residual = max(each.residual for each in fits.values())
    wrong = tuple(name for name, each in fits.items() if not each.excess <= 1)
    rounded: tuple[Finding, ...] = ()
    n_decimals = written(claimed, wrong)
    if wrong:
        rounded = as_rounded(expected, parts, n_decimals)
        right = {name for finding in rounded for name in finding.claims}
        if "weights" in right and _follows(with_room(whole, n_decimals, 1), expected.value):
            right.add("output")  # it was made of the rounded weights
        wrong = tuple(name for name in wrong if name not in right)
        whole = with_room(whole, n_decimals)
        parts = {name: with_room(part, n_decimals) for name, part in parts.items()}
    turned = (Finding("weights_transposed", math.inf, residual, claims=("weights",)),) if layout == "transposed" else ()
    if not wrong:
        # An average is right where all heads are the same, and what is said of it then would be a guess.
        return Diagnosis(turned or rounded, not turned, "weights" if turned else None, residual=residual)

    search = Search(given, d_model, expected, progress)
    found, unexplained = _explained(search, whole, parts, wrong)
    found = (*turned, *found)
    apart = {name: fits[name].residual for name in unexplained}
    odd = nan_rows(whole.weights, given.visible) if "weights" in unexplained else None
    if odd is not None:
        besides = _besides_nan(expected, parts["weights"])
        found, apart["weights"] = (*found, odd), besides.residual
        if besides.excess <= 1:
            del apart["weights"]
    steps = [STEPS.get(finding.cause, "weights") for finding in found]
    if apart:
        steps.append(first_difference(given, with_room(whole, n_decimals, 1), wrong))
    order = ("query", "key", "value", "scores", "scaled", "masked", "weights", "output")
    first = min(steps, key=order.index)
    return Diagnosis(found, False, first, tuple(apart), residual, tuple(apart.values()))


def _besides_nan(expected: Computed, claim: Claim) -> Fit:
    """How far claimed weights are off where they are numbers."""
    assert claim.weights is not None
    numbers = torch.where(claim.weights.isnan(), expected.weights, claim.weights)
    return compare(expected, claim._replace(weights=numbers))


def _explained(
    search: Search, whole: Claim, parts: dict[str, Claim], wrong: tuple[str, ...]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The causes of all numbers together or, where no mistake gives both, of each by itself; and what has none."""
    if len(parts) > 1 and _follows(whole, search.expected.value):  # the output has nothing to add
        found = search.findings(parts["weights"], tuple(parts))
        return ((), ("weights",)) if found is None else (found, ())
    by_part = {name: search.findings(parts[name], (name,)) for name in wrong[:1]}
    if len(parts) > 1 and by_part[wrong[0]] is not None:
        found = search.findings(whole, tuple(parts))
        if found is not None:
            return found, ()
    by_part |= {name: search.findings(parts[name], (name,)) for name in wrong[1:]}
    unexplained = tuple(name for name, each in by_part.items() if each is None)
    return tuple(finding for each in by_part.values() for finding in each or ()), unexplained


def _given(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | Array | Literal["causal"] | None,
    scale: float | None,
    softcap: float | None,
    rotary: Rotary | None,
) -> Given:
    row = query[..., :1, :] if query.ndim > 1 else query
    attention(row, key, value, softcap=softcap)  # says what does not fit
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_finite(name, x)
        if not x.numel():
            raise ValueError(f"{name}: expected at least one number, got shape {tuple(x.shape)}")
    n_query, n_key = query.shape[-2], key.shape[-2]
    visible, bias = split_mask(read_mask(mask, n_query, n_key), n_query, n_key)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    wide = (widened(query.detach()), widened(key.detach()), widened(value.detach()))
    masks = other_masks(visible, n_query, n_key)
    every = masks if visible is None else {"given": visible, **masks}
    empty = frozenset(name for name, each in every.items() if not each.any(dim=-1).all())
    return Given(*wide, visible, bias, scale, softcap, rotary, masks, query.dtype, empty)


def _follows(claim: Claim, value: Tensor) -> bool:
    """Whether the claimed output is what the claimed weights make of the values."""
    if claim.weights is None or claim.output is None:
        return False
    limit = 4 * claim.eps * (claim.weights.abs() @ value.abs()) + 0.01 * claim.eps + claim.output_off
    made = claim.weights @ value
    return bool((((made - claim.output).abs() <= limit) | (made.isnan() & claim.output.isnan())).all())
