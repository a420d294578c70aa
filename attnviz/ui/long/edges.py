"""The strongest pairs of what a map of a long text shows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz import locale
from attnviz.core.pooling import PooledMap
from attnviz.core.pooling_rows import strongest_edges
from attnviz.limits import EDGES_SHOWN
from attnviz.locale import _
from attnviz.long import Long
from attnviz.ui import state
from attnviz.ui.compute import once
from attnviz.ui.long import table


def show(held: Long, tokens: Sequence[str], pooled: PooledMap) -> None:
    """Offer the largest weights of the window of `pooled`; a row that is chosen leads to its cell."""
    locale.use(state.language())  # the map's fragment runs in a thread of its own
    if st.session_state.pop("_went", False):
        st.rerun()  # the board, which stands outside the map's fragment, follows
    expander = st.expander(_("The strongest pairs of what is shown"), key="edges", on_change="rerun")
    if not expander.open:
        return
    window = (pooled.row_edges[0], pooled.row_edges[-1], pooled.col_edges[0], pooled.col_edges[-1])
    pairs = once("edges", (held.name, window), lambda: _strongest(held, pooled))
    with expander:
        st.caption(_("Choose a row to see its cell on the board."))
        table.show(f"pairs:{window}", pairs, tokens, "su", _("The strongest pairs of what is shown"))


def _strongest(held: Long, pooled: PooledMap) -> table.Pairs:
    found = strongest_edges(held.query, held.key, pooled, count=EDGES_SHOWN, mask=held.pooled_mask, scale=held.scale)
    return list(zip(*(each.tolist() for each in found), strict=True))
