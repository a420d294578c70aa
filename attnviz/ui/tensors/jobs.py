"""What takes longer than a moment, off the threads that answer readers: one after another, each for one session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from typing import Any

from attnviz.limits import DIAGNOSES_WAITING
from attnviz.training.threads import step_back, take_one_thread

_log = logging.getLogger(__name__)
Work = Callable[[Callable[[int], None]], Any]  # is given what it tells how far it is, and returns what it found


class Stopped(Exception):
    """Nobody waits for a job any more."""


class Job:
    """Work for one session. Any thread may look at it; `done` is set once it has a result, a failure or was stopped."""

    def __init__(self, name: Hashable, work: Work, alive: Callable[[], bool]) -> None:
        self.name = name
        self.done = threading.Event()
        self.n_done = 0  # how far it is, in units of its own
        self.result: Any = None
        self.failure: ValueError | None = None
        self.broken = False  # it ended by an error that nobody foresaw
        self.left = False
        self._work: Work | None = work
        self._alive = alive

    def run(self) -> None:
        """Do the work, on the calling thread."""
        work, self._work = self._work, None  # which holds tensors
        try:
            self.tell(0)
            assert work is not None
            self.result = work(self.tell)
        except Stopped:
            self.left = True
        except ValueError as failure:
            self.failure = failure
        except Exception:
            _log.exception("tensors could not be looked at")
            self.broken = True
        self.done.set()

    def tell(self, n_done: int) -> None:
        """Note how far the work is. Raises Stopped where nobody waits."""
        self.n_done = n_done
        if self.left or not self._alive():
            raise Stopped


class Line:
    """The worker of the server and the line before it.

    >>> line = Line(waiting=1)
    >>> job = line.ask("two", lambda tell: 1 + 1, lambda: True)
    >>> job.done.wait(5), job.result
    (True, 2)
    """

    def __init__(self, waiting: int = DIAGNOSES_WAITING) -> None:
        self._most = waiting
        self._changed = threading.Condition()
        self._line: list[Job] = []
        self._thread: threading.Thread | None = None

    def ask(self, name: Hashable, work: Work, alive: Callable[[], bool]) -> Job | None:
        """Put work into the line and return its job; None when the line is full."""
        with self._changed:
            self._line[1:] = [job for job in self._line[1:] if not job.left]
            if len(self._line) > self._most:
                return None
            job = Job(name, work, alive)
            self._line.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="attnviz-tensors", daemon=True)
                self._thread.start()
            self._changed.notify()
            return job

    def ahead(self, job: Job) -> int:
        """How many jobs come before one; 0 when it runs or has ended."""
        with self._changed:
            return self._line.index(job) if job in self._line else 0

    def _run(self) -> None:
        take_one_thread()
        step_back()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._line)
                job = self._line[0]
            job.run()
            with self._changed:
                self._line.remove(job)
            del job  # not kept alive until the next one comes
