"""The factors of one cell: the numbers it was made from, by name, in the order of the formula.

They are float64 on the CPU, with one axis. `index` is a cell of the tensor explained, one whole number an axis.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.core.rotary import Rotary, rotary_angles, turning_pair
from attnviz.core.shapes import broadcast, check_dtype, check_shape, meet

Factors = dict[str, Tensor]
Index = tuple[int, ...]


def attention_factors(
    trace: AttentionTrace,
    step: str,
    index: Index,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    softmax_dtype: torch.dtype | None = None,
) -> Factors:
    """What scores, scaled, masked, weights and output were made from: two factors of one length.

    Raises ValueError for a mask that does not fit or is missing, TypeError for its dtype.

    >>> from attnviz.core.attention import attention
    >>> trace = attention(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([[5.0]]))
    >>> {name: factor.tolist() for name, factor in attention_factors(trace, "scores", (0, 0)).items()}
    {'query': [1.0, 2.0], 'key': [3.0, 4.0]}
    """
    if step == "scores":
        return _scores(trace, index)
    if step == "scaled":
        return _scaled(trace, index, scale)
    if step == "masked":
        return _masked(trace, index, mask)
    if step == "weights":
        return _weights(trace, index, softmax_dtype)
    return _output(trace, index)


def projection_factors(
    projected: Tensor, index: Index, x: Tensor | None, weight: Tensor | None, bias: Tensor | None
) -> Factors:
    """What a projected cell was made from: the token of x (..., s, m) and a column of the weight (m, k).

    A projected tensor with a head axis at -3 that x lacks has a weight (m, h*k). Raises ValueError for what is
    missing or does not fit, TypeError for what is no tensor.

    >>> x, weight = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
    >>> {name: factor.tolist() for name, factor in projection_factors(x @ weight, (0, 0), x, weight, None).items()}
    {'x': [1.0, 2.0], 'weight': [3.0, 4.0]}
    """
    if x is None:
        raise ValueError("x: expected the tensor (..., s, m) that was projected, got None")
    if weight is None:
        raise ValueError("weight: expected the matrix (m, k) of the projection, got None")
    check_shape("x", x, "... s m", s=projected.shape[-2])
    check_shape("weight", weight, "m k")
    n_features = projected.shape[-1]
    # (..., h, s, k) of x (..., s, m): the head is no axis of x, but a block of the weight's columns.
    has_heads = projected.ndim > x.ndim and weight.shape[-1] == projected.shape[-3] * n_features
    leading = index[:-3] if has_heads else index[:-2]
    column = index[-3] * n_features + index[-1] if has_heads else index[-1]
    n_columns = projected.shape[-3] * n_features if has_heads else n_features
    check_shape("weight", weight, "m k", m=x.shape[-1], k=n_columns)
    full = tuple(projected.shape[:-3] if has_heads else projected.shape[:-2])
    if broadcast(x.shape[:-2], full) != full:
        raise ValueError(f"x: expected leading axes that broadcast to {full}, got shape {tuple(x.shape)}")
    token = _float64(x[meet(leading, full, x.shape[:-2])][index[-2]])  # (m,)
    weights = _float64(weight[:, column])  # (m,)
    if bias is not None:
        check_shape("bias", bias, "k", k=n_columns)
        token = torch.cat([token, torch.ones(1, dtype=torch.float64)])  # (m + 1,)
        weights = torch.cat([weights, _float64(bias[column, None])])  # (m + 1,)
    return {"x": token, "weight": weights}


def rotation_factors(rotated: Tensor, index: Index, projected: Tensor | None, rotary: Rotary) -> Factors:
    """What a rotated cell was made from: the two features that turn together before rotation, the cell's first.

    The first of a pair is turned by [cos, -sin], the second by [cos, sin], in the dtype they were multiplied in.
    Raises ValueError for what is missing or does not fit, TypeError for dtypes.

    >>> from attnviz.core.rotary import rotate
    >>> x = torch.tensor([[1.0, 2.0]])
    >>> {name: factor.tolist() for name, factor in rotation_factors(rotate(x), (0, 1), x, Rotary()).items()}
    {'projected': [2.0, 1.0], 'rotation': [1.0, 0.0]}
    """
    if projected is None:
        raise ValueError("projected: expected the tensor (..., s, k) before rotation, got None")
    check_shape("projected", projected, "...")
    if projected.shape != rotated.shape:
        came = tuple(projected.shape)
        raise ValueError(f"projected: expected the shape after rotation, {tuple(rotated.shape)}, got {came}")
    check_dtype("projected", projected, "the rotated tensor", rotated.dtype)
    *leading, s, own = index
    angles = rotary_angles(s + 1, rotated.shape[-1], rotary)[s]  # (i,)
    first, second, pair = turning_pair(own, rotated.shape[-1], rotary.layout)
    is_first, other = own == first, second if own == first else first
    cos, sin = angles[pair].cos(), angles[pair].sin()
    rotation = torch.stack([cos, -sin if is_first else sin]).to(rotated.dtype)  # (2,)
    token = projected[(*leading, s)]  # (k,)
    return {"projected": _float64(token[[own, other]]), "rotation": _float64(rotation)}


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
        check_shape("mask", mask, "...")
        if mask.dtype != torch.bool and not mask.is_floating_point():
            raise TypeError(f"mask: expected dtype bool (True = may attend) or floating (added), got {mask.dtype}")
        if broadcast(mask.shape, full) != tuple(full):
            came = tuple(mask.shape)
            raise ValueError(f"mask: expected a shape that broadcasts to {tuple(full)}, got {came}")
        added = mask[meet(index, full, mask.shape)]  # ()
        if mask.dtype == torch.bool:
            added = torch.tensor(0.0 if added else -math.inf)  # to hide is to add -inf
    return {"scaled": _float64(scaled[None]), "mask": _float64(added.to(scaled.dtype)[None])}


def _weights(trace: AttentionTrace, index: Index, softmax_dtype: torch.dtype | None) -> Factors:
    row = trace.masked[index[:-1]]  # (u,)
    nowhere = bool(row.isneginf().all())  # may attend nowhere
    row = _float64(row.to(softmax_dtype or row.dtype))  # (u,)
    exponential = torch.zeros_like(row) if nowhere else torch.exp(row - row.max())  # (u,)
    return {"masked": row, "exponential": exponential}


def _output(trace: AttentionTrace, index: Index) -> Factors:
    *leading, s, d = index
    full = trace.output.shape[:-2]
    weights = trace.weights[meet(leading, full, trace.weights.shape[:-2])][s]  # (u,)
    value = trace.value[meet(leading, full, trace.value.shape[:-2])][:, d]  # (u,)
    return {"weights": _float64(weights), "value": _float64(value)}


def _float64(x: Tensor) -> Tensor:
    return x.detach().to("cpu", torch.float64)
