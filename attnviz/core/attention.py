"""Attention with nothing hidden: every step's numbers are returned.

Letters: b batch, h head, s query token (the row that reads), u key token (the column that is read),
m feature of X, k feature of a query or key, d feature of a value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.heads import for_heads_of, shared_by
from attnviz.core.memory import keep_freed_memory
from attnviz.core.shapes import broadcast, check_dtype, check_shape

keep_freed_memory()


class AttentionTrace(NamedTuple):
    """Every tensor of one attention, in the order of its making."""

    query: Tensor  # (..., s, k)
    key: Tensor  # (..., u, k)
    value: Tensor  # (..., u, d)
    scores: Tensor  # (..., s, u)  query . key
    scaled: Tensor  # (..., s, u)  after scale and softcap
    masked: Tensor  # (..., s, u)  after the mask; without one, the very tensor `scaled`
    weights: Tensor  # (..., s, u)  softmax over u: each row sums to 1
    output: Tensor  # (..., s, d)  the weights' mean of the values


def project(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Turn each token's features into a query, key or value: (..., s, m), (m, k) -> (..., s, k).

    A weight for all heads is (m, h*k); see heads.split_heads. A torch.nn.Linear keeps its transpose.
    Raises ValueError for shapes and TypeError for dtypes that do not fit.
    Source: Vaswani et al. 2017, section 3.2.2.

    >>> project(torch.ones(2, 4, 8), torch.ones(8, 3), torch.ones(3))[0, 0]
    tensor([9., 9., 9.])
    """
    check_shape("x", x, "... s m")
    check_shape("weight", weight, "m k", m=x.shape[-1])
    check_dtype("weight", weight, "x", x.dtype)
    projected = x @ weight  # (..., s, k)
    if bias is None:
        return projected
    check_shape("bias", bias, "k", k=weight.shape[-1])
    check_dtype("bias", bias, "x", x.dtype)
    return projected + bias


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    softmax_dtype: torch.dtype | None = None,
) -> AttentionTrace:
    """Scaled dot-product attention, all its steps: query (..., s, k), key (..., u, k), value (..., u, d).

    Leading axes broadcast. With heads at axis -3, n_heads may be a multiple of n_kv_heads (grouped queries).
    mask: bool (True = may attend) or floating (added), broadcast to (..., s, u). scale: 1/sqrt(k) when None.
    softcap c: c * tanh(x / c) on the scaled scores. softmax_dtype: in which the softmax alone is computed.
    dtype and device are kept. What a mask hides, by False or by -inf, has no say, be its score infinite or
    NaN; a row that may attend nowhere gets weights 0 and output 0, never NaN.
    Raises ValueError for shapes and numbers, TypeError for dtypes, that do not fit.
    Source: Vaswani et al. 2017, equation 1; softcap: Gemma Team 2024.

    >>> query, key, value = torch.zeros(1, 2), torch.zeros(4, 2), torch.arange(4.0)[:, None]
    >>> attention(query, key, value).weights
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    >>> attention(query, key, value, mask=torch.tensor([False, True, True, False])).output
    tensor([[1.5000]])
    """
    _check(query, key, value, mask, softcap, softmax_dtype)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale

    scores = query @ for_heads_of(query, key).mT  # (..., s, u)
    scaled = scores * scale
    if softcap is not None:
        scaled = softcap * torch.tanh(scaled / softcap)
    if mask is None:
        masked, weights = scaled, _softmax(scaled, softmax_dtype)
    else:
        masked, weights = _masked_softmax(scaled, mask, softmax_dtype)
    output = weights @ for_heads_of(query, value)  # (..., s, d)
    return AttentionTrace(query, key, value, scores, scaled, masked, weights, output)


