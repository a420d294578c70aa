"""The head of every page: its title, the language, the link to share, and what could not be taken."""

from __future__ import annotations

import streamlit as st

from attnviz import locale
from attnviz.locale import _
from attnviz.ui import state

NAMES = {"en": "English", "zh": "中文"}


def show(title: str) -> None:
    """Draw the title, which stands before torch is loaded, and the language switch."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
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
            from attnviz.ui import bridge, pictures

            bridge.copy_link()
            pictures.offer(title)


def _take_language() -> None:
    state.look(lang=st.session_state["language"])
