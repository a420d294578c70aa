"""A lab follows a line of text alone, where nothing else on its page says anything of the text.

Of a page that runs whole for each key, a browser draws the title, the navigation and all controls again: a quarter to
half of what it is sent. Where a notice stands on the page or would, or a box is open that is made of the text,
the page runs.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.experiment import Experiment
from attnviz.ui import state

LAB = "lab"  # the key of the fragment that a lab is
_QUIET, _CAN, _ASKED = "_lab_quiet", "_lab_follows", "_lab_asked"
_BOXES = ("examples", "more", "home")  # what is opened beside a lab, by key


def begin() -> None:
    """Note that a page begins to run whole: it has no lab so far."""
    st.session_state.update({_QUIET: False, _CAN: None})


def can() -> None:
    """Note that the page has a lab, and said nothing of the text."""
    st.session_state[_QUIET] = True


def end() -> None:
    """Note that a page has run to its end: what stands beside its lab is drawn."""
    if st.session_state[_QUIET]:
        st.session_state[_CAN] = _page()


def ask() -> None:
    """Let the lab run alone with the text that was just typed, if it can; called last in a callback."""
    # Whoever leaves the page by a tap commits the text with it: the page that is gone to is to be drawn, whole.
    here = st.session_state.get(_CAN) == _page()
    if here and not any(st.session_state.get(box) for box in _BOXES):
        st.session_state[_ASKED] = state.experiment()
        st.rerun(LAB)


def asked(experiment: Experiment) -> bool:
    """Say whether the lab was asked to follow, with this experiment."""
    return st.session_state.pop(_ASKED, None) is experiment


def _page() -> str:
    """Return what Streamlit calls the page that runs."""
    context = get_script_run_ctx()
    return "" if context is None else context.page_script_hash
