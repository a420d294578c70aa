"""Maps that take long: pooled in line, with a share that grows, and given up when nobody wants them any more."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch

from attnviz.core.pooling import PooledMap, Progress, Stopped, pooled_weights
from attnviz.ui.long.pooling_jobs import PATIENCE, Job, Pool

MAP = PooledMap(torch.eye(2), (0, 1, 2), (0, 1, 2), True)


def here() -> bool:
    return True


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(at_once=1, waiting=2)
    yield made
    made.close()


class Slow:
    """Work that goes on until it is let go, and asks whether it is wanted at each look."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, progress: Progress) -> PooledMap:
        self.begun.set()
        while not self.go_on.wait(0.005):
            if progress(0.5) is False:
                raise Stopped
        return MAP


def submitted(pool: Pool, work: Callable[[Progress], PooledMap], alive: Callable[[], bool] = here) -> Job:
    job = pool.submit(work, alive)
    assert job is not None
    return job


def test_a_job_gives_the_map_that_is_computed_at_once(pool: Pool) -> None:
    query, key = torch.randn(2, 300, 8, generator=torch.Generator().manual_seed(0))
    wanted = partial(pooled_weights, query, key, mask="causal", rows=(50, 300), size=64)
    job = submitted(pool, lambda progress: wanted(progress=progress))
    assert job.done.wait(20)
    assert job.result is not None and torch.equal(job.result.values, wanted().values)
    assert (job.share, job.broken, pool.ahead(job)) == (1.0, False, 0)


def test_others_wait_in_line_and_a_full_line_takes_none(pool: Pool) -> None:
    slow, second = Slow(), Slow()
    first = submitted(pool, slow)
    assert slow.begun.wait(20)
    waiting = [submitted(pool, second), submitted(pool, lambda progress: MAP)]
    assert [pool.ahead(job) for job in (first, *waiting)] == [0, 1, 2]
    assert pool.submit(lambda progress: MAP, here) is None
    slow.go_on.set()
    second.go_on.set()
    assert all(job.done.wait(20) for job in (first, *waiting))
    assert all(job.result is MAP for job in (first, *waiting))


@pytest.mark.parametrize("leaves", [False, True], ids=["stopped", "gone"])
def test_a_job_that_nobody_wants_ends_without_a_map(pool: Pool, leaves: bool) -> None:
    slow, gone = Slow(), threading.Event()
    job = submitted(pool, slow, lambda: not gone.is_set())
    assert slow.begun.wait(20) and not job.done.is_set()
    (gone if leaves else job.stopped).set()
    assert job.done.wait(20) and job.result is None and not job.broken


def test_a_job_that_nobody_looks_at_is_given_up(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text was changed, or its page left: no page asks for it any more."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    slow = Slow()
    job = submitted(pool, slow)
    assert slow.begun.wait(20)
    clock[0] += PATIENCE - 1
    job.look()
    clock[0] += PATIENCE - 1
    assert not job.done.wait(0.1) and job.wanted() and not job.given_up
    clock[0] += 2
    assert job.done.wait(20) and job.result is None and job.given_up


def test_a_place_in_line_is_free_once_its_reader_is_gone(pool: Pool) -> None:
    slow, gone = Slow(), threading.Event()
    submitted(pool, slow)
    assert slow.begun.wait(20)
    left = [submitted(pool, lambda progress: MAP, lambda: not gone.is_set()) for _ in range(2)]
    gone.set()
    job = submitted(pool, lambda progress: MAP)
    slow.go_on.set()
    assert job.done.wait(20) and job.result is MAP
    assert all(each.result is None for each in left)


def test_an_error_breaks_its_job_alone(pool: Pool) -> None:
    broken = submitted(pool, lambda progress: 1 / 0)  # type: ignore[return-value]
    job = submitted(pool, lambda progress: MAP)
    assert broken.done.wait(20) and job.done.wait(20)
    assert (broken.broken, broken.result, job.result) == (True, None, MAP)


def test_the_time_left_is_that_of_the_speed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    said = []

    def work(progress: Progress) -> PooledMap:
        for share in (0.01, 0.25, 0.5, 1.0):
            clock[0] = 100 + 8 * share
            progress(share)
            said.append(job.seconds_left)
        return MAP

    job = Job(work, here)
    job.run()
    assert said == [None, 6.0, 4.0, 0.0]


def test_the_end_of_the_server_ends_the_work_and_takes_no_more(pool: Pool) -> None:
    slow = Slow()
    job = submitted(pool, slow)
    assert slow.begun.wait(20)
    pool.close()
    assert job.done.is_set() and job.result is None
    assert pool.submit(lambda progress: MAP, here) is None
