"""Masks: who may attend to whom. One convention: bool, True = may attend, and

    row s may see key u when  s - left <= u - offset <= s + right

`offset` is how many keys come before the key of query 0. Of a cached sequence of 5 tokens whose last 2 are
asked, query 0 stands at key 3: causal(2, 5, offset=3) lets it see keys 0 to 3. Sequences whose caches are not
equally full have an offset each, and then a mask each.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from attnviz.core.shapes import broadcast, check_count


def causal(n_query: int, n_key: int, *, offset: int | Sequence[int] | Tensor = 0) -> Tensor:
    """Let each query see its own position and what came before: bool (s, u), True = may attend.

    With an offset for each sequence: (b, s, u). Raises ValueError for a negative size.
    Source: Vaswani et al. 2017, section 3.2.3.

    >>> causal(3, 3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return window(n_query, n_key, left=None, right=0, offset=offset)


def window(
    n_query: int,
    n_key: int,
    *,
    left: int | None,
    right: int | None,
    offset: int | Sequence[int] | Tensor = 0,
) -> Tensor:
    """Let each query see `left` keys before its own and `right` after: bool (s, u), True = may attend.

    None is no bound on that side. With an offset for each sequence: (b, s, u). Raises ValueError for a
    negative size, TypeError for an offset that is no whole number.
    Source: Beltagy et al. 2020 (Longformer), section 3.1.

    >>> window(3, 3, left=1, right=0).int().tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """
    n_query, n_key = check_count("n_query", n_query), check_count("n_key", n_key)
    offsets = torch.as_tensor(offset, device="cpu")  # () or (b,)
    if offsets.numel() == 0:
        offsets = offsets.long()  # an empty list has no dtype of its own
    if offsets.is_floating_point() or offsets.is_complex() or offsets.dtype == torch.bool:
        raise TypeError(f"offset: expected whole numbers, got {offset}")
    if offsets.ndim > 1:
        raise ValueError(f"offset: expected one number, or one for each sequence, got shape {tuple(offsets.shape)}")
    s = torch.arange(n_query)[:, None]  # (s, 1)
    u = torch.arange(n_key) - offsets[..., None, None]  # (1, u) or (b, 1, u)
    seen = torch.ones(*offsets.shape, n_query, n_key, dtype=torch.bool)  # (s, u) or (b, s, u)
    if left is not None:
        seen &= s - left <= u
    if right is not None:
        seen &= u <= s + right
    return seen


def prefix(n: int, length: int) -> Tensor:
    """Let all queries see the first `length` keys, and be causal after them: bool (n, n), True = may attend.

    Raises ValueError for a negative size or length. Source: Raffel et al. 2020 (T5), figure 4.

    >>> prefix(3, 2).int().tolist()
    [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    """
    n, length = check_count("n", n), check_count("length", length)
    return causal(n, n) | (torch.arange(n) < length)  # (s, u) | (u,)


def padding(lengths: Sequence[int] | Tensor, n_key: int) -> Tensor:
    """Hide the keys past each sequence's length: bool (b, 1, u), True = may attend.

    Give it a head axis with `[:, None]` where scores have one. Raises ValueError for a length outside 0 to
    n_key.

    >>> padding([1, 3], 3).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    n_key = check_count("n_key", n_key)
    counts = [check_count("lengths", n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    if any(n > n_key for n in counts):
        raise ValueError(f"lengths: expected whole numbers from 0 to n_key={n_key}, got {counts}")
    ends = torch.tensor(counts, dtype=torch.int64)[:, None, None]  # (b, 1, 1)
    return torch.arange(n_key) < ends  # (b, 1, u)


def segments(ids: Sequence[int] | Sequence[Sequence[int]] | Tensor) -> Tensor:
    """Let tokens see only their own segment: ids (..., n) -> bool (..., n, n), True = may attend.

    Raises ValueError when ids is a single number.

    >>> segments([7, 7, 8]).int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    ids = torch.as_tensor(ids)
    if ids.ndim == 0:
        raise ValueError("ids: expected shape (..., n), got ()")
    return ids[..., :, None] == ids[..., None, :]  # (..., s, u)


def combine(*masks: Tensor | None) -> Tensor | None:
    """Let a query see what all masks let it see; None is no mask, and the answer when there is none.

    Shapes broadcast. Bool masks hide and floating ones (ALiBi, T5's bias) are added up: the result is bool when
    all are, else floating, with -inf where one hides. Raises TypeError for a mask of another dtype, ValueError
    for shapes that do not broadcast.

    >>> combine(causal(2, 2), None, torch.tensor([False, True])).int().tolist()
    [[0, 0], [0, 1]]
    >>> combine(causal(2, 2), torch.tensor([0.5, 0.25])).tolist()
    [[0.5, -inf], [0.5, 0.25]]
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    for mask in given:
        if mask.dtype != torch.bool and not mask.is_floating_point():
            raise TypeError(f"masks: expected dtype bool (True = may attend) or floating (added), got {mask.dtype}")
    if broadcast(*(mask.shape for mask in given)) is None:
        shapes = " and ".join(str(tuple(mask.shape)) for mask in given)
        raise ValueError(f"masks: expected shapes that broadcast with each other, got {shapes}")
    hiding = [mask for mask in given if mask.dtype == torch.bool]
    added = [mask for mask in given if mask.dtype != torch.bool]
    seen = functools.reduce(torch.logical_and, hiding) if hiding else None
    bias = functools.reduce(torch.add, added) if added else None
    if seen is None or bias is None:
        return bias if seen is None else seen
    return torch.where(seen, bias, -math.inf)
