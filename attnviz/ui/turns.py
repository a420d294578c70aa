"""Turns: pages run one after another, those of all people together.

Python runs one thread at a time. When many people act at once, the runs of their pages and the thread that sends what
they draw would take it from one another many times in each: all would be late together. With 50 people on one process
half of the runs took 590 ms, 95 of 100 less than 1,300; one after another, in the order in which they were asked for,
it is 40 and 190 (python -m tests.benchmarks.sessions).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

PATIENCE = 1.0  # seconds that a run waits for its turn: beside a long one it then runs all the same

Given = ParamSpec("Given")
Made = TypeVar("Made")
_turn = threading.Lock()
_running = threading.local()


def in_turn(run: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a run of a page, or of a fragment, wait for its turn; what it runs inside waits no second time.

    >>> in_turn(lambda x: x + 1)(1)
    2
    """

    @wraps(run)
    def waits(*args: Given.args, **given: Given.kwargs) -> Made:
        if getattr(_running, "yes", False):
            return run(*args, **given)
        had = _turn.acquire(timeout=PATIENCE)
        _running.yes = True
        try:
            return run(*args, **given)
        finally:
            _running.yes = False
            if had:
                _turn.release()

    return waits
