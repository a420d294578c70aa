"""A part of a page that runs alone, as Streamlit's fragments do, in its turn and in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz import locale
from attnviz.ui import state, widgets
from attnviz.ui.turns import in_turn

Given = ParamSpec("Given")
Made = TypeVar("Made")


def fragment(
    *, key: str | None = None, run_every: float | None = None
) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Let what a function draws run alone when one of its widgets changes, and every so many seconds.

    key: its name for st.rerun().
    """

    def made(show: Callable[Given, Made]) -> Callable[Given, Made]:
        @st.fragment(key=key, run_every=run_every)
        @in_turn
        @wraps(show)
        def run(*args: Given.args, **given: Given.kwargs) -> Made:
            locale.use(state.language())  # a fragment runs in a thread of its own
            if runs_alone():  # a whole run has done so when it began
                state.remind()
            made = show(*args, **given)
            widgets.told()
            return made

        return run

    return made


def runs_alone() -> bool:
    """Say whether a part of the page runs now, and not the page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)
