"""A training under way: its place in the line, its progress, and its curves and maps as they change.

A fragment that runs by itself: the rest of the page stands still, and the page runs again when the training has ended.
"""

from __future__ import annotations

import math

import streamlit as st

from attnviz.locale import _, n_
from attnviz.training.job import Job
from attnviz.training.trainer import Training
from attnviz.ui import headings, state
from attnviz.ui.drawn import drawn
from attnviz.ui.fragments import fragment
from attnviz.ui.training import curves, jobs, replay

EVERY = 0.8  # seconds between two looks


def show(job: Job) -> None:
    """Draw a job that waits or trains."""
    fragment(run_every=EVERY)(_watch)(job)


def said(job: Job | None) -> None:
    """Say how a job ended, where that is not at its last step."""
    if job is None:
        return
    for training in job.trainings:
        if training.failed is not None:
            words = _(
                "At step {step} the loss was no number any more: a learning rate of {rate} is too high for this model. "
                "What was learned before is kept; try {less}."
            )
            rate = training.recipe.learning_rate
            st.warning(words.format(step=training.failed.step, rate=f"{rate:g}", less=f"{min(0.01, rate / 10):g}"))
    step = max(training.step_number for training in job.trainings)
    ended = {
        "stopped": _("Stopped at step {step}: what was learned until then is kept."),
        "time": _("Ended at step {step}, since no training may take longer: choose fewer steps or a smaller model."),
        "closed": _("Ended at step {step}, when the page lost its connection: train again."),
        "error": _("The training ended by an error of the server: train again, or choose other settings."),
    }.get(job.why or "")
    if ended:
        st.info(ended.format(step=step))


def _watch(job: Job) -> None:
    if not jobs.running(job):
        state.again()
    drawn().begin()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.fraction, _words(job), width=640)
        st.button(_("Stop"), key="stop-training", on_click=job.stop)
    which = min(state.view().lab.which, len(job.trainings) - 1)
    if all(training.history for training in job.trainings):
        curves.show(job.trainings, which)
        _maps(job.trainings[which])


def _words(job: Job) -> str:
    if place := job.place:
        before = place - 1
        return _("Waiting in line, {n} before you").format(n=before)
    step, steps = (
        max(counts) for counts in zip(*((one.step_number, one.recipe.steps) for one in job.trainings), strict=True)
    )
    said = _("Step {step} of {steps}").format(step=step, steps=steps)
    left = job.seconds_left
    if left is None:
        return said
    seconds = math.ceil(left)
    return said + n_(", about {n} second left", ", about {n} seconds left", seconds).format(n=seconds)


def _maps(training: Training) -> None:
    step, weights = training.snapshots[-1]
    headings.title(_("The maps after step {step}").format(step=step))
    shown = replay.Shown(training.recipe, step, weights, training)
    tokens, _problem = replay.tokens(shown, state.view().lab.sequence)
    replay.maps(shown, tokens)
