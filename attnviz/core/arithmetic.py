"""The arithmetic of one cell: from which numbers, by which products, by which sum it came.

Everything is summed again in float64 from the trace's own numbers of the step before, so the total agrees
with the cell within `tolerance`. That is measured by the sum of |products|, not by the total: where products
cancel, a float32 sum is good only to a part of what was added. Half precision is allowed its own rounding.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.arithmetic_terms import Factors, Index, attention_factors, projection_factors, rotation_factors
from attnviz.core.attention import AttentionTrace
from attnviz.core.rotary import Rotary
from attnviz.core.shapes import check_dtype, check_shape

EQUATIONS = {  # of one head
    "query": "bsm,mk->bsk",
    "key": "bum,mk->buk",
    "value": "bum,md->bud",
    "scores": "bsk,buk->bsu",
    "scaled": "bsu->bsu",
    "masked": "bsu->bsu",
    "weights": "bsu->bsu",
    "output": "bsu,bud->bsd",
}
STEPS = tuple(EQUATIONS)
ROTATIONS = {"query": "bsj,sjk->bsk", "key": "buj,ujk->buk"}  # j: a feature before rotation


class Arithmetic(NamedTuple):
    """How one cell came about. Factors and products are float64 on the CPU, with one axis."""

    step: str
    index: Index  # type: ignore[assignment]  # hides tuple.index, which no one asks of a cell
    equation: str  # the einsum of the step, for one head
    factors: Factors  # by name, in the order of the formula
    products: Tensor  # what is summed; of the weights, the row's exponentials
    total: float  # the cell again, in float64
    tolerance: float  # how far the total may be from the cell
    cell: float  # the trace's own number


def explain(
    trace: AttentionTrace,
    step: str,
    index: Sequence[int],
    *,
    x: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    softmax_dtype: torch.dtype | None = None,
    projected: Tensor | None = None,
    rotary: Rotary | None = None,
) -> Arithmetic:
    """The arithmetic of the cell of trace.<step> at `index`, one number for each of its axes.

    query, key, value need what they were projected from: x (..., s, m), weight (m, k) or, when the trace has
    a head axis that x lacks, (m, h*k); bias (h*k,) counts as the weight of a feature that is always 1. query
    and key of a trace with a rotary need, in place of these, the tensor that was rotated, `projected`
    (..., s, k). masked needs the mask, scaled the scale and softcap, weights the softmax_dtype, that the trace
    was made with. The products of masked are the two numbers added, of which -inf hides the other; those of
    weights the exponentials, of which the total is a share (tolerance 1e-6).
    Raises ValueError for what is missing or does not fit, TypeError for dtypes, naming the argument.

    >>> from attnviz.core.attention import attention
    >>> trace = attention(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([[5.0]]))
    >>> cell = explain(trace, "scores", (0, 0))
    >>> cell.equation, cell.products.tolist(), cell.total
    ('bsk,buk->bsu', [3.0, 8.0], 11.0)
    """
    if step not in STEPS:
        raise ValueError(f"step: expected one of {', '.join(STEPS)}, got {step!r}")
    _check_numbers(softcap, softmax_dtype)
    tensor: Tensor = getattr(trace, step)
    index = _checked(index, step, tuple(tensor.shape))
    if rotary is not None and step in ROTATIONS:
        return _summed(step, index, ROTATIONS[step], rotation_factors(tensor, index, projected, rotary), tensor)
    if step in ("query", "key", "value"):
        return _summed(step, index, EQUATIONS[step], projection_factors(tensor, index, x, weight, bias), tensor)
    factors = attention_factors(trace, step, index, mask=mask, scale=scale, softmax_dtype=softmax_dtype)
    if step == "weights":
        return _share(index, factors, tensor, softmax_dtype)
    summed = _summed(step, index, EQUATIONS[step], factors, tensor)
    if step == "scaled" and softcap is not None:
        return summed._replace(total=softcap * math.tanh(summed.total / softcap))
    return summed


def explain_projection(
    projected: Tensor, index: Sequence[int], *, x: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Arithmetic:
    """The arithmetic of one cell of any projection, x (..., s, m) by weight (m, k): projected (..., s, k).

    So too of the output of many heads, whose x is the merged heads (..., s, h*d); and of a query or key before
    rotation, (..., h, s, k) by a weight (m, h*k). bias (k,) counts as the weight of a feature that is always 1.
    Raises ValueError for what does not fit, TypeError for what is no floating tensor.

    >>> x, weight = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
    >>> cell = explain_projection(x @ weight, (0, 0), x=x, weight=weight)
    >>> cell.equation, cell.products.tolist(), cell.total
    ('bsm,mk->bsk', [3.0, 8.0], 11.0)
    """
    check_shape("projected", projected, "... s k")
    check_dtype("projected", projected, "projected", projected.dtype)
    index = _checked(index, "projected", tuple(projected.shape))
    return _summed("projection", index, "bsm,mk->bsk", projection_factors(projected, index, x, weight, bias), projected)


def _summed(step: str, index: Index, equation: str, factors: Factors, tensor: Tensor) -> Arithmetic:
    """The cell as the sum of its products; of masked, of the two numbers themselves."""
    left, right = factors.values()
    products = torch.cat([left, right]) if step == "masked" else left * right
    hidden = step == "masked" and float(right) == -math.inf  # even an infinite score, or NaN
    total = -math.inf if hidden else float(products.sum())
    precision = torch.finfo(tensor.dtype)
    added = float(products[products.isfinite()].abs().sum())  # -inf is exact
    tolerance = _rounding(tensor.dtype) * added + precision.smallest_normal * precision.eps
    return Arithmetic(step, index, equation, factors, products, total, tolerance, float(tensor[index]))


def _share(index: Index, factors: Factors, tensor: Tensor, softmax_dtype: torch.dtype | None) -> Arithmetic:
    """The cell as its share of the row's exponentials."""
    products = factors["exponential"]
    whole = float(products.sum())
    total = float(products[index[-1]]) / whole if whole else 0.0  # a row that may attend nowhere
    tolerance = max(_rounding(tensor.dtype), _rounding(softmax_dtype or tensor.dtype))
    return Arithmetic("weights", index, EQUATIONS["weights"], factors, products, total, tolerance, float(tensor[index]))


def _rounding(dtype: torch.dtype) -> float:
    return max(1e-6, 4 * torch.finfo(dtype).eps)  # in half precision, of up to four operations one after the other


def _check_numbers(softcap: float | None, softmax_dtype: torch.dtype | None) -> None:
    if softcap is not None and not 0 < softcap < math.inf:
        raise ValueError(f"softcap: expected a positive finite number or None, got {softcap}")
    if softmax_dtype is not None and not softmax_dtype.is_floating_point:
        raise TypeError(f"softmax_dtype: expected a floating dtype or None, got {softmax_dtype}")


def _checked(index: Sequence[int], step: str, shape: Index) -> Index:
    """The index as ints, each of them within the axis it belongs to."""
    try:
        whole = tuple(operator.index(i) for i in index)
    except TypeError:
        whole = ()
    if len(whole) != len(shape) or not all(0 <= i < n for i, n in zip(whole, shape, strict=True)):
        raise ValueError(f"index: expected {len(shape)} whole numbers from 0 below {step}'s shape {shape}, got {index}")
    return whole
