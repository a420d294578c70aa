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

from attnviz.core.attention import AttentionTrace
from attnviz.core.shapes import broadcast, check_shape, meet

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

Factors = dict[str, Tensor]
Index = tuple[int, ...]


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
) -> Arithmetic:
    """The arithmetic of the cell of trace.<step> at `index`, one number for each of its axes.

    query, key, value need what they were projected from: x (..., s, m), weight (m, k) or, when the trace has
    a head axis that x lacks, (m, h*k); bias (h*k,) counts as the weight of a feature that is always 1. masked
    needs the mask, scaled the scale and softcap, that the trace was made with. The products of masked are the
    two numbers added; those of weights the exponentials, of which the total is a share (tolerance 1e-6).
    Raises ValueError, naming the argument, for what is missing or does not fit.

    >>> from attnviz.core.attention import attention
    >>> trace = attention(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([[5.0]]))
    >>> cell = explain(trace, "scores", (0, 0))
    >>> cell.equation, cell.products.tolist(), cell.total
    ('bsk,buk->bsu', [3.0, 8.0], 11.0)
    """
    if step not in STEPS:
        raise ValueError(f"step: expected one of {', '.join(STEPS)}, got {step!r}")
    tensor: Tensor = getattr(trace, step)
    index = _checked(index, step, tuple(tensor.shape))
    cell = float(tensor[index])
    precision = torch.finfo(tensor.dtype)
    rounding = max(1e-6, 4 * precision.eps)  # in half precision, of up to four operations one after the other

    if step == "weights":
        factors = _weights(trace, index)
        products = factors["exponential"]
        whole = float(products.sum())
        total = float(products[index[-1]]) / whole if whole else 0.0  # a row that may attend nowhere
        return Arithmetic(step, index, EQUATIONS[step], factors, products, total, rounding, cell)

    if step == "scores":
        factors = _scores(trace, index)
    elif step == "scaled":
        factors = _scaled(trace, index, scale)
    elif step == "masked":
        factors = _masked(trace, index, mask)
    elif step == "output":
        factors = _output(trace, index)
    else:
        factors = _projected(tensor, index, x, weight, bias)
    left, right = factors.values()
    products = torch.cat([left, right]) if step == "masked" else left * right
    total = float(products.sum())
    if step == "scaled" and softcap is not None:
        total = softcap * math.tanh(total / softcap)
    added = float(products[products.isfinite()].abs().sum())  # -inf is exact
    tolerance = rounding * added + precision.smallest_normal * precision.eps
    return Arithmetic(step, index, EQUATIONS[step], factors, products, total, tolerance, cell)


def _projected(tensor: Tensor, index: Index, x: Tensor | None, weight: Tensor | None, bias: Tensor | None) -> Factors:
    if x is None:
        raise ValueError("x: expected the tensor (..., s, m) that was projected, got None")
    if weight is None:
        raise ValueError("weight: expected the matrix (m, k) of the projection, got None")
    check_shape("x", x, "... s m", s=tensor.shape[-2])
    n_features = tensor.shape[-1]
    # (..., h, s, k) of x (..., s, m): the head is no axis of x, but a block of the weight's columns.
    has_heads = tensor.ndim > x.ndim and weight.shape[-1] == tensor.shape[-3] * n_features
    leading = index[:-3] if has_heads else index[:-2]
    column = index[-3] * n_features + index[-1] if has_heads else index[-1]
    n_columns = tensor.shape[-3] * n_features if has_heads else n_features
    check_shape("weight", weight, "m k", m=x.shape[-1], k=n_columns)
    full = tuple(tensor.shape[:-3] if has_heads else tensor.shape[:-2])
    if broadcast(x.shape[:-2], full) != full:
        raise ValueError(f"x: expected leading axes that broadcast to {full}, got shape {tuple(x.shape)}")
    token = _float64(x[meet(leading, full, x.shape[:-2])][index[-2]])  # (m,)
    weights = _float64(weight[:, column])  # (m,)
    if bias is not None:
        check_shape("bias", bias, "k", k=n_columns)
        token = torch.cat([token, torch.ones(1, dtype=torch.float64)])  # (m + 1,)
        weights = torch.cat([weights, _float64(bias[column, None])])  # (m + 1,)
    return {"x": token, "weight": weights}


def _scores(trace: AttentionTrace, index: Index) -> Factors:
    *leading, s, u = index
    full = trace.scores.shape[:-2]
    query = trace.query[meet(leading, full, trace.query.shape[:-2])][s]  # (k,)
    key = trace.key[meet(leading, full, trace.key.shape[:-2])][u]  # (k,)
    return {"query": _float64(query), "key": _float64(key)}


def _scaled(trace: AttentionTrace, index: Index, scale: float | None) -> Factors:
    scale = 1 / math.sqrt(trace.query.shape[-1]) if scale is None else scale
    scores = _float64(trace.scores[index][None])  # (1,)
    return {"scores": scores, "scale": torch.full_like(scores, scale)}


def _masked(trace: AttentionTrace, index: Index, mask: Tensor | None) -> Factors:
    full = trace.masked.shape
    scaled = trace.scaled[meet(index, full, trace.scaled.shape)]
    if mask is None:
        same = torch.isclose(scaled, trace.masked[index], rtol=0, atol=0, equal_nan=True)
        if not same:
            raise ValueError("mask: expected the mask of this trace, masked differs from scaled, got None")
        added = torch.zeros((), dtype=torch.float64)
    else:
        if broadcast(mask.shape, full) != tuple(full):
            came = tuple(mask.shape)
            raise ValueError(f"mask: expected a shape that broadcasts to {tuple(full)}, got {came}")
        added = mask[meet(index, full, mask.shape)]  # ()
        if mask.dtype == torch.bool:
            added = torch.tensor(0.0 if added else -math.inf)  # to hide is to add -inf
    return {"scaled": _float64(scaled[None]), "mask": _float64(added.to(scaled.dtype)[None])}


def _weights(trace: AttentionTrace, index: Index) -> Factors:
    row = _float64(trace.masked[index[:-1]])  # (u,)
    highest = row.max()
    exponential = torch.zeros_like(row) if highest == -math.inf else torch.exp(row - highest)  # (u,)
    return {"masked": row, "exponential": exponential}


def _output(trace: AttentionTrace, index: Index) -> Factors:
    *leading, s, d = index
    full = trace.output.shape[:-2]
    weights = trace.weights[meet(leading, full, trace.weights.shape[:-2])][s]  # (u,)
    value = trace.value[meet(leading, full, trace.value.shape[:-2])][:, d]  # (u,)
    return {"weights": _float64(weights), "value": _float64(value)}


def _float64(x: Tensor) -> Tensor:
    return x.detach().to("cpu", torch.float64)


def _checked(index: Sequence[int], step: str, shape: Index) -> Index:
    """The index as ints, each of them within the axis it belongs to."""
    try:
        whole = tuple(operator.index(i) for i in index)
    except TypeError:
        whole = ()
    if len(whole) != len(shape) or not all(0 <= i < n for i, n in zip(whole, shape, strict=True)):
        raise ValueError(f"index: expected {len(shape)} whole numbers from 0 below {step}'s shape {shape}, got {index}")
    return whole
