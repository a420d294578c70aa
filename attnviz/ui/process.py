"""The server's garbage: collected now and then, not after every run.

Streamlit collects everything after every run of a script while all other sessions wait; .streamlit/config.toml
switches that off. What the heavy imports made lives as long as the process: it is frozen once, so that the
collection now and then stays cheap.
"""

from __future__ import annotations

import gc
import threading
import time

import streamlit as st

AFTER = 4.0  # seconds until the first: the first page is drawn before all else waits
SECONDS = 20.0  # between collections: what they free is some megabytes a minute under load


@st.cache_resource(show_spinner=False)
def settle() -> threading.Thread:
    """Start the collection now and then, once a process; the first freezes what the imports made."""
    thread = threading.Thread(target=_collect_now_and_then, name="attnviz-gc", daemon=True)
    thread.start()
    return thread


def _collect_now_and_then() -> None:
    time.sleep(AFTER)
    gc.collect()
    gc.freeze()
    while True:
        time.sleep(SECONDS)
        gc.collect()
