"""Models are loaded and run off the threads that answer readers: one job after another, and the last results kept.

One model is in memory for the whole server, so that one worker is enough. What it read is kept for whoever asks the
same: a class that reads one text reads it once.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from attnviz.limits import READINGS_BYTES, READINGS_WAITING
from attnviz.models import registry
from attnviz.models.heads import Overview, overview, rollout
from attnviz.models.knockouts import Knockout
from attnviz.models.model import ModelInfo
from attnviz.models.reading import Check, Reading
from attnviz.models.refusals import Refused
from attnviz.training.threads import step_back, take_one_thread

TILE = 64  # blocks a side of each head's small map
_log = logging.getLogger(__name__)


class Wanted(NamedTuple):
    """What a reader wants to be read, by which model."""

    model: str
    text: str
    pair: str | None = None
    knockouts: tuple[Knockout, ...] = ()


class Stopped(Exception):
    """Nobody waits for a job any more."""


class Job:
    """A model that reads a text. Any thread may look at it; `done` is set once it has a reading or a failure."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.done = threading.Event()
        self.share = 0.0  # of the load that is done, 0 to 1
        self.reading: Reading | None = None
        self.card: ModelInfo | None = None
        self.overviews: dict[str, Overview] = {}  # by the kind of the part
        self._rollouts: dict[str, Tensor] = {}
        self._checks: dict[tuple[str, int], Check] = {}
        self.failure: Refused | None = None
        self.broken = False  # it ended by an error that nobody foresaw
        self.owners: dict[str, Callable[[], bool]] = {}  # sessions that wait, and whether each is still there

    @property
    def nbytes(self) -> int:
        """Bytes that it keeps."""
        kept = sum(one.maps.nbytes for one in self.overviews.values())
        return kept + (self.reading.nbytes if self.reading else 0)

    def rollout(self, kind: str) -> Tensor:
        """Return what reaches each token through all layers of a part, (s, u): computed once, when it is asked for."""
        if kind not in self._rollouts:
            assert self.reading is not None
            self._rollouts[kind] = rollout(self.reading.part(kind))
        return self._rollouts[kind]

    def check(self, kind: str, layer: int) -> Check:
        """Compare a layer's attention with the model's own, or torch's. Raises ValueError where neither is known."""
        if (kind, layer) not in self._checks:
            assert self.reading is not None
            self._checks[kind, layer] = self.reading.part(kind).layers[layer].check()
        return self._checks[kind, layer]

    def wanted_still(self) -> bool:
        """Say whether any session waits."""
        return any(alive() for alive in list(self.owners.values()))


class Reader:
    """The worker and the line before it."""

    def __init__(self, keeps: int = READINGS_BYTES, waiting: int = READINGS_WAITING) -> None:
        self._keeps, self._most = keeps, waiting
        self._changed = threading.Condition()
        self._line: list[Job] = []
        self._kept: OrderedDict[Wanted, Job] = OrderedDict()
        self._thread: threading.Thread | None = None

    def ask(self, wanted: Wanted, owner: str, alive: Callable[[], bool]) -> Job | None:
        """Return the job of what is wanted, a new one where nobody asked before; None when the line is full."""
        with self._changed:
            if wanted in self._kept:
                self._kept.move_to_end(wanted)
                return self._kept[wanted]
            for job in self._line:
                if job.wanted == wanted:
                    job.owners[owner] = alive
                    return job
            if len(self._line) >= self._most:
                return None
            job = Job(wanted)
            job.owners[owner] = alive
            self._line.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="attnviz-models", daemon=True)
                self._thread.start()
            self._changed.notify()
            return job

    def leave(self, job: Job, owner: str) -> None:
        """Say that a session waits no longer: a job for which nobody waits is dropped, or stopped where it can be."""
        with self._changed:
            job.owners.pop(owner, None)

    def ahead(self, job: Job) -> int:
        """How many jobs come before one; 0 when it runs or has ended."""
        with self._changed:
            return self._line.index(job) if job in self._line else 0

    def _work(self) -> None:
        # torch's threads wait for one another: on a server that is busy, two take many times as long as one.
        take_one_thread()
        step_back()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._line)
                job = self._line[0]
            self._run(job)
            with self._changed:
                self._line.remove(job)
                if job.reading is not None:
                    self._kept[job.wanted] = job
                    while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > self._keeps:
                        self._kept.popitem(last=False)
            job.done.set()
            del job  # not kept alive until the next one comes

    def _run(self, job: Job) -> None:
        def told(share: float) -> None:
            job.share = share
            if not job.wanted_still():
                raise Stopped

        wanted = job.wanted
        try:
            told(0.0)
            reading = registry.read(wanted.model, wanted.text, wanted.pair, knockouts=wanted.knockouts, progress=told)
            job.card = registry.loaded()
            if not wanted.knockouts:
                job.overviews = {part.kind: overview(part, size=TILE) for part in reading.parts}
            job.reading = reading
        except Refused as failure:
            job.failure = failure
        except Stopped:
            pass
        except Exception:
            _log.exception("a model could not be read")
            job.broken = True
