"""Whether a session is still there: what works for it in another thread asks, and gives up when it is gone."""

from __future__ import annotations

import time
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

GRACE = 15.0  # seconds for which a session may lose its connection without losing its work


def alive() -> Callable[[], bool]:
    """Return what says whether this session is still there, from any thread; without a server it always is."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True
    server, session = runtime.get_instance(), context.session_id
    seen = [time.monotonic()]

    def is_there() -> bool:
        now = time.monotonic()
        if server.is_active_session(session):
            seen[0] = now
        return now - seen[0] < GRACE

    return is_there
