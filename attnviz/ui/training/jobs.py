"""The training of a session: begun, found again after a change of page, and given up when its session ends."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.lab import MOST_STEPS
from attnviz.training.job import Job
from attnviz.training.recipe import Recipe
from attnviz.training.runs import RUNS, Refused
from attnviz.ui import state
from attnviz.ui.presence import alive

_JOB, _REFUSED = "_job", "_not_trained"  # keys of the session


def follow(recipes: Sequence[Recipe]) -> Job | None:
    """Return the session's job if it trains, or trained, these recipes; a link that has been trained begins it."""
    if state.view().lab.ran and _JOB not in st.session_state and _REFUSED not in st.session_state:
        start(recipes, from_link=True)
    job: Job | None = st.session_state.get(_JOB)
    found = job if job is not None and [t.recipe for t in job.trainings] == list(recipes) else None
    if _REFUSED not in st.session_state:
        state.keep(ran=found is not None)
    if (
        found is not None and found.why == "stopped"
    ):  # so that a link, which trains to the end, shows what is shown here
        last = max(training.step_number for training in found.trainings)
        state.keep(at_step=min(state.view().lab.at_step, last))
    return found


def start(recipes: Sequence[Recipe], *, from_link: bool = False) -> None:
    """Train recipes in the place of what the session trained before. A callback, but for what a link begins.

    A link says which step is looked at; what the reader begins is looked at to its end.
    """
    old: Job | None = st.session_state.pop(_JOB, None)
    if old is not None:
        old.stop()
    st.session_state.pop(_REFUSED, None)
    try:
        st.session_state[_JOB] = RUNS.submit(recipes, alive=alive())
    except Refused as error:
        st.session_state[_REFUSED] = error.code
    else:
        state.keep(ran=True, **({} if from_link else {"at_step": MOST_STEPS}))


def refused() -> str:
    """Return the code of why the last one was not begun, "" when it was."""
    code: str = st.session_state.get(_REFUSED, "")
    return code


def running(job: Job | None) -> bool:
    """Say whether a job waits or trains."""
    return job is not None and job.state in ("waiting", "training")
