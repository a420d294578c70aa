"""A job: recipes that are trained side by side, step by step in turn, until all are done or something ends it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attnviz.training.recipe import Recipe
from attnviz.training.trainer import Training

if TYPE_CHECKING:
    from attnviz.training.runs import Runs

LOOK = 0.25  # seconds between two looks at whether the owners of jobs are still there
KNOWN = 5  # steps after which the speed is known
REST = 0.1  # of the time that a step took, left to other threads after it
_log = logging.getLogger(__name__)


class Job:
    """Recipes that are trained side by side. Any thread may read it, and stop it.

    state is "waiting", "training", "done", "stopped" or "failed". why says why it ended before its last step:
    "stopped", "time", "closed" (its owner is gone), "loss_not_finite" (of one recipe or more; the others went on)
    or "error"; None otherwise. trainings has one Training a recipe, whose history is empty while the job waits.
    """

    def __init__(self, runs: Runs, recipes: Sequence[Recipe], alive: Callable[[], bool]) -> None:
        self.trainings = [Training(recipe) for recipe in recipes]
        self.state = "waiting"
        self.why: str | None = None
        self._runs, self._alive = runs, alive
        self._stop = threading.Event()
        self._spent = [0.0] * len(recipes)  # seconds of each training, rests included

    @property
    def place(self) -> int:
        """The place in the line, 1 is next; 0 when it waits no longer."""
        return self._runs.place(self)

    @property
    def fraction(self) -> float:
        """The share of all steps that are taken, 0 to 1; a training that failed has none left."""
        total = sum(training.recipe.steps for training in self.trainings)
        return 1 - sum(map(_steps_left, self.trainings)) / total

    @property
    def seconds_left(self) -> float | None:
        """The time that the steps left will take at the speed so far; None before that is known; 0 at the end."""
        if self.state not in ("waiting", "training"):
            return 0.0
        left = 0.0
        for training, spent in zip(self.trainings, self._spent, strict=True):
            if training.step_number < KNOWN and not training.done:
                return None
            left += spent / max(training.step_number, 1) * _steps_left(training)
        return left

    def stop(self) -> None:
        """End the job and keep what is learned; of a job that has ended nothing changes."""
        self._stop.set()
        self._runs.drop(self, "stopped")

    def gone(self) -> bool:
        """Say whether the owner of the job is gone, or cannot be asked."""
        try:
            return not self._alive()
        except Exception:
            _log.exception("the owner of a training cannot be asked: taken as gone")
            return True

    def run(self, seconds: float) -> tuple[str, str | None]:
        """Train to the end, on the thread that calls; return the state and the why of it."""
        start = looked = time.monotonic()
        if self.gone():
            return "stopped", "closed"
        while any(not training.done for training in self.trainings):
            for number, training in enumerate(self.trainings):
                if self._stop.is_set():
                    return "stopped", "stopped"
                before = time.monotonic()
                if before - start > seconds:
                    return "stopped", "time"
                if before - looked > LOOK:
                    looked = before
                    self._runs.sweep()
                    if self.gone():
                        return "stopped", "closed"
                if training.step() is not None:
                    time.sleep(REST * (time.monotonic() - before))
                    self._spent[number] += time.monotonic() - before
        failures = [training.failed.code for training in self.trainings if training.failed is not None]
        state = "failed" if len(failures) == len(self.trainings) else "done"
        return state, failures[0] if failures else None


def _steps_left(training: Training) -> int:
    return 0 if training.failed else training.recipe.steps - training.step_number
