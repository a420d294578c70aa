"""The page in its order: files, which array is which, what is wrong, every head at once, then one head."""

from __future__ import annotations

from typing import Any, NoReturn, cast

import streamlit as st

from attnviz.experiment import to_query
from attnviz.limits import TOKENS
from attnviz.locale import _
from attnviz.ui import board, bridge, headings, home, labs, notices, process, routing, state
from attnviz.ui import cell as cells
from attnviz.ui.board import Charts
from attnviz.ui.drawn import drawn
from attnviz.ui.labs import figure_tables
from attnviz.ui.labs import home as labs_home
from attnviz.ui.models import overview
from attnviz.ui.models.chosen import Chosen, box, of_head, stand_in
from attnviz.ui.tensors import arrays, diagnosed, files, heads, held, maps
from attnviz.ui.tensors.given import Given
from attnviz.ui.tensors.heads import Heads

BOARD = ("scores", "scaled", "masked", "weights", "output")


def show(words: str) -> None:
    """Draw the page."""
    routing.require_app()
    process.settle()
    st.session_state["_ran"] = state.experiment()
    drawn().begin()
    st.markdown(words)
    refused = st.container()
    with refused:
        notices.show_link()
    files.show()
    now = held.now()
    if now is None:
        if state.view().lab.brought:
            st.info(
                _(
                    "This link was made with a file, which no link carries: drop the file here, and it is shown as "
                    "the link has it."
                )
            )
        _end()
    if not now.arrays:
        st.info(_("There are tokens and no arrays yet: drop the weights, or q, k and v, beside them."))
        _end()
    given = arrays.show(now)
    if isinstance(given, str):
        st.warning(given)
        _end()
    at = stand_in(given.queries, given.keys).view
    with refused:
        notices.show_moved(layer=given.layer, sample=given.sample, head=given.head, s=at.s, u=at.u)
    st.header(_("Diagnosis"), anchor=False)
    diagnosed.show(given)
    if given.n_layers * given.n_heads > 1:
        st.header(_("Every head"), anchor=False)
    charts, several = heads.show(given)
    st.header(
        _("Layer {layer}, head {head}").format(layer=given.layer + 1, head=given.head + 1), anchor=overview.ANCHOR
    )
    with st.container(horizontal=True):
        if given.n_layers > 1:
            box(_("Layer"), "layer", given.layer, given.n_layers)
        if given.n_heads > 1:
            box(_("Head"), "head", given.head, given.n_heads)
    _head(given, charts, several)


def _head(given: Given, charts: Charts, several: Heads | None) -> None:
    """Draw the chosen head, step by step where there are queries and keys."""
    drawn, computed = maps.show(given, maps.of(given))
    charts = charts + drawn

    def clicked(cell: dict[str, Any]) -> None:
        if cell["name"] in overview.NAMES:
            overview.clicked(cast(Chosen, several), cell)
        else:
            maps.clicked(cell)

    if has_board(given):
        headings.line(_("**Step by step, as it should be**: computed from your queries, keys and values."))
        own = of_head(given.read(), given.head, given.queries)
        charts = charts + board.show(own, "scores", "output", sliders=False)
        figure_tables.show()
        cells.show(own, charts, BOARD, on_other=clicked, note=_("**As it should be**:"))
        home.show(own, ("scores", "output"), BOARD, note=_("as it should be, computed from your q, k, v"))
        return
    selected = {"name": "theirs", "row": computed.view.s, "col": computed.view.u}
    labs.connect(computed, charts, selected=selected, key_tokens=given.keys, on_cell=clicked)
    labs_home.show(computed)


def has_board(given: Given) -> bool:
    """Say whether the head can be drawn as Explore's board, whose map is square and whose scores are only scaled."""
    brought = given.brought
    whole = brought.query is not None and brought.value is not None
    return whole and given.square and given.softcap is None and len(given.queries) <= TOKENS


def _end() -> NoReturn:
    bridge.connect([], {}, to_query(state.experiment(), state.view()))
    state.stop()