def self_attention(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Attention in its plain three steps: (b, s, k), (b, u, k), (b, u, d) -> (b, s, d).

    Raises ValueError for shapes that do not fit. Source: Vaswani et al. 2017, equation 1.

    >>> batch, seq_len, d_k, d_v = 2, 4, 64, 64
    >>> Q, K = torch.randn(batch, seq_len, d_k), torch.randn(batch, seq_len, d_k)
    >>> V = torch.randn(batch, seq_len, d_v)
    >>> print(self_attention(Q, K, V).shape)
    torch.Size([2, 4, 64])
    """
    check_shape("Q", Q, "b s k")
    check_shape("K", K, "b u k", b=Q.shape[0], k=Q.shape[2])
    check_shape("V", V, "b u d", b=Q.shape[0], u=K.shape[1])
    S = torch.einsum("bsk,buk->bsu", Q, K)
    a = torch.softmax(S / math.sqrt(Q.shape[-1]), dim=-1)
    return torch.einsum("bsu,bud->bsd", a, V)


def _softmax(masked: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Softmax over u, computed in `dtype`, as numbers of the dtype that came."""
    weights = torch.softmax(masked, dim=-1, dtype=dtype)
    return weights if dtype is None else weights.to(masked.dtype)


def _masked_softmax(scaled: Tensor, mask: Tensor, dtype: torch.dtype | None) -> tuple[Tensor, Tensor]:
    """The scores with the mask in them, and their softmax over u: 0 in a row that may attend nowhere.

    Softmax alone makes such a row NaN, and filling the NaN afterwards leaves the gradient NaN (0 * NaN). So
    the row is made harmless before the softmax and 0 after it; but only where there is one, for that takes
    four more passes. A row of which the first weight is a number has no NaN at all.
    """
    if mask.dtype == torch.bool:
        masked = torch.where(mask, scaled, -math.inf)  # (..., s, u)
    else:
        mask = mask.to(scaled.dtype)
        masked = scaled + mask  # (..., s, u)
    weights = _softmax(masked, dtype)
    if not weights[..., :1].isnan().any():
        return masked, weights
    if mask.dtype != torch.bool:  # an infinite score plus -inf is NaN, and yet it is hidden
        masked = masked.masked_fill(mask.isneginf(), -math.inf)
    del weights  # as large as what is made next
    nowhere = masked.isneginf().all(dim=-1, keepdim=True)  # (..., s, 1)
    return masked, _softmax(masked.masked_fill(nowhere, 0), dtype).masked_fill(nowhere, 0)


def _check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    softcap: float | None,
    softmax_dtype: torch.dtype | None,
) -> None:
    check_shape("query", query, "... s k")
    if query.shape[-1] == 0:
        raise ValueError(f"query: expected at least one feature k, got shape {tuple(query.shape)}")
    check_shape("key", key, "... u k", k=query.shape[-1])
    check_shape("value", value, "... u d", u=key.shape[-2])
    check_dtype("key", key, "query", query.dtype)
    check_dtype("value", value, "query", query.dtype)

    asked, read, carried = (tuple(x.shape[:-2]) for x in (query, key, value))
    if broadcast(read, carried) is None:
        raise ValueError(f"value: expected leading axes that broadcast with key's {read}, got {carried}")
    leading = broadcast(asked, shared_by(asked, read), shared_by(asked, carried))
    if leading is None:
        raise ValueError(
            f"key: expected leading axes that broadcast with query's {asked}, or heads (axis -3)"
            f" that divide them, got {read}"
        )
    if softcap is not None and not 0 < softcap < math.inf:
        raise ValueError(f"softcap: expected a positive finite number or None, got {softcap}")
    if softmax_dtype is not None and not softmax_dtype.is_floating_point:
        raise TypeError(f"softmax_dtype: expected a floating dtype or None, got {softmax_dtype}")
    if mask is None:
        return
    check_shape("mask", mask, "...")
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(f"mask: expected dtype bool (True = may attend) or floating (added), got {mask.dtype}")
    target = (*leading, query.shape[-2], key.shape[-2])
    if broadcast(mask.shape, target) != target:
        raise ValueError(f"mask: expected a shape that broadcasts to (..., s, u) = {target}, got {tuple(mask.shape)}")
