"""The search for the causes of a difference: every hypothesis on a sample, those that pass on all numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from attnviz.core.diagnosis_causes import Change, changes
from attnviz.core.diagnosis_compute import Computed
from attnviz.core.diagnosis_fitted import Claim
from attnviz.core.diagnosis_pairs import Hypothesis, hypotheses
from attnviz.core.diagnosis_recipes import Given, Recipe, Sample
from attnviz.core.diagnosis_result import Finding
from attnviz.core.diagnosis_screening import Fit, compare, explains, fit, sampled

_READ_OFF = ("fitted", "dropped")  # choices whose number is found in the claim


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Let torch compute on the calling thread alone: hypotheses are many and small, and waking others costs more.

    >>> with on_one_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Search:
    """The search for one diagnosis: what can be wrong with these inputs is listed once."""

    def __init__(
        self,
        given: Given,
        d_model: int | None,
        expected: Computed,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.given = given
        self.changes = changes(given, d_model=d_model)
        self.expected = expected
        self._progress, self._n_tried = progress, 0

    def findings(self, claim: Claim, names: tuple[str, ...]) -> tuple[Finding, ...] | None:
        """The causes that reproduce a claim, one or two; None where there are none."""
        sample = sampled(self.expected, claim)
        sums = None
        if claim.weights is not None:
            rounded = max(claim.weights.shape[-4:]) * claim.weights_off / 16  # which all add up, at worst
            sums = sums_to_one(claim.weights, max(claim.eps, 2.0**-10, rounded))
        for n_causes in (1, 2):
            every = hypotheses(self.given, self.changes, n_causes)
            if sums is not None:
                every = [each for each in every if could_be(each.recipe, sums)]
            for fitted in (False, True):
                found = self._passing([each for each in every if each.fitted == fitted], claim, sample)
                if found:
                    return self._named(found, claim, names)
        return None

    def _passing(self, every: Sequence[Hypothesis], claim: Claim, sample: Sample) -> list[tuple[Hypothesis, Fit]]:
        """The hypotheses that pass on the sample, then on all; those of one recipe are computed once."""
        known: dict[Recipe, Fit | None] = {}
        before = compare(self.expected, claim)
        for each in every:
            if each.recipe not in known:
                self._tell()
                tried = fit(self.given, each.recipe, claim, sample)
                known[each.recipe] = explains(self.given, each.recipe, claim, before) if tried.excess <= 1 else None
        passing = [(each, found) for each in every if (found := known[each.recipe]) is not None]
        closest = min((found.spread for _, found in passing), default=0.0)
        return [(each, found) for each, found in passing if found.spread <= max(4 * closest, 4 * claim.eps)]

    def _tell(self) -> None:
        self._n_tried += 1
        if self._progress is not None:
            self._progress(self._n_tried)

    def _named(
        self, passing: list[tuple[Hypothesis, Fit]], claim: Claim, names: tuple[str, ...]
    ) -> tuple[Finding, ...]:
        """The first of the fewest causes as findings, with the others that give the same numbers."""
        first, found = min(passing, key=lambda pair: len(pair[0].changes))
        codes = [change.code for change in first.changes]
        others = [[change.code for change in each.changes] for each, _ in passing]
        before = compare(self.expected, claim).residual
        findings = []
        for i, change in enumerate(first.changes):
            last = i == len(first.changes) - 1
            after = found.residual if last else self._after(first.changes[: i + 1], claim)
            value = found.value if found.value is not None and change.choice in _READ_OFF else change.value
            same = _same(codes, i, others)
            findings.append(Finding(change.code, before, after, same, value, names))
            before = after
        return tuple(findings)

    def _after(self, some: tuple[Change, ...], claim: Claim) -> float:
        recipe = Recipe()._replace(**{change.slot: change.choice for change in some})
        return fit(self.given, recipe, claim).residual


def _same(codes: list[str], i: int, others: list[list[str]]) -> tuple[str, ...]:
    """What may stand in the place of cause i; what replaces all of them stands with the first."""
    found: dict[str, None] = {}
    for other in others:
        if len(other) == len(codes) and other[:i] + other[i + 1 :] == codes[:i] + codes[i + 1 :]:
            found[other[i]] = None
        elif i == 0 and not set(other) & set(codes):
            found["+".join(other)] = None
    return tuple(code for code in found if code != codes[i])


def could_be(recipe: Recipe, stochastic: frozenset[int]) -> bool:
    """Say whether claimed weights can come from a recipe, by the axes over which they sum to 1.

    >>> could_be(Recipe(), frozenset({-1})), could_be(Recipe(axis=-2), frozenset({-1}))
    (True, False)
    """
    if recipe.mask == "after" or recipe.after in ("dropped", "rescaled"):
        return True
    axis = recipe.axis
    if recipe.after == "transposed" and axis >= -2:
        axis = -3 - axis
    return axis in stochastic


def sums_to_one(weights: Tensor, eps: float) -> frozenset[int]:
    """The axes, counted from the end, over which all sums are 1, 0 or NaN, roughly.

    >>> import torch
    >>> sorted(sums_to_one(torch.tensor([[0.5, 0.5], [0.25, 0.75]]), 1e-7))
    [-1]
    """
    found = set()
    for axis in range(-min(weights.ndim, 4), 0):
        sums = weights.sum(dim=axis)
        near = (sums - sums.round()).abs() <= 1e-3 + 16 * eps
        if bool((sums.isnan() | (near & (sums.round() >= 0) & (sums.round() <= 1))).all()):
            found.add(axis)
    return frozenset(found)
