"""A session and its work on tensors: what it asked for, how far that is, and how to stop it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import streamlit as st

from attnviz.locale import _, n_
from attnviz.ui import state
from attnviz.ui.fragments import fragment
from attnviz.ui.presence import alive
from attnviz.ui.tensors.jobs import Job, Line, Work
from attnviz.ui.turns import wait_for

MOMENT = 1.5  # seconds that a run waits before it says that it does


@st.cache_resource(show_spinner=False)
def line() -> Line:
    """Return the one worker of the server."""
    return Line()


def result(kind: str, name: Hashable, work: Work) -> Any | None:
    """Return what work found, once it is done; else None, and the page says how far it is.

    name: what it depends on; the last result of a kind is kept for the session. Raises ValueError as work does.
    """
    key = f"_job_{kind}"
    job: Job | None = st.session_state.get(key)
    if job is None or job.name != name:
        if job is not None:
            job.left = True
        job = line().ask(name, work, alive())
        if job is None:
            st.info(_("Many readers wait for their tensors just now: try again in a minute."))
            return None
        st.session_state[key] = job
        wait_for(job.done, MOMENT)
    if not job.done.is_set():
        _wait(job, key)
        return None
    if job.failure is not None:
        raise job.failure
    if job.left or job.broken:
        st.info(
            _("This was stopped.")
            if job.left
            else _("This could not be done, for a reason that the server's log names.")
        )
        st.button(_("Try again"), key=f"again:{kind}", on_click=_forget, args=(key,))
    return job.result


def _forget(key: str) -> None:
    st.session_state.pop(key, None)


@fragment(run_every=0.3)
def _wait(job: Job, key: str) -> None:
    if job.done.is_set():
        state.again()
    ahead = line().ahead(job)
    words = _("Mistakes are made on purpose and compared with your numbers: {n} tried so far.").format(n=job.n_done)
    if key != "_job_diagnosis":
        words = _("All heads are looked at: {n} layers so far.").format(n=job.n_done)
    if ahead:
        words = n_("{n} other reader's tensors come first.", "{n} other readers' tensors come first.", ahead).format(
            n=ahead
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"⏳ {words}", width="content")
        st.button(_("Stop"), key=f"stop:{key}", on_click=_stop, args=(job,))


def _stop(job: Job) -> None:
    job.left = True
