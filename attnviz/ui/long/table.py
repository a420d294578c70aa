"""A table of weights between tokens, of which a row is chosen to go to its cell."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.figures.text import cut, visible
from attnviz.figures.titles import role
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS
from attnviz.locale import _
from attnviz.ui import state, widgets
from attnviz.ui.long import go

Pairs = list[tuple[float, int, int]]  # a weight, its query token and its key token


def show(key: str, pairs: Pairs, tokens: Sequence[str], letters: str, alt: str) -> None:
    """Draw pairs, the strongest first; letters: which of their tokens are named, "s", "u" or both."""
    import pandas as pd  # a third of a second, which a page without an open table does without

    columns: dict[str, list[object]] = {}
    for letter in letters:
        at = [int(pair["su".index(letter) + 1]) for pair in pairs]
        head = f"{role(letter)} {relabel(letter, state.view().letters)}"
        columns[head] = [f"{i + 1:,} {_named(tokens[i])}" for i in at]
    columns[_("weight")] = [pair[0] for pair in pairs]
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        width="content",
        height=min(len(pairs), 10) * 35 + 38,
        column_config={_("weight"): st.column_config.NumberColumn(format="%.6f")},
        on_select=lambda: _go(key, pairs),
        selection_mode="single-row",
        key=key,
        alt=alt,
    )


def _named(token: str) -> str:
    return cut(visible(token[:NAME_CHARS]), 200)


def _go(key: str, pairs: Pairs) -> None:
    selected = widgets.sent(key)
    rows = selected["selection"]["rows"] if selected else []
    if rows:
        _weight, s, u = pairs[rows[0]]
        go.to_cell(s, u)
        st.session_state["_went"] = True
