"""Wrong attention of every kind, computed by plain torch as somebody would write it, on drawn numbers.

The tests ask for a few of them, the benchmark for many. Nothing here calls the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Sizes(NamedTuple):
    """Sequences, heads, key-value heads, queries, keys, features of a key and of a value."""

    b: int = 2
    h: int = 4
    h_kv: int = 4
    s: int = 9
    u: int = 9
    k: int = 8
    d: int = 8


SIZES = (Sizes(), Sizes(1, 2, 2, 16, 16, 16, 16), Sizes(3, 6, 6, 12, 12, 4, 4), Sizes(2, 3, 3, 33, 33, 32, 32))


class Case(NamedTuple):
    """What diagnose is given, and the code that it is to find."""

    inputs: tuple[Tensor, Tensor, Tensor]
    options: dict[str, Any]  # mask, scale, softcap, rotary
    weights: Tensor
    output: Tensor


class Drawn:
    """Drawn inputs, and attention step by step with each step open to a mistake."""

    def __init__(self, sizes: Sizes, seed: int) -> None:
        self.sizes, self.generator = sizes, torch.Generator().manual_seed(seed)
        b, h, h_kv, s, u, k, d = sizes
        self.q, self.k, self.v = self.draw(b, h, s, k), self.draw(b, h_kv, u, k), self.draw(b, h_kv, u, d)
        self.causal = torch.ones(s, u, dtype=torch.bool).tril()
        lengths = torch.tensor([max(2, u - 2 - i) for i in range(b)])
        self.padding = (torch.arange(u) < lengths[:, None])[:, None, None, :]  # (b, 1, 1, u)
        self.left = (torch.arange(u) >= 2)[None, None, None, :]  # the first two keys are padding

    def draw(self, *shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=self.generator).float()

    def scores(self, q: Tensor | None = None, k: Tensor | None = None) -> Tensor:
        q, k = self.q if q is None else q, self.k if k is None else k
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        return torch.einsum("bhsk,bhuk->bhsu", q, k) / math.sqrt(q.shape[-1])

    def case(self, weights: Tensor, v: Tensor | None = None, output: Tensor | None = None, **options: Any) -> Case:
        v = self.v if v is None else v
        v = v.repeat_interleave(weights.shape[1] // v.shape[1], dim=1)
        output = torch.einsum("bhsu,bhud->bhsd", weights, v) if output is None else output
        return Case((self.q, self.k, self.v), options, weights, output)


def soft(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=dim)


def turned(x: Tensor, layout: str) -> Tensor:
    """RoPE as its papers write it: complex numbers that are turned."""
    n, k = x.shape[-2:]
    angles = torch.outer(torch.arange(n).double(), 10000.0 ** (-torch.arange(0, k, 2).double() / k))
    a, b = (x[..., : k // 2], x[..., k // 2 :]) if layout == "half" else (x[..., 0::2], x[..., 1::2])
    turning = torch.complex(a.double(), b.double()) * torch.polar(torch.ones_like(angles), angles)
    halves = (turning.real, turning.imag)
    return (torch.cat(halves, -1) if layout == "half" else torch.stack(halves, -1).flatten(-2)).float()


def viewed(x: Tensor) -> Tensor:
    b, h, n, k = x.shape
    return x.transpose(1, 2).reshape(b, n, h * k).view(b, h, n, k)


def strided(x: Tensor) -> Tensor:
    b, h, n, k = x.shape
    return x.transpose(1, 2).reshape(b, n, k, h).permute(0, 3, 1, 2)


def merged_by_view(output: Tensor) -> Tensor:
    b, h, s, d = output.shape
    return output.reshape(b, s, h * d)


def averaged(x: Tensor) -> Tensor:
    return x.mean(dim=1, keepdim=True).expand(x.shape)


def dropped(weights: Tensor, x: Drawn, p: float = 0.1) -> Tensor:
    return weights * (torch.rand(weights.shape, generator=x.generator) >= p) / (1 - p)


def renormalised(weights: Tensor, kind: int) -> Tensor:
    return weights / (weights.amax(-1, keepdim=True) if kind else weights.sum((-2, -1), keepdim=True) * 0 + 3)


Maker = Callable[[Drawn], Case]
_K: Callable[[Drawn], float] = lambda x: math.sqrt(x.sizes.k)  # noqa: E731
ONE: dict[str, Maker] = {
    "heads_viewed": lambda x: x.case(soft(x.scores(viewed(x.q), viewed(x.k))), viewed(x.v)),
    "heads_strided": lambda x: x.case(soft(x.scores(strided(x.q), strided(x.k))), strided(x.v)),
    "qk_swapped": lambda x: x.case(soft(x.scores(x.k, x.q))),
    "kv_swapped": lambda x: x.case(soft(x.scores(x.q, x.v)), x.k),
    "rotary_layout": lambda x: _rotary(x, "interleaved"),
    "rotary_missing": lambda x: _rotary(x, None),
    "rotary_extra": lambda x: x.case(soft(x.scores(turned(x.q, "half"), turned(x.k, "half")))),
    "rotary_on_value": lambda x: x.case(soft(x.scores()), turned(x.v, "half")),
    "scale_missing": lambda x: x.case(soft(x.scores() * _K(x))),
    "scale_d_k": lambda x: x.case(soft(x.scores() / _K(x))),
    "scale_sqrt_d_model": lambda x: x.case(soft(x.scores() / math.sqrt(x.sizes.h))),
    "scale_twice": lambda x: x.case(soft(x.scores() / _K(x))),
    "scale_inverted": lambda x: x.case(soft(x.scores() * x.sizes.k)),
    "scale_other": lambda x: x.case(soft(x.scores() * 0.77)),
    "softcap_missing": lambda x: x.case(soft(x.scores()), softcap=2.0),
    "softcap_extra": lambda x: x.case(soft(30 * torch.tanh(3 * x.scores() / 30)), scale=3 / _K(x)),
    "mask_missing": lambda x: x.case(soft(x.scores()), mask=x.causal),
    "mask_extra": lambda x: x.case(soft(x.scores(), x.causal)),
    "mask_inverted": lambda x: x.case(soft(x.scores(), ~x.causal), mask=x.causal),
    "mask_transposed": lambda x: x.case(soft(x.scores(), x.causal.mT), mask=x.causal),
    "mask_added_as_one": lambda x: x.case(soft(x.scores() + x.causal.float()), mask=x.causal),
    "mask_multiplied": lambda x: x.case(soft(x.scores() * x.padding), mask=x.padding),
    "causal_off_by_one": lambda x: x.case(soft(x.scores(), x.causal | x.causal.roll(1, 1).triu(1)), mask=x.causal),
    "padding_on_queries": lambda x: x.case(soft(x.scores(), x.padding.mT.expand_as(x.scores())), mask=x.padding),
    "mask_finite": lambda x: x.case(soft(x.scores() - 1e4 * ~(x.causal & x.left)), mask=x.causal & x.left),
    "rows_nan": lambda x: x.case(soft(x.scores(), x.causal & x.left), mask=x.causal & x.left),
    "softmax_half": lambda x: x.case(torch.softmax(x.scores(), -1, dtype=torch.float16).float()),
    "softmax_over_queries": lambda x: x.case(soft(x.scores(), dim=-2)),
    "softmax_over_heads": lambda x: x.case(soft(x.scores(), dim=-3)),
    "softmax_over_batch": lambda x: x.case(soft(x.scores(), dim=-4)),
    "softmax_twice": lambda x: x.case(soft(soft(x.scores()))),
    "mask_after_softmax": lambda x: x.case(soft(x.scores()) * x.causal, mask=x.causal),
    "dropout_on": lambda x: x.case(dropped(soft(x.scores()), x)),
    "weights_renormalised": lambda x: x.case(renormalised(soft(x.scores()), 1)),
    "weights_transposed": lambda x: x.case(soft(x.scores()).mT),
    "heads_averaged": lambda x: x.case(averaged(soft(x.scores()))),
    "heads_merged_by_view": lambda x: _merged(x),
}


def _rotary(x: Drawn, theirs: str | None) -> Case:
    from attnviz.core.rotary import Rotary

    q, k = (z if theirs is None else turned(z, theirs) for z in (x.q, x.k))
    return x.case(soft(x.scores(q, k)), rotary=Rotary("half"))


def _merged(x: Drawn) -> Case:
    right = x.case(soft(x.scores()))
    return right._replace(output=merged_by_view(right.output))


def corner(x: Drawn) -> Case:
    """Fewer queries than keys, causal from the wrong corner."""
    s, u = x.sizes.s, x.sizes.u
    right = torch.ones(s, u, dtype=torch.bool).tril(u - s)
    return x.case(soft(x.scores(), torch.ones(s, u, dtype=torch.bool).tril()), mask=right)


def tiled(x: Drawn) -> Case:
    """Shared key heads repeated 0 1 0 1."""
    n = x.sizes.h // x.sizes.h_kv
    k, v = x.k.repeat(1, n, 1, 1), x.v.repeat(1, n, 1, 1)
    return x.case(soft(x.scores(x.q, k)), v)


ODD: dict[str, tuple[Maker, tuple[Sizes, ...]]] = {  # those that need sizes of their own
    "causal_corner": (corner, (Sizes(s=4), Sizes(1, 2, 2, 7, 20, 8, 4), Sizes(2, 3, 3, 10, 32, 16, 16))),
    "kv_heads_tiled": (tiled, (Sizes(h_kv=2), Sizes(1, 6, 3, 10, 10, 8, 8), Sizes(2, 8, 2, 20, 20, 16, 16))),
}
TWO: dict[tuple[str, str], Maker] = {
    ("scale_missing", "mask_missing"): lambda x: x.case(soft(x.scores() * _K(x)), mask=x.causal),
    ("scale_d_k", "mask_after_softmax"): lambda x: x.case(soft(x.scores() / _K(x)) * x.causal, mask=x.causal),
    ("scale_missing", "mask_inverted"): lambda x: x.case(soft(x.scores() * _K(x), ~x.causal), mask=x.causal),
    ("scale_missing", "softmax_over_queries"): lambda x: x.case(soft(x.scores() * _K(x), dim=-2)),
    ("mask_missing", "softmax_over_heads"): lambda x: x.case(soft(x.scores(), dim=1), mask=x.causal),
    ("kv_swapped", "mask_missing"): lambda x: x.case(soft(x.scores(x.q, x.v)), x.k, mask=x.causal),
    ("mask_missing", "dropout_on"): lambda x: x.case(dropped(soft(x.scores()), x), mask=x.causal),
    ("scale_missing", "heads_averaged"): lambda x: x.case(averaged(soft(x.scores() * _K(x)))),
    ("heads_viewed", "scale_missing"): lambda x: x.case(soft(x.scores(viewed(x.q), viewed(x.k)) * _K(x)), viewed(x.v)),
    ("padding_on_queries", "rows_nan"): lambda x: x.case(
        soft(x.scores(), x.causal & x.left.mT), mask=x.causal & x.left
    ),
}
RIGHT: dict[str, Maker] = {
    "plain": lambda x: x.case(soft(x.scores())),
    "causal": lambda x: x.case(soft(x.scores(), x.causal), mask=x.causal),
    "padded": lambda x: x.case(soft(x.scores(), x.padding), mask=x.padding),
    "empty rows": lambda x: x.case(soft(x.scores(), x.causal & x.left).nan_to_num(0), mask=x.causal & x.left),
    "added mask": lambda x: x.case(
        soft(x.scores() - 1e9 * ~x.causal), mask=torch.zeros(x.causal.shape).masked_fill(~x.causal, -math.inf)
    ),
    "masked after the softmax, and renormalised": lambda x: x.case(
        (p := soft(x.scores()) * x.causal) / p.sum(-1, keepdim=True), mask=x.causal
    ),
    "by torch": lambda x: x.case(
        soft(x.scores(), x.causal),
        output=torch.nn.functional.scaled_dot_product_attention(x.q, x.k, x.v, is_causal=True),
        mask=x.causal,
    ),
    "in float64": lambda x: x.case(soft(x.scores(x.q.double(), x.k.double())), x.v.double()),
}


def named(findings: Any) -> list[set[str]]:
    """The names of each finding: its cause and those that no number tells from it."""
    return [{finding.cause, *finding.same} for finding in findings]
