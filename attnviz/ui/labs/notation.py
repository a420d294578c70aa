"""What an index means: question 27, asked on Explore, where a click on the cell writes its sum out."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.text import markdown, number
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import state
from attnviz.ui.compute import Computed
from attnviz.ui.questions import Question, ask


def show(computed: Computed) -> None:
    """Ask what a_111 is."""
    trace, letters = computed.run.trace, computed.view.letters
    if trace is None:  # of a long text, whose first weight is no example
        return
    symbol, s, u = (relabel(name, letters) for name in ("bsu", "s", "u"))
    place = ask(
        Question(
            27,
            _("**What does a₁₁₁ mean?** The weights are written a_{letters}, with three indices.").format(
                letters=symbol
            ),
            {
                "head": _("head 1, row 1, column 1"),
                "cell": _("sequence 1, query token 1, key token 1"),
                "self": _("how much the first sequence attends to itself"),
            },
            right="cell",
        )
    )
    if place is None:
        return
    first = markdown(computed.run.tokens[0][0])
    with place:
        st.markdown(
            _(
                "b is the sequence, {s} the token that reads, {u} the token that is read. Here a₁₁₁ = {value}: of its "
                "attention, the first token “{token}” of the first sequence gives this share to key token 1, which is "
                "itself. Heads have an index of their own, h."
            ).format(s=s, u=u, value=number(float(trace.weights[0, computed.view.h, 0, 0]), 4), token=first)
        )
        st.button(_("Choose this cell and write it out"), key="a111", on_click=_choose)


def _choose() -> None:
    st.session_state["_written_out"] = True
    state.look(b=0, s=0, u=0, step="weights")
