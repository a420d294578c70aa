"""The collection of garbage: one thread for the process, and nothing of the heavy imports in its way."""

import gc
import sys
import threading
import time

import pytest

from attnviz.ui import process


def test_one_thread_collects_however_often_it_is_asked_for() -> None:
    first, second = process.settle(), process.settle()
    assert first is second
    assert first.is_alive() and first.daemon
    assert sum(thread.name == first.name for thread in threading.enumerate()) == 1


def test_what_was_imported_is_frozen_once_the_first_page_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    here, really_sleep = threading.current_thread(), time.sleep

    def sleep(seconds: float) -> None:
        if threading.current_thread() is not here:  # pages shown by other tests have threads that sleep on
            really_sleep(seconds)
            return
        slept.append(seconds)
        if len(slept) == 2:  # before the second collection
            raise StopIteration

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(StopIteration):
        process._collect_now_and_then()
    assert gc.get_freeze_count() > 10_000
    assert slept == [process.AFTER, process.SECONDS]
    gc.unfreeze()


def test_a_thread_that_computes_hands_over_soon() -> None:
    assert sys.getswitchinterval() <= 0.001
