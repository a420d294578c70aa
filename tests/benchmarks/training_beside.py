"""What training costs everybody else: a thread's own Python, alone and beside three jobs that train.

    python -m tests.benchmarks.training_beside

Rounds alternate, so that a noisy machine is noisy for both. The work takes about 5 ms alone, as a short page's does.
"""

from __future__ import annotations

import time

from attnviz.limits import TRAINING_AT_ONCE
from attnviz.training.recipe import Recipe
from attnviz.training.runs import Runs
from tests.benchmarks.measure import parser, quantile

WORK_MS, PAUSE, ROUND = 5.0, 0.01, 1.0  # ms, and seconds between two and of one round


def work(n: int) -> float:
    """Some Python, and the milliseconds that it took."""
    start, total = time.perf_counter(), 0
    for i in range(n):
        total += i * i
    return 1000 * (time.perf_counter() - start)


def sized() -> int:
    """How much work takes WORK_MS, at best."""
    n = 10_000
    best = min(work(n) for _ in range(50))
    return round(n * WORK_MS / best)


def a_round(n: int) -> list[float]:
    """Work again and again for a round."""
    taken, end = [], time.perf_counter() + ROUND
    while time.perf_counter() < end:
        taken.append(work(n))
        time.sleep(PAUSE)
    return taken


def main() -> None:
    """Print the times of both sides, and how fast the jobs were."""
    rounds = parser(__doc__ or "", 15).parse_args().n
    runs, n = Runs(), sized()
    alone: list[float] = []
    beside: list[float] = []
    steps = 0
    for _ in range(rounds):
        alone += a_round(n)
        jobs = [runs.submit([Recipe(seed=seed, steps=2000)], alive=lambda: True) for seed in range(TRAINING_AT_ONCE)]
        while not all(job.trainings[0].history for job in jobs):
            time.sleep(PAUSE)
        before = sum(job.trainings[0].step_number for job in jobs)
        beside += a_round(n)
        steps += sum(job.trainings[0].step_number for job in jobs) - before
        for job in jobs:
            job.stop()
        while any(job.state == "training" for job in jobs):
            time.sleep(PAUSE)
    runs.close()
    for words, taken in (("alone", alone), (f"beside {TRAINING_AT_ONCE} jobs", beside)):
        shares = ", ".join(f"p{round(100 * share)} {quantile(taken, share):.1f} ms" for share in (0.5, 0.9, 0.99))
        print(f"{words:14} {shares}")
    print(f"the jobs together: {steps / (rounds * ROUND):.0f} steps a second")


if __name__ == "__main__":
    main()
