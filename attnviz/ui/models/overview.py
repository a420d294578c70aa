"""Every head of a part at once: its map as a tile, and a number that tells the heads apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, number
from attnviz.figures.tiles import Tiles, at, names, specify
from attnviz.locale import _
from attnviz.models.heads import ranked
from attnviz.ui import labs, state
from attnviz.ui.board import CONFIG, Charts, current_theme
from attnviz.ui.chart import Specified
from attnviz.ui.models.chosen import Chosen, computed

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("tiles", "statistic", "reads")  # of the panels whose clicks are taken here
ANCHOR = "head"  # of the heading under which the chosen head stands
BEST = 24  # heads that are drawn where they are ranked
ACROSS = 12
_UNITS = ("entropy", "distance")  # which are no shares


def show(chosen: Chosen) -> Charts:
    """Draw all heads, and one statistic of each."""
    found = chosen.overview.statistics
    name = _statistic(chosen)
    order = ranked(found[name], BEST)
    best = order[0]
    st.caption(
        _("{definition} Highest: layer {layer}, head {head}, with {value}.").format(
            definition=_definitions(chosen)[name],
            layer=best[0] + 1,
            head=best[1] + 1,
            value=number(float(found[name][best]), 4),
        )
    )
    with st.container(horizontal=True, gap="medium"):
        charts = [_tiles(chosen, name), _matrix(chosen, name)]
    words = _("Layer {layer}, head {head} below").format(layer=chosen.layer + 1, head=chosen.head + 1)
    st.markdown(f"[{words}](#{ANCHOR})")
    labs.tables("statistics", [(_("Every statistic of every head"), partial(table, chosen))])
    return charts


def statistics() -> dict[str, str]:
    """Return what each statistic is called."""
    return {
        "previous": _("previous token"),
        "next": _("next token"),
        "first": _("first token"),
        "itself": _("itself"),
        "same": _("same token"),
        "induction": _("induction"),
        "separator": _("separators"),
        "entropy": _("entropy"),
        "distance": _("distance"),
    }


def _definitions(chosen: Chosen) -> dict[str, str]:
    words = {
        "previous": _("**Previous token**: the share a row gives to the token just before its own."),
        "next": _("**Next token**: the share a row gives to the token just after its own."),
        "first": _("**First token**: the share a row gives to the first token, where idle heads often rest."),
        "itself": _("**Itself**: the share a row gives to its own token."),
        "same": _("**Same token**: the share a row gives to earlier copies of its own token."),
        "induction": _("**Induction**: the share a row gives to what followed earlier copies of its own token."),
        "separator": _("**Separators**: the share a row gives to special tokens after the first, such as [SEP]."),
        "entropy": _("**Entropy**: how spread a row is, in nats; 0 is one key alone."),
        "distance": _("**Distance**: how many tokens away a row looks, on average."),
    }
    mean = " " + _("Averaged over the rows that have it.")
    return {name: said + mean for name, said in words.items() if name in chosen.overview.statistics}


def _statistic(chosen: Chosen) -> str:
    """Offer the statistics; hovering over the question mark defines them all."""
    found, words = list(chosen.overview.statistics), statistics()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound = state.of_lab("statistic", worded=True)
        name = state.view().lab.statistic
        name = name if name in found else found[0]
        st.session_state[bound["key"]] = name
        st.segmented_control(
            _("Tell heads apart by"),
            found,
            required=True,
            format_func=words.__getitem__,
            help="\n\n".join(_definitions(chosen).values()),
            **bound,
        )
        n_heads = chosen.overview.maps.shape[0] * chosen.overview.maps.shape[1]
        if n_heads > 1:
            st.toggle(_("Highest first"), **state.of_lab("ranked"))
    return name


def _order(chosen: Chosen, name: str) -> list[tuple[int, int]]:
    n_layers, n_heads = chosen.overview.maps.shape[:2]
    if state.view().lab.ranked:
        return ranked(chosen.overview.statistics[name], BEST)
    if n_layers > n_heads:  # layers stand side by side, where there are more of them
        return [(layer, head) for head in range(n_heads) for layer in range(n_layers)]
    return [(layer, head) for layer in range(n_layers) for head in range(n_heads)]


def _made(chosen: Chosen, name: str) -> tuple[Tiles, list[tuple[int, int]]]:
    order = _order(chosen, name)
    n_layers, n_heads = chosen.overview.maps.shape[:2]
    layers, heads = zip(*order, strict=True)
    maps = chosen.overview.maps[list(layers), list(heads)]  # (tiles, rows, columns)
    if state.view().lab.ranked:
        found = chosen.overview.statistics[name]
        titles = tuple(f"{layer + 1}.{head + 1}  {number(float(found[layer, head]), 2)}" for layer, head in order)
        return Tiles(maps, chosen.overview.block, min(ACROSS, len(order)), names(order), titles), order
    side_by_side = n_layers > n_heads
    words = (_("head"), _("layer")) if side_by_side else (_("layer"), _("head"))
    across = n_layers if side_by_side else n_heads
    return Tiles(maps, chosen.overview.block, across, names(order), (), *words), order


def _tiles(chosen: Chosen, name: str) -> dict[str, Any]:
    tiles, order = _made(chosen, name)
    spec, panel, placed = specify(tiles, current_theme(), width=1200)
    here = (chosen.layer, chosen.head)
    panel["tile"]["chosen"] = order.index(here) if here in order else -1
    width = spec["layout"]["width"]
    with st.container(key="maps-tiles", width=width):
        st.plotly_chart(
            Specified(spec), width=width, theme=None, key="chart-maps-tiles", config=CONFIG, alt=_alt(tiles)
        )
    st.session_state["_tiles"] = (placed, order)
    return {"key": "maps-tiles", "panels": [panel]}


def _alt(tiles: Tiles) -> str:
    words = _("The weights of {n} heads, each a small map; largest weight in {head}.")
    best = int(tiles.maps.flatten(1).amax(1).argmax())
    return words.format(n=len(tiles.called), head=tiles.called[best])


def _matrix(chosen: Chosen, name: str) -> dict[str, Any]:
    """One number for each head: rows and columns as those of the tiles."""
    found = chosen.overview.statistics[name]
    n_layers, n_heads = found.shape
    layer, head = Axis("", (), _("layer")), Axis("h", (), _("head"))
    values, rows, columns = (found.T, head, layer) if n_layers > n_heads else (found, layer, head)
    scale = "amount" if name in _UNITS else "share"
    title = f"<b>{html(statistics()[name])}</b>"
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
        if found is not None and found[0] < len(order):
            layer, head = order[found[0]]
            state.set_lab(layer=layer, head=head)
            state.look(s=found[1], u=found[2])


def table(chosen: Chosen) -> pd.DataFrame:
    """Return every statistic of every head, a row a head; a click on a column's name sorts by it."""
    import pandas as pd

    found, words = chosen.overview.statistics, statistics()
    n_layers, n_heads = chosen.overview.maps.shape[:2]
    heads = [(layer + 1, head + 1) for layer in range(n_layers) for head in range(n_heads)]
    columns = {words[name]: values.flatten().numpy() for name, values in found.items()}
    named = {_("layer"): [layer for layer, _head in heads], _("head"): [head for _layer, head in heads]}
    return pd.DataFrame(named | columns)
