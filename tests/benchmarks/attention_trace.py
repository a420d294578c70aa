"""What the whole trace costs: attention() against plain softmax(q @ k.mT * scale) @ v, float32.

    python -m tests.benchmarks.attention_trace

The calls are interleaved, so that a noisy machine is noisy for all of them, and medians are compared.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import attention

SHAPE = (1, 12, 512, 64)  # (b, h, s, k)
N_WARM, N_MEASURED = 10, 80


def medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median time of each call in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(N_WARM + N_MEASURED):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            times[name].append(1000 * (time.perf_counter() - start))
            del result  # freed outside the clock, alike for all
    return {name: statistics.median(taken[N_WARM:]) for name, taken in times.items()}


def main() -> None:
    """Print the table, for one thread and for torch's own choice."""
    query, key, value = (torch.randn(SHAPE, generator=torch.Generator().manual_seed(i)) for i in range(3))
    scale = 1 / math.sqrt(SHAPE[-1])
    causal = masks.causal(SHAPE[-2], SHAPE[-2])

    def plain() -> Tensor:
        return torch.softmax(query @ key.mT * scale, -1) @ value

    def plain_causal() -> Tensor:
        return torch.softmax(torch.where(causal, query @ key.mT * scale, -math.inf), -1) @ value

    calls: dict[str, Callable[[], object]] = {
        "no mask": plain,
        "no mask, trace": lambda: attention(query, key, value),
        "causal": plain_causal,
        "causal, trace": lambda: attention(query, key, value, mask=causal),
    }
    print(f"attention with its trace, {SHAPE}, float32, medians of {N_MEASURED} interleaved calls")
    print(f"{'threads':>7}  {'case':8}  {'plain ms':>8}  {'trace ms':>8}  {'ratio':>5}")
    default = torch.get_num_threads()
    for n_threads in dict.fromkeys((1, default)):
        torch.set_num_threads(n_threads)
        taken = medians(calls)
        for case in ("no mask", "causal"):
            ours, theirs = taken[f"{case}, trace"], taken[case]
            print(f"{n_threads:7}  {case:8}  {theirs:8.2f}  {ours:8.2f}  {ours / theirs:5.2f}")
    torch.set_num_threads(default)


if __name__ == "__main__":
    main()
