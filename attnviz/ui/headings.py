"""The titles of a page's parts: headings, to which a screen reader jumps, of the size of the words around them."""

from __future__ import annotations

import streamlit as st


def title(words: str) -> None:
    """Draw a title: Markdown, in which tokens are escaped."""
    line(f"**{words}**")


def line(words: str) -> None:
    """Draw a line of Markdown that is a title, or begins with one, in bold.

    Its level is that of a block's name, next to the page's title: a part may stand on a page without blocks. No other
    Markdown has a heading, so that bridge.css may keep it small: a container around it, for a key, would cost every
    run; so would st.header, which the browser draws anew with each answer of the server, as it does not Markdown.
    """
    st.markdown(f"## {words}")
