"""What a session holds: one Experiment and one View. Widgets are seeded from them and write back to them.

The two are the only truth; a widget that a page does not draw loses nothing, and a link is theirs alone. Nothing
here imports torch, so that a page's title stands before it loads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn, TypedDict

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz import locale
from attnviz.experiment import EDITS, Experiment, View
from attnviz.limits import UNDO
from attnviz.links import read_query
from attnviz.ui import linked, widgets

_HELD = ("experiment", "view", "past")
_BOXES = ("text_line", "text_area", "several", "language")  # widgets that are no field's


class Bound(TypedDict):
    """What ties a widget to a field."""

    key: str
    on_change: Callable[..., None]
    args: tuple[Any, ...]


def begin() -> None:
    """Read the link when a session begins, and set the language of this run."""
    if "experiment" not in st.session_state:
        query = {name: st.query_params.get_all(name) for name in st.query_params}
        experiment, view, refused = read_query(query)
        st.session_state.update(experiment=experiment, view=view, past=[])
        linked.begin(refused)
    remind()
    locale.use(language())


def remind() -> None:
    """Let the browser be sent again what it has not drawn yet; called when a run of a page, or of a part, begins."""
    widgets.remind(experiment(), view(), view().lab, keys=_BOXES)


def arrive(page: str) -> None:
    """Let a page that is newly opened seed its widgets again: their keys outlive them, what they show does not.

    Keys with an underscore are no widgets'.
    """
    if (before := st.session_state.get("_page")) != page:
        st.session_state["_page"] = page
        if before is not None:
            linked.looked_elsewhere()
        _forget_widgets()


def page() -> str:
    """Return the code of the page that is open, which no language changes: its address, or "explore"."""
    code: str = st.session_state["_page"]
    return code or "explore"


def again() -> NoReturn:
    """Run the page again at once, each widget sent its value anew: a browser may not have drawn the run before.

    Streamlit sends a value once; of two runs in quick succession a browser may draw the second alone, without it.
    """
    _forget_widgets()
    st.rerun()


def stop() -> NoReturn:
    """End the page here. What it has not drawn is given its value anew once it is: a browser has then forgotten it.

    Streamlit forgets the widgets that a run left out, but not those of a run that was stopped.
    """
    context = get_script_run_ctx()
    drawn = () if context is None else context.shared.widget_user_keys_this_run
    for key in list(st.session_state):
        if key not in _HELD and not str(key).startswith("_") and key not in drawn:
            _forget(key)
    widgets.told()
    st.stop()


def _forget_widgets() -> None:
    for key in list(st.session_state):
        if key not in _HELD and not str(key).startswith("_"):
            _forget(key)


def _forget(key: str | int) -> None:
    # What a browser sends of a box that Streamlit has forgotten with its page is listed, and not there to be deleted.
    with suppress(KeyError):
        del st.session_state[key]


def language() -> str:
    """Return the language that was chosen on screen or in the link, else the browser's."""
    return view().lang or locale.choose(st.context.locale)


def experiment() -> Experiment:
    """Return what is computed."""
    held: Experiment = st.session_state["experiment"]
    return held


def view() -> View:
    """Return where one looks."""
    held: View = st.session_state["view"]
    return held


def change(new: Experiment) -> None:
    """Put another experiment in place; a change of the edits can be undone. Call it in a callback."""
    old = experiment()
    if new.edits != old.edits:
        st.session_state["past"] = [*st.session_state["past"], old.edits][-UNDO:]
    st.session_state["experiment"] = new
    linked.changed()
    widgets.follow(new)


def look(**changed: Any) -> None:
    """Look elsewhere: change fields of the view. Call it in a callback."""
    st.session_state["view"] = replace(view(), **changed)
    if set(changed) != {"lang"}:
        linked.looked_elsewhere()
    widgets.follow(view())


def look_at(field: str, key: str) -> None:
    """Look at the place whose number a widget sent: on screen, places count from 1. A callback."""
    number = widgets.sent(key)
    if number is not None:
        look(**{field: number - 1})


def undo() -> None:
    """Take back the last change of the edits. Call it in a callback."""
    if past := st.session_state["past"]:
        edits: dict[str, Any] = dict.fromkeys(EDITS) | past[-1]
        st.session_state.update(experiment=replace(experiment(), **edits), past=past[:-1])


def can_undo() -> bool:
    """Say whether there is a change of the edits to take back."""
    return bool(st.session_state["past"])


def of_experiment(field: str, *, worded: bool = False) -> Bound:
    """Tie a widget to a field of the experiment.

    worded: the widget's options are translated. Streamlit keeps a choice by its label, so that each language needs
    a widget of its own.
    """
    return _bind(field, experiment(), _take_experiment, worded)


def of_view(field: str, *, worded: bool = False) -> Bound:
    """Tie a widget to a field of the view."""
    return _bind(field, view(), _take_view, worded)


def of_lab(field: str, *, worded: bool = False) -> Bound:
    """Tie a widget to a setting of the labs."""
    return _bind(field, view().lab, _take_lab, worded)


def set_lab(**changed: Any) -> None:
    """Change settings of the labs. Call it in a callback."""
    before = view().lab
    keep(**changed)
    if view().lab != before:
        linked.looked_elsewhere()
    widgets.follow(view(), view().lab)


def keep(**changed: Any) -> None:
    """Change settings of the labs that no widget shows. Call it anywhere."""
    st.session_state["view"] = replace(view(), lab=replace(view().lab, **changed))


def seed(field: str, value: Any) -> None:
    """Let a worded widget of the view show `value`, where the view's own does not fit what is computed."""
    st.session_state[f"{field}.{locale.current()}"] = value


def _bind(field: str, source: Any, take: Callable[..., None], worded: bool) -> Bound:
    key = f"{field}.{locale.current()}" if worded else field
    if key not in st.session_state:
        st.session_state[key] = getattr(source, field)
    return Bound(key=key, on_change=take, args=(field, key))


def _take_experiment(field: str, key: str) -> None:
    if widgets.is_stale(key):
        return
    value = widgets.sent(key)
    if value is None:  # an emptied number box: the number before it stays
        st.session_state[key] = getattr(experiment(), field)
        return
    changed: dict[str, Any] = {field: value}
    if field == "n_heads" and experiment().n_kv_heads and value % experiment().n_kv_heads:
        changed["n_kv_heads"] = None
    change(replace(experiment(), **changed))


def _take_view(field: str, key: str) -> None:
    if widgets.is_stale(key):
        return
    value = widgets.sent(key)
    if value is None:
        st.session_state[key] = getattr(view(), field)
    else:
        look(**{field: value})


def _take_lab(field: str, key: str) -> None:
    if widgets.is_stale(key):
        return
    value = widgets.sent(key)
    if value is None:
        st.session_state[key] = getattr(view().lab, field)
    else:
        set_lab(**{field: value})
