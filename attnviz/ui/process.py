"""The server's garbage: a little every second, not everything after every run.

Streamlit collects everything after every run of a script while all other sessions wait; .streamlit/config.toml
switches that off. What the heavy imports made lives as long as the process: it is frozen once. A run leaves some 600
objects that only a collection frees, so that all wait for as long as it takes to free what has come together: with 25
people 5 to 10 ms every second, where every 20 seconds it would be 100 to 300.
"""

from __future__ import annotations

import gc
import threading
import time
from itertools import count

import streamlit as st

AFTER = 4.0  # seconds until the first: the first page is drawn before all else waits
SECONDS = 1.0  # between collections of what is new; what they free is some megabytes a minute under load
ALL = 20  # every so many of them goes through what is older, too
YOUNG = 1  # of Python's three generations, the oldest that is new


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
    for number in count(1):
        time.sleep(SECONDS)
        if number % ALL:
            gc.collect(YOUNG)
        else:
            gc.collect()
