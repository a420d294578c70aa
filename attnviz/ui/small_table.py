"""A small table of words and printed numbers, whose cells are Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st


def show(columns: Mapping[str, Sequence[str]]) -> None:
    """Draw columns under their heads; both are Markdown.

    They go to Streamlit as Arrow, which it sends as it is: by way of a data frame a table takes a fifth of a run.
    """
    import pyarrow as pa  # with the first table that is drawn, not with the first page

    st.table(pa.table(dict(columns)), border="horizontal", width="content", hide_index=True)
