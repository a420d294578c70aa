"""The numbers of this session: computed once for an experiment, and kept until another takes its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from attnviz import long as longs
from attnviz.experiment import Experiment, Run, View
from attnviz.figures.panels import within
from attnviz.run import embedded, without_trace
from attnviz.ui import state

Made = TypeVar("Made")
_OF_X = ("text", "tokenizer", "max_tokens", "d_model", "seed", "positions")  # what X depends on, but for its edits


class Computed(NamedTuple):
    """An experiment that fits the limits, what it computed, and the view moved inside it."""

    experiment: Experiment
    run: Run
    view: View
    base: Run | None  # the unedited run, when the difference to it is shown
    n_cut: int  # tokens that were left out


def computed(*, long: bool = False) -> Computed:
    """Compute the session's experiment, or return what was computed for it before.

    long: for a page that can show a text without its whole trace; others get the tokens whose trace is held.
    """
    experiment = state.experiment()
    if long and longs.is_long(experiment):
        return _long(experiment)
    fitting, n_cut = once("fitting", experiment, experiment.fitting)
    run = kept("run", fitting)
    view = within(state.view(), run)
    base = kept("base", fitting.unedited()) if view.difference and fitting.edits else None
    return Computed(fitting, run, view, base, n_cut)


def kept(name: str, experiment: Experiment) -> Run:
    """Run an experiment, or return what was computed for it before: the latest of each name is kept."""
    return once(name, experiment, experiment.run)


def _long(experiment: Experiment) -> Computed:
    """Compute the chosen head of the chosen sequence, as far as it is held of a long text."""
    fitting, n_cut = once("long_fitting", experiment, lambda: longs.fitting(experiment))
    view = state.view()
    run = _head("long", fitting, view)
    base = _head("long_base", fitting.unedited(), view) if view.difference and fitting.edits else None
    return Computed(fitting, run, within(view, run), base, n_cut)


def _head(name: str, e: Experiment, view: View) -> Run:
    b, h = min(view.b, len(e.sequences) - 1), min(view.h, e.n_heads - 1)
    vectors = once(f"{name}_vectors", tuple(getattr(e, field) for field in _OF_X), lambda: embedded(e))
    given = once(f"{name}_given", e, lambda: without_trace(e, vectors))
    return once(f"{name}_head", (e, b, h), lambda: longs.of(given, e, b, h))


def once(name: str, of: Any, make: Callable[[], Made]) -> Made:
    """Make something, or return what was made for the same before."""
    found: tuple[Any, Made] | None = st.session_state.get(f"_{name}")
    if found is None or (found[0] is not of and found[0] != of):
        found = (of, make())
        st.session_state[f"_{name}"] = found
    return found[1]
