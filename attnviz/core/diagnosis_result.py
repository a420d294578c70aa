"""What a diagnosis says: its findings, in the order in which the causes act."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from attnviz.core.diagnosis_compute import compute
from attnviz.core.diagnosis_fitted import Claim
from attnviz.core.diagnosis_recipes import Given, Recipe


class Finding(NamedTuple):
    """One cause, and how far the numbers are from what was to be computed before and after it is allowed for."""

    cause: str  # one of diagnosis_causes.CODES or, of weights alone, of diagnosis_weights.NUMBERS
    residual_before: float  # the largest difference, as a share of the largest number expected
    residual_after: float  # the same with this cause, and those named before it, made on purpose
    same: tuple[str, ...] = ()  # other causes that would give these numbers; two together as "one+other"
    value: float | None = None  # the number that belongs to the cause, as the probability of a dropout
    claims: tuple[str, ...] = ("weights", "output")  # which of the numbers it explains
    where: tuple[int, ...] = ()  # of "nan": the first such row, by the axes (..., s)


class Diagnosis(NamedTuple):
    """What was found, in the order in which it happens; correct says that every number is right within rounding.

    Where numbers were rounded to decimals and are right as far as these tell, "rounded" is found, and all is correct.
    """

    findings: tuple[Finding, ...]
    correct: bool
    first_step: str | None  # of AttentionTrace, the first that differs: query, key, value, scores ... output
    unexplained: tuple[str, ...] = ()  # what differs and no cause reproduces: "weights", "output"
    residual: float = 0.0  # between the numbers and the right ones
    unexplained_by: tuple[float, ...] = ()  # the same of each that is unexplained


def nan_rows(weights: Tensor | None, visible: Tensor | None) -> Finding | None:
    """Find the rows of weights (..., s, u) that hold NaN though the mask shows them some key; None where none do.

    >>> nan_rows(torch.tensor([[0.5, 0.5], [math.nan, 1.0]]), None).where
    (1,)
    """
    if weights is None:
        return None
    rows = weights.isnan().any(dim=-1)
    if visible is not None:
        rows = rows & visible.any(dim=-1)
    if not rows.any():
        return None
    where = tuple(rows.nonzero()[0].tolist())
    return Finding("nan", math.inf, math.inf, value=float(rows.sum()), claims=("weights",), where=where)


def first_difference(
    given: Given, claim: Claim, wrong: tuple[str, ...]
) -> Literal["scores", "scaled", "masked", "weights", "output"]:
    """Name the first step that must differ, read off the numbers: where no cause explains them.

    weights where rows do not sum to 1 or are NaN, masked where other keys are hidden, scaled where the weights rank
    the keys as the scores do, else scores. An output without weights shows itself alone.

    >>> q = torch.eye(2)
    >>> given = Given(q, q, q, None, None, 1.0, None, None, {}, q.dtype)
    >>> first_difference(given, Claim(torch.tensor([[0.5, 0.6], [0.5, 0.5]]), None, 1e-7), ("weights",))
    'weights'
    """
    if claim.weights is None or "weights" not in wrong:
        return "output"
    weights, expected = claim.weights, compute(given, Recipe()).weights
    sums = weights.sum(dim=-1)
    summed = (sums - 1).abs() <= 64 * claim.eps + weights.shape[-1] * claim.weights_off
    if given.visible is not None:
        summed = summed | ((sums == 0) & ~given.visible.any(dim=-1))
    if not summed.all() or (weights < 0).any():
        return "weights"
    hidden = (weights == 0) & (expected > 0) & (claim.weights_off == 0)  # rounded to 0, it may have been shown
    if (hidden | ((weights > 0) & (expected == 0))).any():
        return "masked"
    if torch.equal(weights.argsort(dim=-1), expected.argsort(dim=-1)):
        return "scaled"
    return "scores"
