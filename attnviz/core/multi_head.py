"""Multi-head attention: tokens in, one attention a head, the heads' outputs side by side and projected.

    x (..., s, m) -> query (..., h, s, k)
    context (..., u, m') -> key (..., h_kv, u, k), value (..., h_kv, u, d)
    attention of each head (..., h, s, d) -> merged (..., s, h*d) -> output (..., s, m'')

With as many key heads as query heads it is multi-head attention, with fewer grouped-query attention, with one
multi-query attention. Keys and values come from x itself or, in cross-attention, from a context.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace, attention, project
from attnviz.core.heads import merge_heads, split_heads
from attnviz.core.rotary import Rotary, rotate
from attnviz.core.shapes import broadcast, check_count, check_dtype, check_shape


class MultiHead(NamedTuple):
    """Every tensor of one multi-head attention."""

    trace: AttentionTrace  # heads at axis -3; query and key after rotation
    projected_query: Tensor  # (..., h, s, k)  before rotation; without one, the very tensor trace.query
    projected_key: Tensor  # (..., h_kv, u, k)  before rotation; without one, the very tensor trace.key
    merged: Tensor  # (..., s, h*d)  head h owns the features h*d to (h + 1)*d - 1
    output: Tensor  # (..., s, m'')  the merged heads projected; without w_o, the very tensor merged


def multi_head(
    x: Tensor,
    context: Tensor | None = None,
    *,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor | None = None,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
    b_o: Tensor | None = None,
    n_heads: int,
    n_kv_heads: int | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    softmax_dtype: torch.dtype | None = None,
    rotary: Rotary | None = None,
) -> MultiHead:
    """Attention of many heads, all its steps: x (..., s, m), context (..., u, m') -> output (..., s, m'').

    w_q (m, h*k), w_k (m', h_kv*k), w_v (m', h_kv*d), w_o (h*d, m''), with biases of as many columns; without
    w_o the output is the merged heads. Keys and values are read from context (cross-attention), or from x when
    it is None; its leading axes broadcast with those of x. n_kv_heads divides n_heads, and is n_heads when
    None. mask broadcasts to (..., h, s, u): one for each sequence, (b, s, u), is given as mask[:, None].
    rotary turns queries and keys alike, so that token 0 of x and of context stand at the same place. mask,
    scale, softcap and softmax_dtype are those of attention.
    Raises ValueError for shapes and numbers, TypeError for dtypes, that do not fit.
    Source: Vaswani et al. 2017, section 3.2.2; groups: Ainslie et al. 2023, section 2.2; one key head: Shazeer
    2019, section 3.

    >>> x, w_q, w_kv = torch.ones(1, 3, 4), torch.ones(4, 4), torch.ones(4, 2)
    >>> heads = multi_head(x, w_q=w_q, w_k=w_kv, w_v=w_kv, n_heads=4, n_kv_heads=2)
    >>> heads.trace.query.shape, heads.trace.key.shape, heads.trace.weights.shape
    (torch.Size([1, 4, 3, 1]), torch.Size([1, 2, 3, 1]), torch.Size([1, 4, 3, 3]))
    >>> heads.output[0, 0]
    tensor([4., 4., 4., 4.])
    """
    n_heads, n_kv_heads = _check_heads(n_heads, n_kv_heads)
    _check_projections(x, context, (w_q, w_k, w_v, w_o), (b_q, b_k, b_v, b_o), n_heads, n_kv_heads)
    _check_rotary(rotary, w_q.shape[-1] // n_heads)
    read = x if context is None else context

    projected_query = split_heads(project(x, w_q, b_q), n_heads)  # (..., h, s, k)
    projected_key = split_heads(project(read, w_k, b_k), n_kv_heads)  # (..., h_kv, u, k)
    value = split_heads(project(read, w_v, b_v), n_kv_heads)  # (..., h_kv, u, d)
    query, key = projected_query, projected_key
    if rotary is not None:
        query, key = rotate(query, rotary), rotate(key, rotary)
    trace = attention(query, key, value, mask=mask, scale=scale, softcap=softcap, softmax_dtype=softmax_dtype)
    merged = merge_heads(trace.output)  # (..., s, h*d)
    output = merged if w_o is None else project(merged, w_o, b_o)  # (..., s, m'')
    return MultiHead(trace, projected_query, projected_key, merged, output)


def _check_heads(n_heads: int, n_kv_heads: int | None) -> tuple[int, int]:
    n_heads = check_count("n_heads", n_heads, low=1)
    n_kv_heads = n_heads if n_kv_heads is None else check_count("n_kv_heads", n_kv_heads, low=1)
    if n_heads % n_kv_heads:
        raise ValueError(f"n_kv_heads: expected a divisor of n_heads={n_heads}, got {n_kv_heads}")
    return n_heads, n_kv_heads


def _check_rotary(rotary: Rotary | None, d_k: int) -> None:
    if rotary is not None and d_k % 2:
        raise ValueError(f"w_q: expected an even number of columns a head, which rotary turns in pairs, got {d_k}")


def _check_projections(
    x: Tensor,
    context: Tensor | None,
    weights: tuple[Tensor, Tensor, Tensor, Tensor | None],
    biases: tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None],
    n_heads: int,
    n_kv_heads: int,
) -> None:
    """Name the argument of multi_head that does not fit, where project would know it as weight or bias alone."""
    w_q, w_k, w_v, w_o = weights
    check_shape("x", x, "... s m")
    read = x
    if context is not None:
        check_shape("context", context, "... u m")
        check_dtype("context", context, "x", x.dtype)
        if broadcast(x.shape[:-2], context.shape[:-2]) is None:
            asked, came = tuple(x.shape[:-2]), tuple(context.shape[:-2])
            raise ValueError(f"context: expected leading axes that broadcast with x's {asked}, got {came}")
        read = context

    check_shape("w_q", w_q, "m h*k", m=x.shape[-1])
    if w_q.shape[-1] % n_heads:
        raise ValueError(f"n_heads: expected a divisor of the {w_q.shape[-1]} columns of w_q, got {n_heads}")
    if w_q.shape[-1] == 0:
        raise ValueError("w_q: expected at least one column a head, got 0")
    d_k = w_q.shape[-1] // n_heads
    check_shape("w_k", w_k, "m h_kv*k", **{"m": read.shape[-1], "h_kv*k": n_kv_heads * d_k})
    check_shape("w_v", w_v, "m h_kv*d", m=read.shape[-1])
    if w_v.shape[-1] % n_kv_heads:
        raise ValueError(f"n_kv_heads: expected a divisor of the {w_v.shape[-1]} columns of w_v, got {n_kv_heads}")
    d_v = w_v.shape[-1] // n_kv_heads
    if w_o is not None:
        check_shape("w_o", w_o, "h*d m", **{"h*d": n_heads * d_v})
    elif biases[-1] is not None:
        raise ValueError(f"b_o: expected None where w_o is None, got a {type(biases[-1]).__name__}")

    columns_of = ("h*k", "h_kv*k", "h_kv*d", "m")
    for name, weight, bias, columns in zip("qkvo", weights, biases, columns_of, strict=True):
        if weight is None:
            continue
        check_dtype(f"w_{name}", weight, "x", x.dtype)
        if bias is not None:
            check_shape(f"b_{name}", bias, columns, **{columns: weight.shape[-1]})
            check_dtype(f"b_{name}", bias, "x", x.dtype)
