"""The runs of a server: three at once, the rest in line, each ended by its owner, its limits or its failure."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from attnviz.limits import TRAINING_AT_ONCE, TRAINING_RECIPES, TRAINING_WAITING
from attnviz.training import job as job_module
from attnviz.training import trainer
from attnviz.training.job import Job
from attnviz.training.recipe import Recipe
from attnviz.training.runs import RUNS, Refused, Runs
from attnviz.training.trainer import Training

QUICK = Recipe(layers=1, width=8, steps=20)
LONG = Recipe(layers=1, width=8, steps=2000)


def here() -> bool:
    return True


@pytest.fixture
def runs() -> Iterator[Runs]:
    made = Runs()
    yield made
    made.close()


def until(true: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until something is true; fail when it takes too long."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def ended(job: Job) -> None:
    until(lambda: job.state not in ("waiting", "training"))


def test_a_job_trains_its_recipes_side_by_side_to_the_end(runs: Runs) -> None:
    two = [QUICK, Recipe("sort", layers=1, width=8, steps=20)]
    job = runs.submit(two, alive=here)
    ended(job)
    assert (job.state, job.why, job.place, job.fraction, job.seconds_left) == ("done", None, 0, 1.0, 0.0)
    assert [training.recipe for training in job.trainings] == two
    for training in job.trainings:
        assert [progress.step for progress in training.history] == list(range(21))


def test_a_job_gives_the_numbers_of_a_run_alone_while_others_train(runs: Runs) -> None:
    recipe = Recipe(width=16, steps=30)
    others = [runs.submit([LONG], alive=here) for _ in range(2)]
    job = runs.submit([recipe], alive=here)
    ended(job)
    assert all(other.state == "training" for other in others)
    alone = Training(recipe)
    assert [progress[:4] for progress in job.trainings[0].history] == [progress[:4] for progress in alone]


def test_three_train_at_once_and_the_rest_wait_in_line(runs: Runs) -> None:
    line = [runs.submit([LONG], alive=here) for _ in range(6)]
    until(lambda: all(job.trainings[0].step_number for job in line[:3]))
    assert [job.state for job in line] == ["training"] * 3 + ["waiting"] * 3
    assert [job.place for job in line] == [0, 0, 0, 1, 2, 3]
    assert line[3].fraction == 0 and line[3].seconds_left is None and line[3].trainings[0].history == []
    line[4].stop()
    assert (line[4].state, line[4].why) == ("stopped", "stopped")
    assert [job.place for job in line] == [0, 0, 0, 1, 0, 2]
    line[0].stop()
    until(lambda: line[3].state == "training")
    assert line[5].place == 1
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("attnviz-training-")]
    assert {"attnviz-training-1", "attnviz-training-2", "attnviz-training-3"} <= set(names)


def test_stop_keeps_what_is_learned(runs: Runs) -> None:
    job = runs.submit([LONG, LONG], alive=here)
    until(lambda: job.trainings[1].step_number >= 15)
    job.stop()
    ended(job)
    assert (job.state, job.why) == ("stopped", "stopped") and 0 < job.fraction < 1
    for training in job.trainings:
        step, weights = training.snapshots[-1]
        assert step == training.step_number == training.history[-1].step and weights is training.weights
    reached = job.trainings[0].step_number
    job.stop()
    time.sleep(0.05)
    assert job.trainings[0].step_number == reached


def test_the_time_left_is_what_the_steps_left_take(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which every step takes as long, whatever else the machine does."""
    clock, paused, go_on = Clock(), threading.Event(), threading.Event()
    real = Training.step

    def step(training: Training) -> object:
        if training.step_number == 30:
            paused.set()
            assert go_on.wait(60)
        clock.sleep(0.01)
        return real(training)

    monkeypatch.setattr(Training, "step", step)
    monkeypatch.setattr(job_module, "time", clock)
    job = runs.submit([Recipe(layers=1, width=8, steps=100)], alive=here)
    assert paused.wait(60)
    left, start = job.seconds_left, clock.monotonic()
    assert job.fraction == pytest.approx(0.3)
    go_on.set()
    ended(job)
    assert left is not None and left > 0.7
    assert left == pytest.approx(clock.monotonic() - start, rel=0.05)


