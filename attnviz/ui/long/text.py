"""A long text as a whole: a search in it, its map, and the strongest pairs of what the map shows."""

from __future__ import annotations

from functools import partial

import streamlit as st

from attnviz.locale import _
from attnviz.ui.compute import Computed
from attnviz.ui.long import edges, find, go, partners
from attnviz.ui.long import map as maps

MAP, BESIDE = 780, 420  # pixels of width: side by side on a wide screen, else one below the other


def show(computed: Computed) -> None:
    """Draw the chosen head over all tokens, pooled to the screen."""
    held, view = computed.run.long, computed.view
    assert held is not None
    tokens = computed.run.tokens[view.b]
    st.session_state.pop("_went", None)  # the page has followed: see edges
    with st.container(horizontal=True, gap="large"):
        with st.container(width=MAP):
            maps.show(
                maps.of_projections(held.query, held.key, held.name, mask=held.pooled_mask, scale=held.scale),
                chart_key="maps-whole",
                called=_("head {h}").format(h=view.h + 1),
                tokens=tokens,
                selected=(view.s, view.u),
                on_cell=go.to_cell,
                below=partial(edges.show, held, tokens),
            )
        with st.container(width=BESIDE):
            find.show(computed)
            partners.show(computed)
