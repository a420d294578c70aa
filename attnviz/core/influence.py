"""How much of each token reaches each other: through one map and its values, and through a stack of layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnviz.core.heads import for_heads_of
from attnviz.core.shapes import broadcast, check_dtype, check_floating, check_shape, widened


def contribution(weights: Tensor, value: Tensor, w_o: Tensor | None = None) -> Tensor:
    """How much each key adds to each row's output, in the value's units: a ||v_u||, (..., s, u) -> (..., s, u).

    A key of much weight and a short value adds little. value (..., u, d): leading axes broadcast, and heads may
    be grouped, as in attention. With w_o it is a ||v_u W_O||; w_o is (d, m), or (h*d, m) of all heads where
    weights have a head axis at -3: head h owns its rows from h*d. Half precision is computed in float32.
    Raises ValueError for shapes, TypeError for dtypes, that do not fit.
    Source: Kobayashi et al. 2020 (Attention is not only a weight), the norm-based analysis.

    >>> contribution(torch.tensor([[0.75, 0.25]]), torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([[0.0000, 1.2500]])
    """
    check_floating("weights", weights, "... s u")
    check_shape("value", value, "... u d", u=weights.shape[-1])
    check_dtype("value", value, "weights", weights.dtype)
    carried = for_heads_of(weights, widened(value))  # (..., u, d)
    leading = tuple(weights.shape[:-2])
    if broadcast(leading, carried.shape[:-2]) is None:
        raise ValueError(
            f"value: expected leading axes that broadcast with weights' {leading}, or heads (axis -3) that divide"
            f" them, got {tuple(value.shape[:-2])}"
        )
    if w_o is not None:
        carried = carried @ widened(_of_each_head(w_o, weights, value))  # (..., u, m)
    length: Tensor = torch.linalg.vector_norm(carried, dim=-1)  # (..., u)
    added = widened(weights) * length[..., None, :]  # (..., s, u)
    return added.to(weights.dtype)


def rollout(layers: Sequence[Tensor]) -> Tensor:
    """How much of each first token is in each last one: layers of (..., h, s, u), the first first -> (..., s, u).

    Heads are averaged to A, each token keeps itself beside what it reads, and the layers are multiplied:
    (0.5 A_n + 0.5 I) ... (0.5 A_1 + 0.5 I). Rows sum to 1: what is multiplied is A + I over its row sum, which
    is the same where A's rows sum to 1; where they sum to less, the token itself has the rest of the share, all
    of it where A is 0. Half precision is computed in float32. One head alone is layer[..., h : h + 1, :, :].
    Raises ValueError for no layers or shapes that are not square and alike, TypeError for dtypes that differ.
    Source: Abnar and Zuidema 2020 (Quantifying attention flow in transformers), section 3.

    >>> first, second = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> rollout([first, second])
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    if not isinstance(layers, Sequence):  # one layer's tensor would pass for as many layers as it has sequences
        raise TypeError(f"layers: expected a sequence of tensors (..., h, s, u), got {type(layers).__name__}")
    if len(layers) == 0:
        raise ValueError("layers: expected at least one tensor (..., h, s, u), got none")
    first = layers[0]
    for i, layer in enumerate(layers):
        check_shape(f"layers[{i}]", layer, "... h s u")
        n = first.shape[-2]
        check_shape(f"layers[{i}]", layer, "... h s u", s=n, u=n)
        check_floating(f"layers[{i}]", layer, "... s u")
        check_dtype(f"layers[{i}]", layer, "layers[0]", first.dtype)
        if layer.shape[:-3] != first.shape[:-3] or layer.shape[-3] == 0:
            expected = f"at least one head, and the leading axes {tuple(first.shape[:-3])} of layers[0]"
            raise ValueError(f"layers[{i}]: expected {expected}, got shape {tuple(layer.shape)}")

    itself = torch.eye(first.shape[-1], dtype=widened(first).dtype, device=first.device)  # (s, u)
    rolled = itself
    for layer in layers:
        passed = widened(layer).mean(dim=-3) + itself  # (..., s, u)
        rolled = passed / passed.sum(dim=-1, keepdim=True) @ rolled
    return rolled.to(first.dtype)


def _of_each_head(w_o: Tensor, weights: Tensor, value: Tensor) -> Tensor:
    """W_O as (d, m), or as (h, d, m) where it holds the rows of all heads."""
    check_shape("w_o", w_o, "h*d m")
    check_dtype("w_o", w_o, "weights", weights.dtype)
    d_v, n_rows = value.shape[-1], w_o.shape[0]
    if n_rows == d_v:
        return w_o
    if weights.ndim < 3:
        raise ValueError(f"w_o: expected shape (d={d_v}, m), got {tuple(w_o.shape)}")
    n_heads = weights.shape[-3]
    if n_rows != n_heads * d_v:
        wanted = f"(d={d_v}, m) or (h*d={n_heads * d_v}, m)"
        raise ValueError(f"w_o: expected shape {wanted}, got {tuple(w_o.shape)}")
    return w_o.reshape(n_heads, d_v, -1)
