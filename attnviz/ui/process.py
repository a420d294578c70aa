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

SECONDS = 20.0  # between collections: what they free is some megabytes a minute under load


@st.cache_resource(show_spinner=False)
def settle() -> threading.Thread:
    """Freeze what the imports made, once a process, and start the collection now and then."""
    gc.collect()
    gc.freeze()
    thread = threading.Thread(target=_collect_now_and_then, name="attnviz-gc", daemon=True)
    thread.start()
    return thread


def _collect_now_and_then() -> None:
    while True:
        time.sleep(SECONDS)
        gc.collect()