class Clock:
    """What the module time is to a job, on a clock that stands while nobody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_job_ends_when_its_owner_is_gone(runs: Runs) -> None:
    gone = threading.Event()
    line = [runs.submit([LONG], alive=here) for _ in range(2)]
    line += [runs.submit([LONG], alive=lambda: not gone.is_set()) for _ in range(3)]
    until(lambda: all(job.state == "training" for job in line[:3]))
    assert [job.place for job in line[3:]] == [1, 2]
    gone.set()
    for job in line[2:]:
        ended(job)
        assert (job.state, job.why) == ("stopped", "closed")
    assert line[0].state == line[1].state == "training"


def test_an_owner_who_cannot_be_asked_is_gone(runs: Runs) -> None:
    def broken() -> bool:
        raise RuntimeError("no session")

    job = runs.submit([LONG], alive=broken)
    ended(job)
    assert (job.state, job.why) == ("stopped", "closed")


def test_a_job_ends_when_its_time_is_over() -> None:
    runs = Runs(seconds=0.2)
    job = runs.submit([LONG], alive=here)
    ended(job)
    assert (job.state, job.why) == ("stopped", "time") and job.trainings[0].step_number > 0
    runs.close()


def test_one_recipe_that_fails_leaves_the_others_and_their_numbers_alone(runs: Runs) -> None:
    failing = Recipe(layers=4, width=8, steps=20, learning_rate=1000.0)
    job = runs.submit([QUICK, failing], alive=here)
    only = runs.submit([failing], alive=here)
    ended(job)
    ended(only)
    assert (job.state, job.why, job.fraction) == ("done", "loss_not_finite", 1.0)
    good, bad = job.trainings
    assert good.failed is None and good.step_number == 20
    assert bad.failed is not None and bad.failed.step <= 20 and math.isfinite(bad.history[-1].loss)
    assert (only.state, only.why) == ("failed", "loss_not_finite")


def test_an_error_ends_its_own_job_only(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Training.step

    def step(training: Training) -> object:
        if training.recipe.seed == 666:
            raise RuntimeError("out of luck")
        return real(training)

    monkeypatch.setattr(Training, "step", step)
    broken = runs.submit([Recipe(seed=666)], alive=here)
    after = [runs.submit([QUICK], alive=here) for _ in range(4)]
    for job in (broken, *after):
        ended(job)
    assert (broken.state, broken.why) == ("failed", "error")
    assert [job.state for job in after] == ["done"] * 4


def test_what_is_not_taken_says_why() -> None:
    runs = Runs(at_once=1, waiting=2)
    with pytest.raises(Refused, match=r"^recipes: expected at least one, got none$") as caught:
        runs.submit([], alive=here)
    assert caught.value.code == "no_recipe"
    with pytest.raises(Refused, match=r"^recipes: expected at most 4 side by side, got 5$") as caught:
        runs.submit([QUICK] * (TRAINING_RECIPES + 1), alive=here)
    assert caught.value.code == "too_many_recipes"
    taken = [runs.submit([LONG], alive=here) for _ in range(3)]
    with pytest.raises(Refused, match=r"^recipes: expected a free place, got ") as caught:
        runs.submit([LONG], alive=here)
    assert caught.value.code == "queue_full" and isinstance(caught.value, ValueError)
    taken[2].stop()
    assert runs.submit([LONG], alive=here).state == "waiting"
    runs.close()
    with pytest.raises(Refused) as caught:
        runs.submit([LONG], alive=here)
    assert caught.value.code == "closed"


def test_the_line_of_the_server_has_the_limits_of_the_table() -> None:
    assert (RUNS._at_once, RUNS._most_waiting) == (TRAINING_AT_ONCE, TRAINING_WAITING) == (3, 20)


def test_readers_see_whole_steps_only(runs: Runs) -> None:
    """Whatever a reader finds, at any moment, belongs together."""
    job = runs.submit([Recipe(layers=1, width=8, steps=150)], alive=here)
    training, looks = job.trainings[0], 0
    while job.state in ("waiting", "training"):
        history, snapshots = list(training.history), list(training.snapshots)
        assert [progress.step for progress in history] == list(range(len(history)))
        assert [step for step, _ in snapshots] == sorted({step for step, _ in snapshots})
        assert all(weight.isfinite().all() for _, weight in training.weights.items())
        assert len(snapshots) <= len(history) + 2
        looks += 1
        time.sleep(0.001)
    assert looks > 5 and job.state == "done"


def test_no_lock_is_held_while_a_step_is_taken(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    real = trainer.evaluate

    def slow(*given: object) -> object:
        inside.set()
        go_on.wait(60)
        return real(*given)

    monkeypatch.setattr(trainer, "evaluate", slow)
    job = runs.submit([QUICK], alive=here)
    assert inside.wait(60)
    start = time.monotonic()
    other = runs.submit([QUICK], alive=here)
    assert (job.state, job.place, job.fraction, job.seconds_left) == ("training", 0, 0.0, None)
    job.stop()
    assert time.monotonic() - start < 30  # half of what the step takes
    go_on.set()
    ended(job)
    ended(other)
    assert (job.why, other.state) == ("stopped", "done")


def test_a_rest_is_left_after_each_step(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    clock = SimpleNamespace(sleep=rests.append, monotonic=time.monotonic)  # other threads of the process sleep on
    monkeypatch.setattr("attnviz.training.job.time", clock)
    job = Job(runs, [QUICK], here)
    assert job.run(100) == ("done", None)
    assert len(rests) == 21 and all(0 < rest < 1 for rest in rests)
