"""Streamlit: the state of a session, its controls, and the bridge between Plotly's charts and Python."""

import ctypes
import gc
import os
import sys

# Before torch is loaded, one thread for each of its operations, unless whoever starts the server says otherwise. Each
# run of a page is a thread of its own, whose helpers would have to be started and waited for: on two busy cores that
# takes milliseconds where the matrices of a page take a tenth of one. Sessions run side by side instead.
# (torch.set_num_threads(1) is no substitute: it costs every new thread 5 ms.)
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The imports to come make some hundred thousand objects that all stay: Python's own collector would go through them
# again and again. ui.process collects instead, every second; this is for what could not wait so long.
gc.set_threshold(200_000, 20, 20)

# A thread that computes in Python, as one that loads a model, keeps others waiting for so many seconds each time one
# wants its turn, which a run of a page does again and again. At Python's own 5 ms half of the runs beside a load took
# 60 ms, where they now take 30.
sys.setswitchinterval(0.0005)

# Every run of a page is a thread, and the C library's allocator would give each of them one of sixteen heaps, in all of
# which free memory is left over: a server of 25 people grew by a megabyte a minute. Two heaps are enough where one
# thread of Python runs at a time. (The option is glibc's M_ARENA_MAX; other libraries do without.)
if sys.platform.startswith("linux") and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
    mallopt(-8, 2)
