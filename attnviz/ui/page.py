"""The parts of a page in their order: words, controls, compute, figure, cell, numbers."""

from __future__ import annotations

import streamlit as st

from attnviz.experiment import to_query
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import board as boards
from attnviz.ui import bridge, compute, controls, editor, notices, process, routing, state, tables
from attnviz.ui import cell as cells
from attnviz.ui import home as homes
from attnviz.ui.compute import Computed


def begin(words: str, *, long: bool = False, parts: tuple[str, ...] = (), own_heads: bool = False) -> Computed:
    """Say what the page is about, draw the shared controls and compute; without tokens the page ends here.

    long: the page shows a text of any length; another shows the tokens of which a whole trace is held. parts: the codes
    of the page's parts, where it has several, of which the first alone shows a long text. own_heads: where the
    experiment has one head, the page has others.
    {s} and {u} in the words stand for the letters of the tokens.
    """
    routing.require_app()
    process.settle()
    st.session_state["_ran"] = state.experiment()  # which fragments of this page belong to
    letters = state.view().letters
    st.markdown(words.format(s=relabel("s", letters), u=relabel("u", letters)))
    row = controls.show()
    notices.show_link()
    experiment = state.experiment()
    if not experiment.sequences:
        st.info(_("There is nothing to compute yet: type a word, or take an example."))
        bridge.connect([], {}, to_query(experiment, state.view()))
        state.stop()
    section = state.view().lab.section
    computed = compute.computed(long=long and (section not in parts or section == parts[0]))
    view = computed.view
    here = {"h": view.h} if experiment.n_heads > 1 or not own_heads else {}
    notices.show_moved(b=view.b, **here, s=view.s, u=view.u, feature=view.feature)
    notices.show_text(experiment, computed.n_cut, long=computed.run.long is not None)
    notices.show_numbers(computed.run, computed.view)
    notices.show_positions(experiment)
    with row:
        _choose(computed)
    return computed


def board(computed: Computed, *blocks: str) -> boards.Charts:
    """Draw blocks of the board; of a long text the whole map stands above those that have weights."""
    if computed.run.long is not None and blocks != ("projections",):
        from attnviz.ui.long import text  # what a short text does without

        text.show(computed)
    return boards.show(computed, *blocks)


def cell(computed: Computed, charts: boards.Charts, steps: tuple[str, ...]) -> None:
    """Draw the arithmetic of the chosen cell."""
    cells.show(computed, charts, steps)


def home(computed: Computed, blocks: tuple[str, ...], steps: tuple[str, ...]) -> None:
    """Offer the view as files: the blocks of the board, with the cells of `steps` written out."""
    homes.show(computed, blocks, steps)


def numbers(computed: Computed, *names: str) -> None:
    """Offer the numbers: to edit, and as tables."""
    editor.show(computed, tuple(name for name in editor.NAMES if name in names))
    tables.show(computed, tuple(name for name in names if name != "key_t"))


def _choose(computed: Computed) -> None:
    """Choose the sequence and the head that are drawn, where there are several."""
    b, h = len(computed.run.tokens), computed.experiment.n_heads
    for field, words, count in (("b", _("Sequence b"), b), ("h", _("Head h"), h)):
        if count > 1:
            bound = state.of_view(field)
            st.session_state[bound["key"]] = getattr(computed.view, field)
            st.segmented_control(words, range(count), required=True, format_func=lambda i: str(i + 1), **bound)
