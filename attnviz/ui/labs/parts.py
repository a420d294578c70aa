"""What of a lab runs when something changes: the lab alone, or one part of it, while the rest stands still."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import streamlit as st

from attnviz.experiment import to_query
from attnviz.figures.panels import within
from attnviz.ui import bridge, compute, following, notices, state
from attnviz.ui.compute import Computed
from attnviz.ui.drawn import drawn
from attnviz.ui.fragments import fragment, runs_alone
from attnviz.ui.labs import home

Made = TypeVar("Made")


def live(show: Callable[[Computed], None]) -> Callable[[Computed], None]:
    """Let a lab run alone when one of its own controls changes; what the page computed stands still.

    The whole page runs where a lab changed what is computed, or which sequence or head the page's controls show, and
    where its tables are open, which stand outside. A line of text the lab follows alone: see following.py.
    """

    @fragment(key=following.LAB)
    @wraps(show)
    def run(computed: Computed) -> None:
        experiment, before, alone = state.experiment(), computed.view, runs_alone()
        follows = following.asked(experiment)
        if not (follows or experiment is st.session_state["_ran"]) or (alone and home.shows_tables()):
            st.rerun()
        if alone:
            computed = compute.computed()  # what the page computed, or for the text that was typed since
            if follows and not notices.are_none(experiment, computed.run, computed.n_cut):
                st.rerun()
        elif notices.are_none(experiment, computed.run, computed.n_cut):
            following.can()
        st.session_state["_ran"] = experiment
        view = within(state.view(), computed.run)
        if (view.b, view.h) != (before.b, before.h):
            st.rerun()
        drawn().begin()
        show(computed._replace(view=view))

    return run


def part(*fields: str, connects: bool = False) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Let a part of a lab run alone when a setting changes that concerns no other part, one of these fields.

    For any other change the page runs, or the lab: see whole(). What the part draws depends on what was computed and on
    the view. It may write into places above it that it is given. Of what it returns, the charts for connect(), a change
    runs the page. connects: it calls connect() itself, at the end, for the charts above it as well.
    """

    def parted(show: Callable[..., Made]) -> Callable[..., Made]:
        @fragment()
        @wraps(show)
        def run(computed: Computed, *given: Any) -> Made:
            view, before = within(state.view(), computed.run), computed.view
            own = {field: getattr(view.lab, field) for field in fields}
            others = view != replace(before, lab=replace(before.lab, **own))
            alone = view != before
            if state.experiment() is not st.session_state["_ran"] or others or (alone and home.shows_tables()):
                st.rerun()
            computed = computed._replace(view=view)
            with drawn().part(show.__name__):
                made = show(computed, *given)
            if connects:
                return made
            tied = st.session_state.setdefault("_tied", {})  # by part, what the whole lab tied to the browser
            if not alone:
                tied[show.__name__] = deepcopy(made)
            elif made != tied.get(show.__name__):
                st.rerun()
            query = to_query(state.experiment(), state.view())
            if alone:
                drawn().publish(computed, None, query)
            bridge.address(f"address-{show.__name__}", query)
            return made

        return run

    return parted


def whole(bound: state.Bound) -> state.Bound:
    """Let the whole lab run when a widget inside one of its parts changes."""

    def take(*args: Any) -> None:
        bound["on_change"](*args)
        st.rerun("lab")

    return {**bound, "on_change": take}
