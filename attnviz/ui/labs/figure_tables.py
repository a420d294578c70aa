"""Every number of a lab's figures as a table, each made only when it is asked for."""

from __future__ import annotations

import streamlit as st

from attnviz.export.figure import each_table
from attnviz.figures.text import markdown
from attnviz.locale import _
from attnviz.ui.drawn import drawn


def show() -> None:
    """Offer every number drawn so far in a box of its own, where what is taken home is another page's."""
    expander = st.expander(_("Every figure as a table"), key="tables", on_change="rerun")
    if expander.open:  # a closed one costs nothing
        with expander:
            write()


def write() -> None:
    """Draw every number drawn so far as tables."""
    for key, i, name, make in each_table(drawn().figures):
        st.caption(markdown(name))
        st.dataframe(make(), width="content", alt=name, key=f"frame:{key}:{i}")
