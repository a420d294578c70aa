"""The pooled maps of a session, the last few: computed at once, or by a job where that takes more than a moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from functools import partial

import streamlit as st

from attnviz.core.pooling import PooledMap
from attnviz.limits import LIVE_TOKENS, POOLED_CELLS
from attnviz.ui.long.map_source import Source
from attnviz.ui.long.map_window import Window
from attnviz.ui.long.pooling_jobs import POOL, Job
from attnviz.ui.presence import alive

KEPT = 8  # maps of one session, of 1 MB at most each
Key = tuple[Hashable, Window]
_MAPS, _JOB = "_pooled", "_pooling"  # keys of the session


def whole(source: Source) -> Window:
    """Return the window that shows all tokens."""
    return Window((0, source.n_query), (0, source.n_key))


def kept(source: Source, window: Window) -> PooledMap | None:
    """Return the map of a window where the session has it."""
    maps = _maps()
    found = maps.get((source.name, window))
    if found is not None:
        maps.move_to_end((source.name, window))
    return found


def pooled(source: Source, window: Window) -> PooledMap | Job | None:
    """Return the map of a window, or the job that pools it; None where too many readers wait.

    A window is of LIVE_TOKENS tokens' weights at the most to be pooled at once. A job of any other window is stopped.
    """
    key, found = (source.name, window), kept(source, window)
    before: tuple[Key, Job] | None = st.session_state.get(_JOB)
    if before is not None and (found is not None or before[0] != key):
        before[1].stopped.set()
        del st.session_state[_JOB]
        before = None
    if found is not None:
        return found
    if before is not None and before[1].given_up:
        before = None  # while its reader was elsewhere
    pool = _pool(source, window)
    if _is_live(source, window):
        return _keep(key, pool())
    job = before[1] if before is not None else POOL.submit(lambda progress: pool(progress=progress), alive())
    if job is None:
        return None
    job.look()
    st.session_state[_JOB] = (key, job)
    return job if job.result is None else _keep(key, job.result)


def whole_map(source: Source) -> PooledMap | None:
    """Return the map of the whole text, where the session has it or it takes no more than a moment."""
    window = whole(source)
    found = kept(source, window)
    return (
        _keep((source.name, window), _pool(source, window)()) if found is None and _is_live(source, window) else found
    )


def again() -> None:
    """Forget a job that was stopped, so that it begins anew. A callback."""
    st.session_state.pop(_JOB, None)


def _pool(source: Source, window: Window) -> partial[PooledMap]:
    return partial(source.pooled, rows=window.rows, cols=window.cols, size=POOLED_CELLS)


def _is_live(source: Source, window: Window) -> bool:
    return source.work(window.rows) <= LIVE_TOKENS**2


def _keep(key: Key, made: PooledMap) -> PooledMap:
    maps = _maps()
    maps[key] = made
    while len(maps) > KEPT:
        maps.popitem(last=False)
    return made


def _maps() -> OrderedDict[Key, PooledMap]:
    maps: OrderedDict[Key, PooledMap] = st.session_state.setdefault(_MAPS, OrderedDict())
    return maps
