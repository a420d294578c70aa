"""Every panel as a table of the same numbers, for those who read, copy or listen rather than look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.experiment import View
from attnviz.figures.panels import AXES, matrix, panels, unrotated
from attnviz.figures.text import visible
from attnviz.figures.titles import plain_symbol
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS
from attnviz.locale import _
from attnviz.ui.compute import Computed

if TYPE_CHECKING:
    import pandas as pd


def show(computed: Computed, names: tuple[str, ...]) -> None:
    """Offer each of the named matrices as a table: whole, or of a long text as much as is drawn of it."""
    expander = st.expander(_("Every matrix as a table"), key="tables", on_change="rerun")
    if not expander.open:  # a closed one computes nothing
        return
    with expander:
        if computed.run.long is not None:
            st.caption(_("Of a long text the tokens are those that the maps show."))
        for tab, name in zip(st.tabs([plain_symbol(name) for name in names]), names, strict=True):
            with tab:
                st.dataframe(table(computed, name), width="content", alt=plain_symbol(name))


def table(computed: Computed, name: str, *, before_rotation: bool = False) -> pd.DataFrame:
    """Return one matrix as a table, its rows and columns named; tokens are numbered, since they repeat.

    Of a long text it is the window that is drawn. before_rotation: of queries and keys that were rotated, those that
    were projected.
    """
    import pandas as pd  # a third of a second, which a page without an open table does without

    view, tokens = computed.view, computed.run.tokens[computed.view.b]
    run = unrotated(computed.run) if before_rotation else computed.run
    if run.long is None:
        values, first = matrix(run, name, view.b, view.h).numpy(), (0, 0)
    else:
        panel = panels(computed.experiment, run, view, (name,))[name]
        values, first = panel.values, panel.start
    rows, columns = (
        [_name(letter, start + i, tokens, view) for i in range(size)]
        for letter, start, size in zip(AXES[name], first, values.shape, strict=True)
    )
    return pd.DataFrame(values, index=rows, columns=columns)


def _name(letter: str, i: int, tokens: tuple[str, ...], view: View) -> str:
    if letter in ("s", "u"):
        return f"{i + 1} {visible(tokens[i][:NAME_CHARS])}"
    return f"{relabel(letter, view.letters)}={i + 1}" if letter else "Σ"
