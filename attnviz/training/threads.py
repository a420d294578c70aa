"""What a thread that trains does first, so that other threads are neither slowed nor changed by it."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

import torch

NICENESS = 5  # of 19: a third of the processor's time against one thread that has not stepped back


def take_one_thread() -> None:
    """Let torch compute on the calling thread alone, and on as many threads as before for all others.

    torch keeps the number twice: one for the thread that sets it, and one for all threads that have not used torch
    yet. Setting it on this thread changes both; so the second is set back on a thread that then ends. A thread that
    uses torch for the first time in the moment between the two keeps to one thread: it is slower, not wrong.

    >>> before = torch.get_num_threads()
    >>> thread = threading.Thread(target=take_one_thread); thread.start(); thread.join()
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    setter = threading.Thread(target=torch.set_num_threads, args=(before,))
    setter.start()
    setter.join()


def step_back() -> None:
    """Give the calling thread a lower priority where the system has one for a thread: on Linux.

    Three trainings on two processors then leave another thread's Python about as fast as it is alone.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
