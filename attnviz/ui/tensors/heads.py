"""All layers and heads that were brought at once: their maps as tiles, and a number that tells them apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, cast

import streamlit as st
import torch
from torch import Tensor

from attnviz.limits import TILED_BYTES
from attnviz.locale import _, n_
from attnviz.models.heads import Overview, pooled, statistics
from attnviz.models.reading import Part
from attnviz.models.tokens import Token
from attnviz.ui.board import Charts
from attnviz.ui.models import overview
from attnviz.ui.models.chosen import Chosen
from attnviz.ui.models.jobs import TILE
from attnviz.ui.tensors import waiting
from attnviz.ui.tensors.given import Given

_OF_TOKENS = ("same", "induction")  # which need tokens that repeat


class Heads(NamedTuple):
    """What overview.show reads of a reading, here of what was brought."""

    overview: Overview
    layer: int
    head: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    square: bool = False  # of which no board is drawn here


def show(given: Given) -> tuple[Charts, Heads | None]:
    """Draw the tiles of all heads of the chosen sequence, where there are several."""
    if given.n_layers * given.n_heads == 1:
        return [], None
    found: Overview | None = waiting.result("heads", given.name, lambda tell: made(given, tell))
    if found is None:
        return [], None
    if not found.statistics:
        st.caption(_("The maps hold numbers that are no weights, and are not drawn as tiles: choose a layer and head."))
        return [], None
    n_nan = int(found.maps.isnan().flatten(2).any(dim=-1).sum())
    if n_nan:
        said = n_(
            "{n} head holds NaN and has no tile: choose it below.",
            "{n} heads hold NaN and have no tile: choose them below.",
            n_nan,
        )
        st.caption(said.format(n=n_nan))
    heads = Heads(found, given.layer, min(given.head, found.maps.shape[1] - 1), given.queries, given.keys)
    return overview.show(cast(Chosen, heads)), heads


def made(given: Given, tell: Callable[[int], None]) -> Overview:
    """Pool the maps of every layer (l, h, rows, columns), and tell their heads apart.

    Nothing is told of numbers that are no weights, nor where every head holds NaN; what is told of one is NaN.
    """
    part = _part(given)
    size = min(TILE, max(8, math.isqrt(TILED_BYTES // (4 * given.n_layers * given.n_heads))))
    block = -(-max(len(given.queries), len(given.keys)) // size)
    maps: list[Tensor] = []
    found: list[dict[str, Tensor]] = []
    for layer in range(given.n_layers):
        weights = given.weights(layer).float()  # (h, s, u)
        if bool(((weights < 0) | (weights > 1.001)).any()):
            return Overview(torch.zeros(0), block, {})
        maps.append(pooled(weights, block))
        found.append(statistics(part, weights))
        tell(layer + 1)
    told = {name: torch.stack([each[name] for each in found]) for name in _kept(found)}  # (l, h)
    whole = torch.stack(maps)
    if whole.isnan().flatten(2).any(dim=-1).all():
        return Overview(torch.zeros(0), block, {})
    return Overview(whole, block, told)


def _kept(found: list[dict[str, Tensor]]) -> list[str]:
    """The statistics that say something: those of repeated tokens are 0 where none repeats."""
    return [name for name in found[0] if name not in _OF_TOKENS or any(each[name].nan_to_num().any() for each in found)]


def _part(given: Given) -> Part:
    """The tokens as statistics know them: equal words, equal numbers."""
    ids: dict[str, int] = {}
    sides = [
        tuple(Token(ids.setdefault(word, len(ids)), word, word, (0, 0), 0, False) for word in words)
        for words in (given.queries, given.keys)
    ]
    return Part("encoder" if given.square else "cross", (), sides[0], sides[1])
