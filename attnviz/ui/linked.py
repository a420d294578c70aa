"""What the link of a session could not have, and whether the reader still looks at what it opened."""

from __future__ import annotations

import streamlit as st

from attnviz.link_values import Notice

_REFUSED, _UNCHANGED = "_link_refused", "_link_unchanged"  # keys of the session


def begin(refused: tuple[Notice, ...]) -> None:
    """Note what the link of a new session asked for and could not have."""
    st.session_state.update({_REFUSED: refused, _UNCHANGED: True})


def refused() -> tuple[Notice, ...]:
    """Return what the link asked for and could not have, until the experiment is changed."""
    held: tuple[Notice, ...] = st.session_state[_REFUSED]
    return held


def is_unchanged() -> bool:
    """Say whether the reader is on the link's page and has set nothing there, but perhaps the language."""
    unchanged: bool = st.session_state[_UNCHANGED]
    return unchanged


def looked_elsewhere() -> None:
    """Note that the reader has gone to another page, or looks at something else there than the link asked for."""
    st.session_state[_UNCHANGED] = False


def changed() -> None:
    """Note that the experiment is no longer the link's."""
    st.session_state.update({_REFUSED: (), _UNCHANGED: False})
