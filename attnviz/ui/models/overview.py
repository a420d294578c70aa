"""Every head of a part at once: its map as a tile, and a number that tells the heads apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
import torch
from torch import Tensor

from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, number
from attnviz.figures.tiles import Tiles, at, names, specify
from attnviz.locale import _
from attnviz.models.heads import ranked
from attnviz.ui import labs, state
from attnviz.ui.board import CONFIG, Charts, current_theme
from attnviz.ui.chart import Specified
from attnviz.ui.models import statistic
from attnviz.ui.models.chosen import Chosen, computed
from attnviz.ui.models.statistic import Told

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("tiles", "statistic", "reads")  # of the panels whose clicks are taken here
ANCHOR = "head"  # of the heading under which the chosen head stands
BEST = 24  # heads that are drawn where they are ranked, or so few that each has its name above it
ACROSS = 12


def show(chosen: Chosen) -> Charts:
    """Draw all heads, or those that the reader asks for, and one statistic of each."""
    told = statistic.choose(chosen.overview, len(chosen.keys))
    best, words = ranked(told.found, 1)[0], statistic.names()
    st.caption(
        _("{definition} Highest: layer {layer}, head {head}, with {value}.").format(
            definition=statistic.definitions(chosen.overview)[told.name],
            layer=best[0] + 1,
            head=best[1] + 1,
            value=number(float(told.found[best]), 4),
        )
    )
    order = _order(told)
    shown = [head for head in order if told.within[head]]
    statistic.say(told, len(shown))
    if shown and _named(told):
        st.caption(_("Above each map: its layer, its head, and its “{statistic}”.").format(statistic=words[told.name]))
    with st.container(horizontal=True, gap="medium"):
        charts = [_tiles(chosen, told, order)] if shown else []
        charts.append(_matrix(chosen, told))
    below = _("Layer {layer}, head {head} below").format(layer=chosen.layer + 1, head=chosen.head + 1)
    st.markdown(f"[{below}](#{ANCHOR})")
    labs.tables("statistics", [(_("Every statistic of every head"), partial(table, chosen))])
    return charts


def _named(told: Told) -> bool:
    """Say whether each tile has its head's name above it: where they are ranked, or few are left of many."""
    n_within = int(told.within.sum())
    return state.view().lab.ranked or (n_within <= BEST and n_within < told.found.numel())


def _order(told: Told) -> list[tuple[int, int]]:
    """The heads in the order of their tiles: named, those that are within the limits; else all, each in its place."""
    n_layers, n_heads = told.found.shape
    if state.view().lab.ranked:
        return [head for head in ranked(told.found) if told.within[head]][:BEST]
    if _named(told):
        return [divmod(i, n_heads) for i in told.within.flatten().nonzero().flatten().tolist()]
    if n_layers > n_heads:  # layers stand side by side, where there are more of them
        return [(layer, head) for head in range(n_heads) for layer in range(n_layers)]
    return [(layer, head) for layer in range(n_layers) for head in range(n_heads)]


def _made(chosen: Chosen, told: Told, order: list[tuple[int, int]]) -> Tiles:
    n_layers, n_heads = told.found.shape
    layers, heads = zip(*order, strict=True)
    maps = chosen.overview.maps[list(layers), list(heads)]  # (tiles, rows, columns)
    if _named(told):
        titles = tuple(f"{layer + 1}.{head + 1}  {number(float(told.found[layer, head]), 2)}" for layer, head in order)
        return Tiles(maps, chosen.overview.block, min(ACROSS, len(order)), names(order), titles)
    side_by_side = n_layers > n_heads
    words = (_("head"), _("layer")) if side_by_side else (_("layer"), _("head"))
    across = n_layers if side_by_side else n_heads
    hidden = frozenset(i for i, head in enumerate(order) if not told.within[head])
    return Tiles(maps, chosen.overview.block, across, names(order), (), *words, hidden)


def _tiles(chosen: Chosen, told: Told, order: list[tuple[int, int]]) -> dict[str, Any]:
    tiles = _made(chosen, told, order)
    spec, panel, placed = specify(tiles, current_theme(), width=1200)
    here = (chosen.layer, chosen.head)
    panel["tile"]["chosen"] = order.index(here) if here in order and told.within[here] else -1
    width = spec["layout"]["width"]
    with st.container(key="maps-tiles", width=width):
        st.plotly_chart(
            Specified(spec), width=width, theme=None, key="chart-maps-tiles", config=CONFIG, alt=_alt(tiles)
        )
    st.session_state["_tiles"] = (placed, [head if told.within[head] else None for head in order])
    return {"key": "maps-tiles", "panels": [panel]}


def _alt(tiles: Tiles) -> str:
    words = _("The weights of {n} heads, each a small map; largest weight in {head}.")
    largest = tiles.maps.flatten(1).amax(1)  # (tiles,)
    best = int(largest.masked_fill(_left_out(tiles), -1).argmax())
    return words.format(n=len(tiles.called) - len(tiles.hidden), head=tiles.called[best])


def _left_out(tiles: Tiles) -> Tensor:
    return torch.tensor([i in tiles.hidden for i in range(len(tiles.called))])


def _matrix(chosen: Chosen, told: Told) -> dict[str, Any]:
    """One number for each head, of all of them: rows and columns as those of the tiles."""
    name, found = told.name, told.found
    n_layers, n_heads = found.shape
    layer, head = Axis("", (), _("layer")), Axis("h", (), _("head"))
    values, rows, columns = (found.T, head, layer) if n_layers > n_heads else (found, layer, head)
    scale = "amount" if name in statistic.UNITS else "share"
    title = f"<b>{html(statistic.names()[name])}</b>"
    bars = {"share": _("share of the row, 0 to 1"), "amount": _("nats") if name == "entropy" else _("tokens")}
    return labs.maps(
        computed(chosen), "maps-statistic", [Map("statistic", title, values, rows, columns, scale)], bars=bars
    )


def clicked(chosen: Chosen, cell: dict[str, Any]) -> None:
    """Open the head whose tile or number was clicked."""
    row, column = int(cell["row"]), int(cell["col"])
    if cell["name"] == "statistic":
        n_layers, n_heads = chosen.overview.maps.shape[:2]
        layer, head = (column, row) if n_layers > n_heads else (row, column)
        state.set_lab(layer=layer, head=head)
    elif cell["name"] == "reads":
        state.set_lab(head=row)
    elif cell["name"] == "tiles":
        placed, order = st.session_state["_tiles"]
        found = at(placed, row, column)
        if found is not None and found[0] < len(order) and order[found[0]] is not None:
            layer, head = order[found[0]]
            state.set_lab(layer=layer, head=head)
            state.look(s=found[1], u=found[2])


def table(chosen: Chosen) -> pd.DataFrame:
    """Return every statistic of every head, a row a head; a click on a column's name sorts by it."""
    import pandas as pd

    found, words = chosen.overview.statistics, statistic.names()
    n_layers, n_heads = chosen.overview.maps.shape[:2]
    heads = [(layer + 1, head + 1) for layer in range(n_layers) for head in range(n_heads)]
    columns = {words[name]: values.flatten().numpy() for name, values in found.items()}
    named = {_("layer"): [layer for layer, _head in heads], _("head"): [head for _layer, head in heads]}
    return pd.DataFrame(named | columns)
