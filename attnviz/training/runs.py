"""The runs of a whole server: a few jobs train at once, off the threads that answer readers; the rest wait in line."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Sequence

from attnviz.limits import TRAINING_AT_ONCE, TRAINING_RECIPES, TRAINING_SECONDS, TRAINING_WAITING
from attnviz.training.job import Job
from attnviz.training.recipe import Recipe
from attnviz.training.threads import step_back, take_one_thread

PARTING = 5.0  # seconds given to steps under way when the interpreter ends
_log = logging.getLogger(__name__)


class Refused(ValueError):
    """A job that is not taken; code says why: "no_recipe", "too_many_recipes", "queue_full" or "closed"."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class Runs:
    """A line of jobs and the threads that train them: few, named, each takes one job after another.

    >>> job = Runs(at_once=0).submit([Recipe()], alive=lambda: True)
    >>> job.state, job.place
    ('waiting', 1)
    >>> job.stop(); job.state, job.place
    ('stopped', 0)
    """

    def __init__(
        self, at_once: int = TRAINING_AT_ONCE, waiting: int = TRAINING_WAITING, seconds: float = TRAINING_SECONDS
    ) -> None:
        self._at_once, self._most_waiting, self._seconds = at_once, waiting, seconds
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._training: list[Job] = []
        self._threads: list[threading.Thread] = []
        self._ending = False
        atexit.register(self.close)  # a thread that is inside torch when the interpreter ends brings it down

    def submit(self, recipes: Sequence[Recipe], *, alive: Callable[[], bool]) -> Job:
        """Take a job, which trains at once or waits in line.

        alive is asked from other threads, a few times a second, whether anybody still wants the job. Raises
        Refused, a ValueError with a code, for no recipe, too many, and a line that is full.
        """
        if not recipes:
            raise Refused("no_recipe", "recipes: expected at least one, got none")
        if len(recipes) > TRAINING_RECIPES:
            raise Refused(
                "too_many_recipes", f"recipes: expected at most {TRAINING_RECIPES} side by side, got {len(recipes)}"
            )
        self.sweep()
        job = Job(self, recipes, alive)
        with self._changed:
            if self._ending:
                raise Refused("closed", "recipes: expected a line that trains, got one that was closed")
            n_free = self._at_once - len(self._training)
            if len(self._waiting) >= self._most_waiting + n_free:
                raise Refused("queue_full", f"recipes: expected a free place, got {len(self._waiting)} jobs waiting")
            self._waiting.append(job)
            if len(self._threads) < min(self._at_once, len(self._training) + len(self._waiting)):
                name = f"attnviz-training-{len(self._threads) + 1}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify()
        return job

    def place(self, job: Job) -> int:
        """The place of a job in the line, 1 is next; 0 when it waits no longer."""
        with self._changed:
            return self._waiting.index(job) + 1 if job in self._waiting else 0

    def drop(self, job: Job, why: str) -> None:
        """End a job that waits; of any other nothing changes."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                job.state, job.why = "stopped", why

    def sweep(self) -> None:
        """End the jobs that wait and whose owner is gone."""
        with self._changed:
            waiting = list(self._waiting)
        for job in waiting:
            if job.gone():
                self.drop(job, "closed")

    def close(self) -> None:
        """Stop every job and end the threads; no job is trained any more."""
        with self._changed:
            self._ending = True
            jobs = self._waiting + self._training
            self._changed.notify_all()
        for job in jobs:
            job.stop()
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
                self._training.append(job)
                job.state = "training"
            try:
                state, why = job.run(self._seconds)
            except Exception:
                _log.exception("a training ended by an error")
                state, why = "failed", "error"
            for training in job.trainings:
                training.finish()
            with self._changed:
                self._training.remove(job)
                job.why, job.state = why, state
            del job  # not kept alive until the next one comes


RUNS = Runs()
