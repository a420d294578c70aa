"""One element of an einsum as the sum that it is: a product for each combination of the summed letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Element(NamedTuple):
    """How one element of the result came about; the tensors are on the CPU and have one axis, the terms."""

    index: dict[str, int]  # type: ignore[assignment]  # hides tuple.index: where the element stands, by letter
    summed: dict[str, Tensor]  # of each summed letter its place in every term, int64; the last runs fastest
    factors: tuple[Tensor, ...]  # of each operand its number in every term, float64
    products: Tensor  # of the factors of each term, float64
    total: float
    tolerance: float  # how far torch.einsum's element may be from the total


def unrolled(
    operands: Sequence[Tensor], letters: Sequence[Sequence[str]], at: Mapping[str, int], sizes: Mapping[str, int]
) -> Element:
    """The terms of one element of the result, in float64: each factor is read from its operand, and multiplied.

    letters: of each operand's axes; at: where the element stands, by the letters of the result; sizes: how far each
    summed letter runs.

    >>> operands, letters = [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])], ["sk", "uk"]
    >>> found = unrolled(operands, letters, {"s": 0, "u": 0}, {"k": 2})
    >>> found.products.tolist(), found.total
    ([3.0, 8.0], 11.0)
    """
    runs = [torch.arange(n) for n in sizes.values()]
    grids = torch.meshgrid(*runs, indexing="ij") if runs else ()
    summed = {letter: grid.flatten() for letter, grid in zip(sizes, grids, strict=True)}
    n_terms = len(next(iter(summed.values()))) if summed else 1
    places: dict[str, int | Tensor] = {**at, **summed}
    factors = []
    for x, axes in zip(operands, letters, strict=True):
        # One read for all terms: a fixed letter is a number, a summed one the list of its places, the same
        # list on both axes of a diagonal. An axis of size 1 is stretched.
        read = x.detach()[tuple(0 if n == 1 else places[a] for a, n in zip(axes, x.shape, strict=True))]
        factors.append(read.to("cpu", torch.float64).expand(n_terms))  # (terms,)
    products = torch.stack(factors).prod(dim=0)  # (terms,)
    tolerance = rounding(operands, n_terms) * float(products[products.isfinite()].abs().sum())
    return Element(dict(at), summed, tuple(factors), products, float(products.sum()), tolerance)


def rounding(operands: Sequence[Tensor], n_terms: int) -> float:
    """What part of the sum of |products| may be lost by rounding.

    Once to the dtype for each operand, and once in at least float32 for each term, as when they are added one after
    the other. Source: Higham 2002, section 3.1.

    >>> rounding([torch.ones(2)], n_terms=2)
    1e-06
    """
    eps = max((torch.finfo(x.dtype).eps for x in operands if x.is_floating_point()), default=0.0)
    return max(1e-6, len(operands) * eps + n_terms / 2 * min(eps, torch.finfo(torch.float32).eps))
