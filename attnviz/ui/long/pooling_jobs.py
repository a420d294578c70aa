"""Maps that take more than a moment are pooled off the threads that answer readers: a few at once, the rest in line."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable

from attnviz.core.pooling import PooledMap, Progress, Stopped
from attnviz.limits import POOLING_AT_ONCE, POOLING_WAITING
from attnviz.training.threads import step_back, take_one_thread

KNOWN = 0.03  # the share of the work after which its speed is known
PATIENCE = 20.0  # seconds for which nobody need look at a job: a page looks at it a few times a second
PARTING = 5.0  # seconds given to jobs under way when the interpreter ends
_log = logging.getLogger(__name__)


class Job:
    """A map that is pooled. Any thread may look at it; `done` is set once it has a map, or has ended without one."""

    def __init__(self, pooled: Callable[[Progress], PooledMap], alive: Callable[[], bool]) -> None:
        self.done = threading.Event()
        self.share = 0.0  # of the work that is done, 0 to 1
        self.result: PooledMap | None = None
        self.broken = False  # it ended by an error that nobody foresaw
        self.stopped = threading.Event()
        self._pooled, self._alive, self._began, self._looked = pooled, alive, 0.0, time.monotonic()

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest takes at the speed so far; None before that is known."""
        if self.share < KNOWN:
            return None
        return (time.monotonic() - self._began) / self.share * (1 - self.share)

    @property
    def given_up(self) -> bool:
        """Whether it ended only because nobody looked at it."""
        return self.done.is_set() and self.result is None and not self.broken and not self.stopped.is_set()

    def look(self) -> None:
        """Say that its reader still sees that it goes on: of another text, or on another page, nobody does."""
        self._looked = time.monotonic()

    def wanted(self) -> bool:
        """Say whether the reader has neither stopped it nor left it."""
        return not self.stopped.is_set() and time.monotonic() - self._looked < PATIENCE and self._alive()

    def run(self) -> None:
        """Pool the map, on the thread that calls."""
        self._began = time.monotonic()

        def told(share: float) -> bool:
            self.share = share
            return self.wanted()

        try:
            if self.wanted():
                self.result = self._pooled(told)
        except Stopped:
            pass
        except Exception:
            _log.exception("a map could not be pooled")
            self.broken = True


class Pool:
    """A line of jobs and the threads that pool them, each on one thread of torch and behind those that answer.

    >>> job = Pool(at_once=0).submit(lambda progress: PooledMap(None, (0, 1), (0, 1), True), lambda: True)
    >>> job.done.is_set(), job.seconds_left
    (False, None)
    """

    def __init__(self, at_once: int = POOLING_AT_ONCE, waiting: int = POOLING_WAITING) -> None:
        self._at_once, self._most = at_once, waiting
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._threads: list[threading.Thread] = []
        self._ending = False
        atexit.register(self.close)  # a thread that is inside torch when the interpreter ends brings it down

    def submit(self, pooled: Callable[[Progress], PooledMap], alive: Callable[[], bool]) -> Job | None:
        """Take a job; None when the line is full. alive: whether the reader is still there, asked from any thread."""
        with self._changed:
            self._waiting = [job for job in self._waiting if job.wanted()]
            if self._ending or len(self._waiting) >= self._most:
                return None
            job = Job(pooled, alive)
            self._waiting.append(job)
            if len(self._threads) < min(self._at_once, len(self._running) + len(self._waiting)):
                name = f"attnviz-pooling-{len(self._threads) + 1}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify()
            return job

    def ahead(self, job: Job) -> int:
        """How many jobs come before one; 0 when it runs or has ended."""
        with self._changed:
            return self._waiting.index(job) + 1 if job in self._waiting else 0

    def close(self) -> None:
        """Stop every job and end the threads; no job is taken any more."""
        with self._changed:
            self._ending = True
            for job in self._waiting + self._running:
                job.stopped.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(PARTING)

    def _work(self) -> None:
        take_one_thread()
        step_back()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ending)
                if self._ending:
                    return
                job = self._waiting.pop(0)
                self._running.append(job)
            job.run()
            with self._changed:
                self._running.remove(job)
            job.done.set()
            del job  # not kept alive until the next one comes


POOL = Pool()
