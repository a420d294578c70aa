"""What widgets send, and what they are to show and the browser has not been told yet.

A browser sends the values of all widgets with each change. Where a preset gave them others, and the reader changes
something else before the preset is drawn, it sends with that what they showed before: that is no choice of the
reader's, and must not undo the preset.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_KEY = "_untold"


def give(key: str, value: Any) -> None:
    """Let a widget show another value than it does."""
    shown = st.session_state[key]
    if shown != value:
        st.session_state.setdefault(_KEY, {})[key] = (shown, value)
        st.session_state[key] = value


def follow(*sources: Any) -> None:
    """Let every drawn widget of a field of some dataclasses follow what was changed elsewhere.

    A widget that was there a moment ago may be gone: the run of a page that was just left ends meanwhile, on a thread
    of its own, and its widgets are forgotten.
    """
    values = {name: getattr(source, name) for source in sources for name in source.__dataclass_fields__}
    for key in list(st.session_state):
        field = str(key).partition(".")[0]
        if field in values:
            with suppress(KeyError):
                give(str(key), values[field])


def remind(*sources: Any, keys: tuple[str, ...] = ()) -> None:
    """Let widgets of the fields of some dataclasses, and of other keys, be sent their values anew where not drawn yet.

    Streamlit sends a value once, and a browser sends those of all widgets that it has drawn. Whoever clicks before a
    box is there, as on a slow network, has the page run again: the box would be drawn empty, and what stood in it lost
    with the next click. Call it when a run begins.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    held = context.session_state._state
    sent, keys_of = held._new_widget_state.states, held._key_id_mapper.id_key_mapping
    if not sent:  # the session begins
        return
    fields = {name for source in sources for name in source.__dataclass_fields__} | set(keys)
    for key in {*keys_of.values()} - {keys_of[name] for name in sent if name in keys_of}:
        waits = key.partition(".")[0] in fields and key not in context.shared.widget_user_keys_this_run
        if waits:
            with suppress(KeyError):
                st.session_state[key] = st.session_state[key]


def told() -> None:
    """Note that a run of a page, or of a part of it, has ended: the browser is told what the widgets in it show."""
    context = get_script_run_ctx()
    waiting: dict[str, Any] = st.session_state.get(_KEY, {})
    for key in list(waiting):
        if context is not None and key in context.shared.widget_user_keys_this_run:
            del waiting[key]


def is_stale(key: str) -> bool:
    """Say whether a widget has sent what it showed before it was given a value; it then has that value. A callback."""
    waiting: dict[str, tuple[Any, Any]] = st.session_state.get(_KEY, {})
    if key not in waiting:
        return False
    shown, given = waiting.pop(key)
    if sent(key) != shown:
        return False
    st.session_state[key] = given
    return True


def sent(key: str) -> Any:
    """Return what the widget of this key has sent, None where nothing came. Callbacks read it here.

    A tap outside a box commits it and does what was tapped, both at once: the page may have been left, and the key
    forgotten, before what was typed comes. Streamlit then still has it under the widget's own id, in its own place.
    """
    with suppress(KeyError):
        return st.session_state[key]
    context = get_script_run_ctx()
    states = {} if context is None else context.session_state._state._new_widget_state
    return next((states[name] for name in states if name.endswith(f"-{key}")), None)
