"""All heads of a model at once: each one's map, pooled to a size that can be seen, and its statistics.

Letters: l layer, h head, s query token, u key token. Every statistic is the mean over the rows that have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad

from attnviz.core import statistics as core
from attnviz.core.shapes import check_count, check_floating
from attnviz.models.reading import Part

# What a head may be known by; one between a text and itself has them all, but for "separator" where there is none.
STATISTICS = ("previous", "next", "first", "itself", "same", "induction", "separator", "entropy", "distance")
OF_CROSS = ("first", "separator", "entropy")


class Overview(NamedTuple):
    """Every head of a part."""

    maps: Tensor  # (l, h, rows, columns): of each block of tokens the largest weight, or the mean
    block: int  # tokens a side of a block: 1 when the maps are exact
    statistics: dict[str, Tensor]  # (l, h) each


def overview(part: Part, *, size: int = 64, reduce: Literal["max", "mean"] = "max") -> Overview:
    """Compute every head's map layer by layer, each pooled to at most size x size, and its statistics.

    Never more than one layer's maps are held. Raises ValueError for a size below 1 or an unknown reduce.
    """
    block = -(-max(len(part.queries), len(part.keys)) // check_count("size", size, low=1))
    maps, found = [], []
    for read in part.layers:
        weights = read.weights()  # (h, s, u)
        maps.append(pooled(weights, block, reduce))
        found.append(statistics(part, weights))
    return Overview(torch.stack(maps), block, {name: torch.stack([each[name] for each in found]) for name in found[0]})


def pooled(weights: Tensor, block: int, reduce: Literal["max", "mean"] = "max") -> Tensor:
    """One number for each square block of `block` tokens a side: (..., s, u) -> (..., rows, columns).

    The last blocks may hold fewer tokens. Raises ValueError for a block below 1 or an unknown reduce, TypeError
    for a dtype that is not floating.

    >>> pooled(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]), 2).tolist()
    [[1.0, 0.0], [0.25, 0.5]]
    """
    check_floating("weights", weights, "... s u")
    if reduce not in ("max", "mean"):
        raise ValueError(f"reduce: expected 'max' or 'mean', got {reduce!r}")
    if check_count("block", block, low=1) == 1:
        return weights
    if reduce == "max":
        return _largest(weights, block)
    tiles = avg_pool2d(weights.reshape(-1, 1, *weights.shape[-2:]), block, ceil_mode=True)
    return tiles.reshape(*weights.shape[:-2], *tiles.shape[-2:])


def _largest(weights: Tensor, block: int) -> Tensor:
    """The largest of each block, axis by axis: a third of the time that max_pool2d takes."""
    n_query, n_key = weights.shape[-2:]
    if n_query % block or n_key % block:
        weights = pad(weights, (0, -n_key % block, 0, -n_query % block), value=-torch.inf)
    *leading, n_query, n_key = weights.shape
    rows = weights.reshape(*leading, n_query // block, block, n_key).amax(dim=-2)  # (..., rows, u)
    return rows.reshape(*rows.shape[:-1], n_key // block, block).amax(dim=-1)  # (..., rows, columns)


def statistics(part: Part, weights: Tensor) -> dict[str, Tensor]:
    """The statistics of maps (h, s, u) of a part, one number a head: (h,) each, by the names in STATISTICS.

    Shares of a row's weight, averaged over rows: what it gives to the token before it (previous), after it (next),
    to the first token (first; the first row left out), to itself, to its own token where that came earlier (same),
    to what followed that (induction), to special tokens after the first (separator). entropy is in nats, distance
    in tokens. A statistic that no row has is 0; separator is left out where there is no such token. Sources:
    Clark et al. 2019; Olsson et al. 2022; see attnviz.core.statistics.
    """
    special = torch.tensor([token.special for token in part.keys])
    special[0] = False
    shares = {"entropy": core.score(core.entropy(weights))}
    if special.any():
        shares["separator"] = core.score(weights[..., special].sum(dim=-1))
    if part.kind == "cross":
        shares["first"] = core.score(core.sink_mass(weights))
        return {name: shares[name] for name in OF_CROSS if name in shares}
    ids = torch.tensor([token.id for token in part.keys])
    again = core.seen_before(ids)
    shares |= {
        "previous": core.score(core.previous_token_mass(weights)[..., 1:]),
        "itself": core.score(core.previous_token_mass(weights, offset=1)),
        "next": core.score(core.previous_token_mass(weights, offset=2)[..., :-1]),
        "first": core.score(core.sink_mass(weights)[..., 1:]),
        "same": core.score(core.duplicate_token_mass(weights, ids), again),
        "induction": core.score(core.induction_mass(weights, ids), again),
        "distance": core.score(core.mean_distance(weights)),
    }
    return {name: shares[name] for name in STATISTICS if name in shares}


def rollout(parts: Part) -> Tensor:
    """How much of each first token is in each last one, through all layers of an encoder or decoder: (s, u).

    Heads are averaged. Raises ValueError for a part that reads another text. Source: Abnar and Zuidema 2020.
    """
    if parts.kind == "cross":
        raise ValueError("part: expected an encoder or a decoder, whose layers follow one another, got 'cross'")
    return core.rollout([read.weights().mean(dim=0, keepdim=True) for read in parts.layers])


def ranked(found: Tensor, n: int | None = None) -> list[tuple[int, int]]:
    """The heads by a statistic (l, h), the highest first, as (layer, head); all or the first n of them. NaN is last.

    >>> ranked(torch.tensor([[0.1, 0.9], [0.5, 0.2]]), 2)
    [(0, 1), (1, 0)]
    """
    order: Sequence[int] = found.nan_to_num(nan=-torch.inf).flatten().argsort(descending=True, stable=True).tolist()
    return [divmod(i, found.shape[1]) for i in order[:n]]
