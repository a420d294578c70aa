"""While a map is pooled: how much is done, the time that is left, and a button that stops it."""

from __future__ import annotations

import math

import streamlit as st

from attnviz.locale import _, n_
from attnviz.ui.fragments import fragment
from attnviz.ui.long import map_kept
from attnviz.ui.long.pooling_jobs import POOL, Job
from attnviz.ui.turns import wait_for

SHORT = 0.3  # seconds that a run waits without a bar


def wait(job: Job) -> None:
    """Show a job that goes on or has ended without a map; the page runs again as soon as the map is there."""
    if wait_for(job.done, SHORT) and job.result is not None:
        st.rerun()
    if job.broken:
        st.error(_("This map could not be computed, for a reason that the server's log names."))
    elif job.stopped.is_set():
        st.info(_("The map was stopped."))
        st.button(_("Compute it"), key="pool_again", on_click=map_kept.again)
    else:
        _bar(job)


@fragment(run_every=0.4)
def _bar(job: Job) -> None:
    job.look()
    if job.done.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.share, text=_said(job))
        st.button(_("Stop"), key="stop_pooling", on_click=job.stopped.set)


def _said(job: Job) -> str:
    ahead, left = POOL.ahead(job), job.seconds_left
    if ahead:
        return n_("Waiting: {n} map comes first.", "Waiting: {n} maps come first.", ahead).format(n=ahead)
    done = _("Computing the map: {percent} %").format(percent=math.floor(100 * job.share))
    if left is None:
        return done
    seconds = max(1, round(left))
    return done + n_(", about {n} second left", ", about {n} seconds left", seconds).format(n=seconds)
