"""The head of every page: its title, the language, what it is shared by."""

from __future__ import annotations

import base64
from pathlib import Path

import streamlit as st

from attnviz import locale
from attnviz.locale import _
from attnviz.ui import state, widgets

NAMES = {"en": "English", "zh": "中文"}
# The picture of the tab: a causal map. The browser draws it anew with every change of the address, an emoji in 2 ms.
ICON = "data:image/png;base64," + base64.b64encode((Path(__file__).parent / "icon.png").read_bytes()).decode()


def show(title: str) -> None:
    """Draw the title, which stands before torch is loaded, and the language switch."""
    if title != st.session_state.get("_title"):
        st.session_state.pop("_drawn", None)  # another page's
    st.session_state["_title"], st.session_state["_section"] = title, ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"page_{state.page()}"):
        st.title(title, anchor=False)
        if "language" not in st.session_state:
            st.session_state["language"] = locale.current()
        st.segmented_control(
            _("Language"),
            locale.LANGUAGES,
            required=True,
            format_func=NAMES.__getitem__,
            label_visibility="collapsed",
            key="language",
            on_change=_take_language,
        )
        from attnviz.ui import sharing

        sharing.offer()


def _take_language() -> None:
    state.look(lang=widgets.sent("language"))
