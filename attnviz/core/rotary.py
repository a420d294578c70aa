"""Rotary positions (RoPE): pairs of features of a query or key turn with its place, so that scores know distances.

The score of query s and key u is that of the two vectors unturned but for an angle that depends on s - u alone.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from attnviz.core.shapes import check_count, check_dtype, check_shape, check_whole


class Rotary(NamedTuple):
    """How queries and keys are rotated: which features turn together, how fast, and from which position on."""

    layout: Literal["half", "interleaved"] = "half"  # feature i turns with i + k/2, or 2i with 2i + 1
    base: float = 10000.0  # pair i turns by base^(-2i/k) radians a token
    offset: int = 0  # the position of token 0: how many tokens came before it


_DEFAULT = Rotary()


def rotary_angles(n: int, d_k: int, rotary: Rotary = _DEFAULT) -> Tensor:
    """How far each pair of features is turned, in radians: float64 (s, i), i counting the k/2 pairs.

    Token s, pair i: (s + offset) * base^(-2i / d_k). Raises ValueError for a negative n, a d_k that is odd or
    below 2, an unknown layout, a base that is not positive and finite; TypeError for what is no number.
    Source: Su et al. 2021 (RoFormer), section 3.2.2.

    >>> rotary_angles(3, 4, Rotary(base=100.0)).tolist()
    [[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]]
    """
    n, d_k = check_count("n", n), _check_even(d_k)
    if not isinstance(rotary, Rotary):
        raise TypeError(f"rotary: expected a Rotary, got {type(rotary).__name__}")
    if rotary.layout not in ("half", "interleaved"):
        raise ValueError(f"rotary.layout: expected 'half' or 'interleaved', got {rotary.layout!r}")
    if not isinstance(rotary.base, int | float):
        raise TypeError(f"rotary.base: expected a positive finite number, got {rotary.base!r}")
    if not 0 < rotary.base < math.inf:
        raise ValueError(f"rotary.base: expected a positive finite number, got {rotary.base}")
    s = torch.arange(n, dtype=torch.float64)[:, None] + check_whole("rotary.offset", rotary.offset)  # (s, 1)
    even = torch.arange(0, d_k, 2, dtype=torch.float64)  # (i,)
    return s * rotary.base ** (-even / d_k)  # (s, i)


def rotate(x: Tensor, rotary: Rotary = _DEFAULT) -> Tensor:
    """Turn each query or key by its position, so that scores know distances: (..., s, k) -> (..., s, k).

    A pair (a, b) becomes (a cos - b sin, b cos + a sin). The angles are float64; their cos and sin are cast
    to x's dtype and multiplied in it, half precision too, as transformers does.
    Raises ValueError for an odd k or a rotary that does not fit, TypeError for an x that is not floating.
    Source: Su et al. 2021 (RoFormer), section 3.4.2; the half layout: GPT-NeoX and LLaMA.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> [[round(value, 3) for value in row] for row in rotate(x).tolist()]
    [[1.0, 0.0], [0.54, 0.841]]
    """
    check_shape("x", x, "... s k")
    check_dtype("x", x, "x", x.dtype)
    if x.shape[-1] % 2 or not x.shape[-1]:
        raise ValueError(f"x: expected an even number of features k, which turn in pairs, got shape {tuple(x.shape)}")
    angles = rotary_angles(x.shape[-2], x.shape[-1], rotary)  # (s, i)
    cos, sin = (wave.to(x.dtype).to(x.device) for wave in (angles.cos(), angles.sin()))  # (s, i) each
    half = rotary.layout == "half"
    a, b = x.chunk(2, dim=-1) if half else (x[..., 0::2], x[..., 1::2])  # (..., s, i) each
    turned = [a * cos - b * sin, b * cos + a * sin]
    return torch.cat(turned, dim=-1) if half else torch.stack(turned, dim=-1).flatten(-2)  # (..., s, k)


def turning_pair(feature: int, d_k: int, layout: str) -> tuple[int, int, int]:
    """Which two of d_k features turn together, one of them `feature`: the first, the second, and the pair's number.

    Raises ValueError for a feature that is none, a d_k that is odd or below 2, an unknown layout.

    >>> turning_pair(5, 8, "half"), turning_pair(5, 8, "interleaved")
    ((1, 5, 1), (4, 5, 2))
    """
    n_pairs = _check_even(d_k) // 2
    if not 0 <= feature < d_k:
        raise ValueError(f"feature: expected a whole number from 0 below d_k={d_k}, got {feature}")
    if layout not in ("half", "interleaved"):
        raise ValueError(f"layout: expected 'half' or 'interleaved', got {layout!r}")
    pair = feature % n_pairs if layout == "half" else feature // 2
    return (pair, pair + n_pairs, pair) if layout == "half" else (2 * pair, 2 * pair + 1, pair)


def half_from_interleaved(d_k: int) -> Tensor:
    """The order of features that makes the interleaved layout the half one: int64 (k,).

    With p = half_from_interleaved(k), rotate(x[..., p]) is rotate(x, Rotary("interleaved"))[..., p]. A weight
    (m, k) is brought from one layout to the other by its columns, weight[:, p]; of several heads, head by head.
    Raises ValueError for a d_k that is odd or below 2.

    >>> half_from_interleaved(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    pairs = torch.arange(_check_even(d_k)).reshape(-1, 2)  # (i, 2)
    return pairs.mT.flatten()  # (k,)


def _check_even(d_k: int) -> int:
    d_k = check_count("d_k", d_k, low=2)
    if d_k % 2:
        raise ValueError(f"d_k: expected an even number of features, which turn in pairs, got {d_k}")
    return d_k
