"""A session and its jobs: what it asked for, the bar while it waits, and why there is nothing to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.experiment import to_query
from attnviz.figures.text import markdown
from attnviz.locale import _, n_
from attnviz.models import registry
from attnviz.models.reading import Reading
from attnviz.ui import bridge, state
from attnviz.ui.fragments import fragment
from attnviz.ui.models.jobs import Job, Reader, Wanted
from attnviz.ui.models.refused import word
from attnviz.ui.turns import wait_for

SHORT, LONG = 0.4, 3.0  # seconds that a run waits without a bar: before a load, and where the model is in memory


@st.cache_resource(show_spinner=False)
def reader() -> Reader:
    """Return the one worker of the server."""
    return Reader()


def job(wanted: Wanted, name: str = "base") -> Job:
    """Return the finished job of what is wanted; while there is none, say so, and the page ends here."""
    asked = _ask(wanted, f"_job_{name}")
    if asked is None:
        end(_("Many readers wait for a model just now: try again in a minute."))
    loaded = registry.loaded()
    wait_for(asked.done, LONG if loaded is not None and loaded.code == wanted.model else SHORT)
    if not asked.done.is_set():
        _wait(asked, f"_job_{name}")
        _nothing()
    if asked.failure is not None:
        install = asked.failure.values.get("install") if asked.failure.code == "missing" else None
        end(word(asked.failure), code=str(install or ""))
    if asked.reading is None:
        del st.session_state[f"_job_{name}"]
        if asked.broken:
            end(_("The model could not read this text, for a reason that the server's log names."))
        end(_("The load was stopped."), again=True)
    return asked


def reading_of(finished: Job) -> Reading:
    """Return the reading of a finished job."""
    assert finished.reading is not None
    return finished.reading


def end(words: str, *, code: str = "", again: bool = False) -> NoReturn:
    """Say why there is nothing to see, and end the page."""
    st.info(words)
    if code:
        st.code(code, language="bash", wrap_lines=True)
    if again:
        st.button(_("Load it again"), key="load_again")
    _nothing()


def _nothing() -> NoReturn:
    bridge.connect([], {}, to_query(state.experiment(), state.view()))
    state.stop()


def _ask(wanted: Wanted, key: str) -> Job | None:
    """The session's job where it is of this, else one of the reader's; what was asked before is left."""
    before: Job | None = st.session_state.get(key)
    owner, alive = _owner()
    if before is not None and before.wanted == wanted and not before.broken:
        return before
    if before is not None:
        reader().leave(before, owner + key)
    asked = reader().ask(wanted, owner + key, alive)
    st.session_state[key] = asked
    return asked


def _owner() -> tuple[str, Callable[[], bool]]:
    """The session's name, and whether its browser is still there; without a server, as in tests, it always is."""
    context = get_script_run_ctx()
    name = "" if context is None else context.session_id
    return name, lambda: _is_there(name)


def _is_there(session: str) -> bool:
    try:
        return bool(runtime.get_instance().is_active_session(session))
    except RuntimeError:
        return True


@fragment(run_every=0.3)
def _wait(asked: Job, key: str) -> None:
    if asked.done.is_set():
        state.again()
    title = markdown(_title(asked.wanted.model))
    ahead = reader().ahead(asked)
    if ahead:
        said = n_(
            "{n} other reader's model comes first: one is in memory at a time.",
            "{n} other readers' models come first: one is in memory at a time.",
            ahead,
        ).format(n=ahead)
    elif asked.share < 1:
        said = _("Loading {model}: {percent} %").format(model=title, percent=round(100 * asked.share))
    else:
        said = _("{model} reads the text").format(model=title)
    st.progress(min(1.0, asked.share), text=said)
    st.button(_("Stop"), key="stop_load", on_click=_stop, args=(asked, key))


def _stop(asked: Job, key: str) -> None:
    reader().leave(asked, _owner()[0] + key)


def _title(code: str) -> str:
    titles = {card.code: card.title for card in registry.available()}
    return titles.get(code, code.removeprefix("hf:"))
