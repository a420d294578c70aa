"""What the pooled map of a long text costs: pooled_weights against the plain formula and torch.matmul alone, float32.

    python -m tests.benchmarks.pooling

One head, d = 64, at most 512 x 512 cells. Plain is softmax(q @ k.mT * scale) with its (s, u) matrix, not even pooled,
where three such matrices fit into 1 GB. matmul multiplies the same blocks of rows and keeps nothing: no map can cost
less. All are called in turn, so that a noisy machine is noisy for each; medians are compared, and the least times
stand beside them, which neighbours disturb less. Memory is that of a fresh process: the most it ever held, less what
it held with the inputs made.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnviz.core import pooling
from attnviz.core.pooling import pooled_weights

D_K, SIZE = 64, 512
LENGTHS = (1024, 2048, 4096, 8192, 16_384, 32_768)
PLAIN_BYTES = 2**30
GOAL, GOAL_MB = 1.5, 300  # times plain at 4,096 tokens; MB above the inputs at 32,768


def inputs(n: int) -> tuple[Tensor, Tensor]:
    """Query and key (n, k), always the same."""
    query, key = (torch.randn(n, D_K, generator=torch.Generator().manual_seed(i)) for i in range(2))
    return query, key


def plain(query: Tensor, key: Tensor) -> Tensor:
    """The weights as they are written in a line, all of them held."""
    return torch.softmax(query @ key.mT * (1 / math.sqrt(D_K)), -1)


def matmul(query: Tensor, key: Tensor) -> None:
    """The products alone, of the blocks of rows that pooled_weights takes."""
    n = len(query)
    block = max(1, -(-n // SIZE))
    rows = max(1, pooling._PIECE // n)
    for part in query.split(rows // block * block or rows):
        part @ key.mT


def times(calls: dict[str, Callable[[], object]], n_measured: int) -> dict[str, list[float]]:
    """The times of each call in milliseconds, the first round left out."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + n_measured):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            taken[name].append(1000 * (time.perf_counter() - start))
            del result
    return {name: each[1:] for name, each in taken.items()}


def peak_mb(n: int, mask: Any) -> float:
    """Megabytes that a fresh process holds at most while it pools, above what it held before."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (n, mask))


def _grown(n: int, mask: Any) -> float:
    query, key = inputs(n)
    pooled_weights(query[:64], key[:64], mask=mask)  # libraries fetch their own memory once
    before = _held("VmRSS")
    pooled_weights(query, key, mask=mask, size=SIZE)
    return (_held("VmHWM") - before) / 1e6


def _held(name: str) -> int:
    """Bytes of this process's memory now (VmRSS) or at most (VmHWM). ru_maxrss would count its parent's too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name + ":")))


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description="pooled_weights against the plain formula and matmul alone")
    arguments.add_argument("-n", type=int, default=15, help="rounds at 4,096 tokens; fewer above (default 15)")
    arguments.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    print(f"one head, d = {D_K}, float32, at most {SIZE} x {SIZE} cells, {given.threads} threads; median (least) ms")
    print(f"{'n':>6}  {'plain':>16}  {'matmul alone':>16}  {'pooled':>16}  {'pooled, causal':>16}", end="  ")
    print(f"{'to plain':>8}  {'to matmul':>9}  {'MB':>5}  {'causal':>6}")
    for n in given.lengths:
        query, key = inputs(n)
        calls: dict[str, Callable[[], object]] = {"matmul": partial(matmul, query, key)}
        if 3 * 4 * n * n <= PLAIN_BYTES:
            calls["plain"] = partial(plain, query, key)
        calls["pooled"] = partial(pooled_weights, query, key, size=SIZE)
        calls["causal"] = partial(pooled_weights, query, key, size=SIZE, mask="causal")
        taken = times(calls, max(2, given.n * 4096 // max(n, 4096)))
        cells = [
            f"{statistics.median(taken[name]):.0f} ({min(taken[name]):.0f})" if name in taken else "does not fit"
            for name in ("plain", "matmul", "pooled", "causal")
        ]
        ours, product = statistics.median(taken["pooled"]), statistics.median(taken["matmul"])
        ratio = f"{ours / statistics.median(taken['plain']):.2f}" if "plain" in taken else "-"
        print(f"{n:6}  " + "  ".join(f"{cell:>16}" for cell in cells), end="  ")
        print(f"{ratio:>8}  {ours / product:9.2f}  {peak_mb(n, None):5.0f}  {peak_mb(n, 'causal'):6.0f}", flush=True)
    print(f"goals: at 4,096 tokens at most {GOAL} x plain; at 32,768 at most {GOAL_MB} MB above the inputs")


if __name__ == "__main__":
    main()
