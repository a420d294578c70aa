"""Heads and edges silenced while a model runs, so that one sees what changes without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.models.refusals import Refused


class Knockout(NamedTuple):
    """A head whose output is 0; or, with s and u, an edge of it that is hidden, so that its row's others share.

    head None is all heads of the layer. Sources: Michel et al. 2019 (Are sixteen heads really better than one?);
    Geva et al. 2023 (Dissecting recall), section 4, attention knockout.
    """

    kind: str  # "encoder", "decoder" or "cross"
    layer: int
    head: int | None = None
    s: int | None = None
    u: int | None = None


def hide_edges(
    mask: Tensor | None, chosen: Sequence[Knockout], n_heads: int, n_query: int, n_key: int
) -> Tensor | None:
    """The mask, bool, with the edges of some knock-outs hidden too: (s, u), or (h, s, u) where heads differ.

    >>> hide_edges(None, [Knockout("decoder", 0, 1, 1, 0)], 2, 2, 2).int().tolist()
    [[[1, 1], [1, 1]], [[1, 1], [0, 1]]]
    """
    edges = [one for one in chosen if one.s is not None]
    if not edges:
        return mask
    seen = torch.ones(n_query, n_key, dtype=torch.bool) if mask is None else mask
    seen = seen.expand(n_heads, n_query, n_key).clone()
    for one in edges:
        seen[slice(None) if one.head is None else one.head, one.s, one.u] = False
    return seen


def silence(output: Tensor, chosen: Sequence[Knockout]) -> Tensor:
    """An attention's output (h, s, d) with the rows of silenced heads 0; itself where there are none.

    >>> silence(torch.ones(2, 1, 1), [Knockout("encoder", 0, 1)]).flatten().tolist()
    [1.0, 0.0]
    """
    heads = [one.head for one in chosen if one.s is None]
    if not heads:
        return output
    output = output.clone()
    for head in heads:
        output[slice(None) if head is None else head] = 0
    return output


def check_knockouts(knockouts: Sequence[Knockout], sizes: dict[str, tuple[int, int, int, int]]) -> None:
    """Raise Refused "knockout" unless each fits a model whose parts have these layers, heads, queries and keys.

    >>> check_knockouts([Knockout("decoder", 2)], {"decoder": (2, 4, 8, 8)})
    Traceback (most recent call last):
    attnviz.models.refusals.Refused: knockouts: expected a layer from 0 below 2, got 2
    """
    for one in knockouts:
        if one.kind not in sizes:
            raise Refused("knockout", expected="a kind of " + ", ".join(sizes), got=repr(one.kind))
        if (one.s is None) != (one.u is None):
            raise Refused("knockout", expected="both s and u, or neither", got=f"s={one.s}, u={one.u}")
        for name, value, size in zip(("layer", "head", "s", "u"), one[1:], sizes[one.kind], strict=True):
            if value is not None and not 0 <= value < size:
                raise Refused("knockout", expected=f"{_article(name)} from 0 below {size}", got=value)


def share_moved(before: Tensor, after: Tensor) -> float:
    """How much of the next token's probability (v,) has moved, 0 to 1: half the sum of all differences.

    >>> share_moved(torch.tensor([0.5, 0.5]), torch.tensor([0.75, 0.25]))
    0.25
    """
    return float((before.double() - after.double()).abs().sum() / 2)


def angle_moved(before: Tensor, after: Tensor) -> float:
    """How far an embedding (m,) has turned, in radians.

    >>> round(angle_moved(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])), 4)
    1.5708
    """
    before, after = before.double(), after.double()
    cosine = float(before @ after / (before.norm() * after.norm()))
    return math.acos(max(-1.0, min(1.0, cosine)))


def _article(name: str) -> str:
    return f"an {name}" if name == "s" else f"a {name}"
