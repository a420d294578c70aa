"""What a diagnosis says: its findings, in the order in which the causes act."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

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


class Diagnosis(NamedTuple):
    """What was found, in the order in which it happens; correct says that every number is right within rounding."""

    findings: tuple[Finding, ...]
    correct: bool
    first_step: str | None  # of AttentionTrace, the first that differs: query, key, value, scores ... output
    unexplained: tuple[str, ...] = ()  # what differs and no cause reproduces: "weights", "output"
    residual: float = 0.0  # between the numbers and the right ones


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
    summed = (sums - 1).abs() <= 64 * claim.eps
    if given.visible is not None:
        summed = summed | ((sums == 0) & ~given.visible.any(dim=-1))
    if not summed.all() or (weights < 0).any():
        return "weights"
    if not torch.equal(weights > 0, expected > 0):
        return "masked"
    if torch.equal(weights.argsort(dim=-1), expected.argsort(dim=-1)):
        return "scaled"
    return "scores"
