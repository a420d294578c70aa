"""Turns: pages run one after another, those of all people together.

Python runs one thread at a time. When many people act at once, the runs of their pages and the thread that sends what
they draw would take it from one another many times in each: all would be late together. With 50 people on one process
half of the runs took 590 ms, 95 of 100 less than 1,300; one after another, in the order in which they were asked for,
it is a tenth and a third of that (python -m tests.benchmarks.sessions).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

LONG = 0.05  # seconds after which a run, which then is a long one, goes on beside the next

Given = ParamSpec("Given")
Made = TypeVar("Made")


class Turns:
    """Who runs, and who waits, in their order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._running: threading.Event | None = None
        self._since = 0.0

    def take(self) -> threading.Event:
        """Wait for a turn, and return what gives it back."""
        mine = threading.Event()
        with self._lock:
            if self._running is None:
                self._begin(mine)
                return mine
            self._waiting.append(mine)
        while not mine.wait(LONG):
            with self._lock:
                if mine.is_set():
                    break
                if self._waiting[0] is mine and time.monotonic() - self._since >= LONG:
                    self._begin(self._waiting.popleft())
        return mine

    def give(self, mine: threading.Event) -> None:
        """Give a turn back, so that the next begins; a run that was long has given its turn back already."""
        with self._lock:
            if self._running is mine:
                self._running = None
                if self._waiting:
                    self._begin(self._waiting.popleft())

    def _begin(self, one: threading.Event) -> None:
        self._running, self._since = one, time.monotonic()
        one.set()


turns = Turns()
_inside = threading.local()


def in_turn(run: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a run of a page, or of a fragment, wait for its turn; what it runs inside waits no second time.

    >>> in_turn(lambda x: x + 1)(1)
    2
    """

    @wraps(run)
    def waits(*args: Given.args, **given: Given.kwargs) -> Made:
        if _turn() is not None:
            return run(*args, **given)
        _inside.turn = turns.take()
        try:
            return run(*args, **given)
        finally:
            turns.give(_inside.turn)
            _inside.turn = None

    return waits


def wait_for(done: threading.Event, seconds: float) -> bool:
    """Let a run wait for what another thread does, and others take their turns meanwhile; say whether it is done.

    >>> wait_for(threading.Event(), 0.01)
    False
    """
    mine = _turn()
    if mine is None or done.is_set():
        return done.wait(seconds)
    turns.give(mine)
    try:
        return done.wait(seconds)
    finally:
        _inside.turn = turns.take()


def _turn() -> threading.Event | None:
    """Return the turn that this thread has."""
    return getattr(_inside, "turn", None)
