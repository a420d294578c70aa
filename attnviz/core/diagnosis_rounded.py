"""Numbers that were rounded before they were saved: to how many decimals, and how much that leaves open."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.core.diagnosis_compute import Computed
from attnviz.core.diagnosis_fitted import Claim
from attnviz.core.diagnosis_result import Finding
from attnviz.core.diagnosis_screening import compare

MOST = 6  # decimals that are looked for: float32 tells no more of a weight
TO_NAME = 3  # decimals from which causes are looked for within rounding; fewer fit too many of them
_SURE = 0.45  # of the last decimal: a dtype that is coarser than this cannot show that it holds decimals
_FIRST = 4096  # numbers that are looked at before all are


def decimals(x: Tensor) -> int | None:
    """Return the fewest decimals, 1 to 6, with which every number of x is written; None where no number has any.

    x: of the dtype that it came in; of float64, float32's precision is asked. Whole numbers have no decimals.

    >>> decimals(torch.tensor([0.25, 0.5])), decimals(torch.tensor([1 / 3])), decimals(torch.tensor([0.0, 1.0]))
    (2, None, None)
    """
    if not x.numel():
        return None
    eps = max(torch.finfo(x.dtype).eps, torch.finfo(torch.float32).eps)
    wide = x.detach().flatten().double()
    largest = float(wide.abs().amax())
    if not largest < float("inf") or bool((wide == wide.round()).all()):
        return None
    for n in range(1, MOST + 1):
        if eps * largest * 10**n > _SURE:
            return None
        if _written(wide[:_FIRST], n, eps) and _written(wide, n, eps):
            return n
    return None


def half_unit(n_decimals: int) -> float:
    """Return how far a number may be from the one that was rounded.

    >>> half_unit(4)
    5e-05
    """
    return 0.5 * 10.0**-n_decimals


def _written(x: Tensor, n: int, eps: float) -> bool:
    units = x * 10**n
    return bool(((units - units.round()).abs() <= eps * units.abs()).all())


def written(claimed: Claim, wrong: tuple[str, ...]) -> dict[str, int]:
    """Say to how many decimals the numbers that differ were rounded, as they came: "weights", "output", or neither.

    >>> written(Claim(torch.tensor([[0.25, 0.75]]), None, 1e-7), ("weights",))
    {'weights': 2}
    """
    found = {name: x for name, x in (("weights", claimed.weights), ("output", claimed.output)) if name in wrong}
    counted = {name: None if x is None else decimals(x) for name, x in found.items()}
    return {name: n for name, n in counted.items() if n is not None}


def as_rounded(expected: Computed, parts: dict[str, Claim], n_decimals: dict[str, int]) -> tuple[Finding, ...]:
    """Find what is right as far as its decimals tell.

    >>> x, third = torch.tensor([[1 / 3, 2 / 3]]), torch.tensor([[0.33, 0.67]])
    >>> as_rounded(Computed(x, x, x, 1.0, 1.0), {"weights": Claim(third, None, 1e-7)}, {"weights": 2})[0].value
    2.0
    """
    found = []
    for name, n in n_decimals.items():
        fit = compare(expected, with_room(parts[name], n_decimals, 1))
        if fit.excess <= 1:
            found.append(Finding("rounded", fit.residual, fit.residual, value=float(n), claims=(name,)))
    return tuple(found)


def with_room(claim: Claim, n_decimals: dict[str, int], fewest: int = TO_NAME) -> Claim:
    """Let a claim be off by half of its last decimal, where it has as many as the fewest.

    >>> with_room(Claim(None, torch.tensor([[0.25]]), 1e-7), {"output": 2}, 1).output_off
    0.005
    """
    off = {name: half_unit(n) for name, n in n_decimals.items() if n >= fewest}
    return claim._replace(weights_off=off.get("weights", 0.0), output_off=off.get("output", 0.0))
