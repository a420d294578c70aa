"""Positions: what tells token 3 from the same token at place 7."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnviz.core.embeddings import position_vector
from attnviz.core.rotary import Rotary as Rotary  # the positions' own names, all in one place
from attnviz.core.rotary import half_from_interleaved as half_from_interleaved
from attnviz.core.rotary import rotary_angles as rotary_angles
from attnviz.core.rotary import rotate as rotate
from attnviz.core.rotary import turning_pair as turning_pair
from attnviz.core.shapes import check_count, check_whole


def sinusoidal(n: int, d_model: int) -> Tensor:
    """Waves to be added to X, sin on even features, cos on odd ones: (n, d_model) -> float32 (s, m).

    Features 2i and 2i + 1 of token s are sin and cos of s / 10000^(2i / d_model) radians; an odd d_model ends
    on a sin. Raises ValueError for a negative n or a d_model below 1. Source: Vaswani et al. 2017, section
    3.5.

    >>> [[round(value, 3) for value in row] for row in sinusoidal(2, 4).tolist()]
    [[0.0, 1.0, 0.0, 1.0], [0.841, 0.54, 0.01, 1.0]]
    """
    n, d_model = check_count("n", n), check_count("d_model", d_model, low=1)
    s = torch.arange(n, dtype=torch.float64)[:, None]  # (s, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (i,)
    angle = s / 10000 ** (even / d_model)  # (s, i)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (s, i, 2)
    return waves.flatten(-2)[:, :d_model].to(torch.float32)  # (s, m)


def learned(n: int, d_model: int, seed: int) -> Tensor:
    """A table of one vector a position, to be added to X, as it is before any training: float32 (s, m).

    Standard normal numbers. Row s is the same for every n, and a longer d_model begins with the shorter.
    Raises ValueError for a negative n or a d_model below 1. Source: Devlin et al. 2019 (BERT), section 3.

    >>> torch.equal(learned(3, 4, seed=0), learned(9, 6, seed=0)[:3, :4])
    True
    """
    n, d_model = check_count("n", n), check_count("d_model", d_model, low=1)
    rows = [position_vector(s, d_model, seed) for s in range(n)]
    return torch.stack(rows) if n else torch.empty(0, d_model)  # (s, m)


def alibi_slopes(n_heads: int) -> Tensor:
    """How much a token of distance costs each head, in score a token: float32 (h,).

    Of a power of two: 2^(-8/h), 2^(-16/h), ... 2^-8. Of another number: the slopes of the next smaller power of
    two, then every other one of the next greater, from its first. Raises ValueError for n_heads below 1.
    Source: Press et al. 2022, section 3; of other numbers than powers of two: the authors' code.

    >>> alibi_slopes(4).tolist(), alibi_slopes(3).tolist()
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    n_heads = check_count("n_heads", n_heads, low=1)
    power = 2 ** (n_heads.bit_length() - 1)  # the greatest power of two up to n_heads
    own = torch.arange(1, power + 1, dtype=torch.float64)  # (power,)
    steps = torch.cat([own, own - 0.5])[:n_heads]  # (h,)
    return torch.exp2(-8 * steps / power).to(torch.float32)  # (h,)


def alibi(n_query: int, n_key: int, n_heads: int, *, offset: int = 0) -> Tensor:
    """A cost of distance, added to the scaled scores as a mask: float32 (h, s, u), -slope * |s + offset - u|.

    `offset` is how many keys come before the key of query 0. Later keys cost what earlier ones do: to hide them,
    join a causal mask with masks.combine. Raises ValueError for a negative size or n_heads below 1, TypeError
    for what is no whole number. Source: Press et al. 2022, section 3.

    >>> alibi(2, 3, 1).tolist()
    [[[0.0, -0.00390625, -0.0078125], [-0.00390625, 0.0, -0.00390625]]]
    """
    distance = _backwards(n_query, n_key, offset).abs()  # (s, u)
    return alibi_slopes(n_heads)[:, None, None] * -distance  # (h, s, u)


def relative_buckets(
    n_query: int,
    n_key: int,
    *,
    n_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    offset: int = 0,
) -> Tensor:
    """Which learned bias a distance reads: int64 (s, u), numbers from 0 to n_buckets - 1.

    Near distances have a bucket each; farther ones share wider and wider buckets, up to max_distance tokens,
    from where on all share the last. Later keys have the second half of the buckets, or, unless bidirectional,
    bucket 0 with the query's own. Of a table (n_buckets, h), table[buckets].permute(2, 0, 1) is the floating
    mask (h, s, u). Raises ValueError for sizes that do not fit, TypeError for what is no whole number.
    Source: Raffel et al. 2020 (T5), section 2.1.

    >>> relative_buckets(1, 7, n_buckets=8, max_distance=6, offset=3).tolist()
    [[2, 2, 1, 0, 5, 6, 6]]
    """
    n_buckets = check_count("n_buckets", n_buckets, low=4 if bidirectional else 2)
    n_own = n_buckets // 2 if bidirectional else n_buckets  # buckets of one direction
    n_near = n_own // 2  # those of one distance each
    max_distance = check_count("max_distance", max_distance, low=n_near + 1)
    backwards = _backwards(n_query, n_key, offset)  # (s, u)
    distance = backwards.abs() if bidirectional else backwards.clamp(min=0)  # (s, u)
    wide = torch.tensor(_starts(n_near, n_own - n_near, max_distance), dtype=torch.int64)
    buckets = torch.where(distance < n_near, distance, n_near + torch.bucketize(distance, wide, right=True))
    return buckets + n_own * (backwards < 0) if bidirectional else buckets  # (s, u)


def _starts(n_near: int, n_wide: int, max_distance: int) -> list[int]:
    """The distances at which the second, third, ... wide bucket starts.

    Bucket j starts at n_near * (max_distance / n_near)^(j / n_wide), rounded up. Many a start is a whole number
    (16, 32 and 64 of the default), which a logarithm may miss by a rounding: so it is settled in whole numbers.
    """
    starts = []
    for j in range(1, n_wide):
        start = math.floor(n_near * (max_distance / n_near) ** (j / n_wide))
        while start**n_wide * n_near**j < max_distance**j * n_near**n_wide:
            start += 1
        starts.append(start)
    return starts


def _backwards(n_query: int, n_key: int, offset: int) -> Tensor:
    """How many tokens key u lies before query s: int64 (s, u), negative for later keys."""
    n_query, n_key = check_count("n_query", n_query), check_count("n_key", n_key)
    s = torch.arange(n_query)[:, None] + check_whole("offset", offset)  # (s, 1)
    return s - torch.arange(n_key)  # (s, u)
