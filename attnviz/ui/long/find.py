"""Find a token of a long text: where it stands, and the way there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from attnviz.core.pooling_rows import strongest
from attnviz.figures.text import cut, markdown, visible
from attnviz.limits import FOUND_SHOWN, NAME_CHARS
from attnviz.locale import _, n_
from attnviz.long import Long
from attnviz.long_search import around, places
from attnviz.tokenizers import tokenize
from attnviz.ui import widgets
from attnviz.ui.compute import Computed
from attnviz.ui.long import go


def show(computed: Computed) -> None:
    """Draw the search: what is sought, and the places where it stands, of which one is chosen."""
    held, view = computed.run.long, computed.view
    assert held is not None
    tokens = computed.run.tokens[view.b]
    sought = st.session_state.setdefault("_sought", "")
    st.session_state.setdefault("find", sought)
    seek = partial(places, tokens[: held.length])
    split = computed.experiment.tokenizer
    st.text_input(
        _("Find a token"),
        key="find",
        max_chars=NAME_CHARS,
        on_change=_seek,
        args=(held, seek, split),
        autocomplete="off",
    )
    if not sought.strip():
        return
    found = seek(tokenize(sought.strip(), split))
    if not found:
        st.markdown(_("“{sought}” stands nowhere in this sequence.").format(sought=markdown(sought)))
        return
    _choose(held, tokens, found)


def _choose(held: Long, tokens: Sequence[str], found: list[int]) -> None:
    words = n_("{n} place", "{n} places", len(found)).format(n=f"{len(found):,}")
    if len(found) > FOUND_SHOWN:
        words = _("{words}, of which the first {most} are listed").format(words=words, most=FOUND_SHOWN)
    listed = found[:FOUND_SHOWN]
    st.session_state["place"] = st.session_state.get("_place") if st.session_state.get("_place") in listed else None
    st.selectbox(
        words,
        listed,
        None,
        format_func=partial(_place, tokens),
        placeholder=_("Choose a place"),
        key="place",
        on_change=_go,
        args=(held,),
    )


def _place(tokens: Sequence[str], at: int) -> str:
    """One place, among its neighbours."""
    before, token, after = (cut(visible(words[:NAME_CHARS]), 150) if words else "" for words in around(tokens, at))
    return f"{at + 1:,}: {before} [{token}] {after}"


def _seek(held: Long, seek: Callable[[Sequence[str]], list[int]], split: str) -> None:
    """Go to the first place of what was typed."""
    sought = st.session_state["_sought"] = widgets.sent("find") or ""
    found = seek(tokenize(sought.strip(), split)) if sought.strip() else []
    if found:
        _go_to(held, found[0])


def _go(held: Long) -> None:
    _go_to(held, widgets.sent("place"))


def _go_to(held: Long, s: int | None) -> None:
    """Go to the row of a place, at the key that it reads most."""
    st.session_state["_place"] = s
    if s is not None:
        best = strongest(held.query, held.key, s, count=1, mask=held.pooled_mask, scale=held.scale)
        go.to_cell(s, int(best.keys[0]))
        st.session_state["_partners"] = True
