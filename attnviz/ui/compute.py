"""The numbers of this session: computed once for an experiment, and kept until another takes its place."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.panels import within
from attnviz.ui import state


class Computed(NamedTuple):
    """An experiment that fits the limits, what it computed, and the view moved inside it."""

    experiment: Experiment
    run: Run
    view: View
    base: Run | None  # the unedited run, when the difference to it is shown
    n_cut: int  # tokens that were left out


def computed() -> Computed:
    """Compute the session's experiment, or return what was computed for it before."""
    fitting, n_cut = state.experiment().fitting()
    run = kept("run", fitting)
    view = within(state.view(), run)
    base = kept("base", fitting.unedited()) if view.difference and fitting.edits else None
    return Computed(fitting, run, view, base, n_cut)


def kept(name: str, experiment: Experiment) -> Run:
    """Run an experiment, or return what was computed for it before: the latest of each name is kept."""
    found: tuple[Experiment, Run] | None = st.session_state.get(f"_{name}")
    if found is None or found[0] != experiment:
        found = (experiment, experiment.run())
        st.session_state[f"_{name}"] = found
    return found[1]
