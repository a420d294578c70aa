"""The numbers of a pooled map as a table, its rows and columns named by their tokens."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.core.pooling import PooledMap
from attnviz.figures.pooled_cells import block_of, coarse, numbers
from attnviz.figures.text import cut, visible
from attnviz.locale import _

if TYPE_CHECKING:
    import pandas as pd

CELLS = 128  # cells a side of the table: 16,384 numbers
_WIDE = 100  # pixels of the tokens that name a row or a column


def offer(pooled: PooledMap, tokens: Sequence[str] | None, key_tokens: Sequence[str] | None) -> None:
    """Offer the table, which is made only when it is opened."""
    expander = st.expander(_("The map as a table"), key="map_table", on_change="rerun")
    if not expander.open:
        return
    shown = coarse(pooled, CELLS)
    rows, columns = block_of(shown)
    words = (
        _("Each number is one weight.")
        if shown.exact
        else _("Each number is the largest weight of {rows} × {columns} tokens.").format(rows=rows, columns=columns)
    )
    with expander:
        st.caption(words)
        st.dataframe(frame(shown, tokens, key_tokens), width="content", alt=words, key="map_frame")


def frame(pooled: PooledMap, tokens: Sequence[str] | None, key_tokens: Sequence[str] | None) -> pd.DataFrame:
    """Return the numbers of a map, whose rows and columns are named by their tokens, counted from 1."""
    import pandas as pd

    return pd.DataFrame(
        numbers(pooled),
        index=_named(pooled.row_edges, tokens),
        columns=_named(pooled.col_edges, key_tokens or tokens),
    )


def _named(edges: Sequence[int], tokens: Sequence[str] | None) -> list[str]:
    named = []
    for first, end in itertools.pairwise(edges):
        number = f"{first + 1}" if end == first + 1 else f"{first + 1}–{end}"
        # A token takes a pixel at least: more of them than pixels cannot show.
        words = " ".join(visible(token) for token in tokens[first : min(end, first + _WIDE)]) if tokens else ""
        named.append(f"{number} {cut(words, _WIDE)}".rstrip())
    return named
