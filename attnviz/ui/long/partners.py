"""Whom the chosen token of a long text reads most, and who reads it most."""

from __future__ import annotations

import streamlit as st

from attnviz.core.pooling import pooled_weights
from attnviz.core.pooling_rows import strongest
from attnviz.figures.text import cut, markdown, visible
from attnviz.limits import EDGES_SHOWN, LIVE_TOKENS, NAME_CHARS
from attnviz.locale import _
from attnviz.long import Long
from attnviz.ui.compute import Computed, once
from attnviz.ui.long import table


def show(computed: Computed) -> None:
    """Offer the strongest partners of query token s: as the one that reads, and as the one that is read."""
    held, view = computed.run.long, computed.view
    assert held is not None
    tokens, s = computed.run.tokens[view.b], view.s
    st.session_state["partners"] = st.session_state.setdefault("_partners", False)
    expander = st.expander(_("The strongest partners of the chosen token"), key="partners", on_change=_open)
    if not expander.open:
        return
    token = markdown(cut(visible(tokens[s][:NAME_CHARS]), 200))
    with expander, st.container(horizontal=True, gap="large"):
        with st.container(width="content"):
            words = _("Token {s} “{token}” reads most").format(s=f"{s + 1:,}", token=token)
            st.markdown(words)
            read = once("partners_read", (held.name, s), lambda: _read(held, s))
            table.show(f"reads:{s}", read, tokens, "u", words)
        with st.container(width="content"):
            words = _("Token {s} “{token}” is read most by").format(s=f"{s + 1:,}", token=token)
            st.markdown(words)
            if len(tokens) > LIVE_TOKENS:
                st.caption(_("Every row would have to be computed: up to {n} tokens.").format(n=f"{LIVE_TOKENS:,}"))
                return
            readers = once("partners_readers", (held.name, s), lambda: _readers(held, s))
            table.show(f"read_by:{s}", readers, tokens, "s", words)


def _open() -> None:
    st.session_state["_partners"] = st.session_state["partners"]


def _read(held: Long, s: int) -> table.Pairs:
    found = strongest(held.query, held.key, s, count=EDGES_SHOWN, mask=held.pooled_mask, scale=held.scale)
    return [(weight, s, u) for weight, u in zip(found.weights.tolist(), found.keys.tolist(), strict=True)]


def _readers(held: Long, u: int) -> table.Pairs:
    """The column of key token u, of which each row's softmax takes all keys; padding reads nothing."""
    n = len(held.query)
    column = pooled_weights(
        held.query, held.key, mask=held.pooled_mask, scale=held.scale, cols=(u, u + 1), size=n
    ).values[: held.length, 0]  # (s,)
    best = column.topk(min(EDGES_SHOWN, len(column)))
    return [(weight, s, u) for weight, s in zip(best.values.tolist(), best.indices.tolist(), strict=True)]
