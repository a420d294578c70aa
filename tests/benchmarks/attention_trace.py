"""What the whole trace costs: attention() against plain softmax(q @ k.mT * scale) @ v and against SDPA, float32.

    python -m tests.benchmarks.attention_trace

Plain formula and trace are called in turn, so that a noisy machine is noisy for both, and medians are compared. SDPA
keeps no step and is not what attention() replaces: it is measured apart, and says what seeing every step costs.
Memory is counted, not sampled: the bytes of tensors alive at the end (the trace itself) and at most, the three inputs
left out.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core import masks
from attnviz.core.attention import attention
from tests.core.live_bytes import live_bytes

N_HEADS, D_K = 12, 64
LENGTHS = (128, 256, 512, 1024, 2048)
GOALS = {"none": 1.10, "causal": 1.25, "float": 1.25}
N_WARM = 3


def medians(calls: dict[str, Callable[[], object]], n_measured: int) -> dict[str, float]:
    """The median time of each call in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(N_WARM + n_measured):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            times[name].append(1000 * (time.perf_counter() - start))
            del result  # freed outside the clock, alike for all
    return {name: statistics.median(taken[N_WARM:]) for name, taken in times.items()}


def plain(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Attention as it is written in a line or two, nothing kept."""
    scaled = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if mask is not None:
        scaled = torch.where(mask, scaled, -math.inf) if mask.dtype == torch.bool else scaled + mask
    return torch.softmax(scaled, -1) @ value


def main() -> None:
    """Print the table of times and that of memory."""
    arguments = argparse.ArgumentParser(description="attention() against the plain formula and SDPA")
    arguments.add_argument("--threads", type=int, nargs="*", default=[1, torch.get_num_threads()])
    threads = arguments.parse_args().threads
    print(f"attention with its trace, (1, {N_HEADS}, n, {D_K}), float32, medians of interleaved calls")
    print(f"{'threads':>7}  {'n':>4}  {'mask':6}  {'plain ms':>8}  {'SDPA ms':>7}  {'trace ms':>8}", end="  ")
    print(f"{'to plain':>8}  {'goal':>4}  {'to SDPA':>7}")
    for n_threads in dict.fromkeys(threads):
        torch.set_num_threads(n_threads)
        for n in LENGTHS:
            for kind, mask in masks_of(n).items():
                given = inputs(n)
                times = max(7, 20_000 // n)
                trace = partial(attention, *given, mask=mask)
                taken = medians({"plain": partial(plain, *given, mask), "trace": trace}, times)
                fused = medians({"SDPA": partial(scaled_dot_product_attention, *given, mask)}, times)["SDPA"]
                ours, theirs = taken["trace"], taken["plain"]
                print(f"{n_threads:7}  {n:4}  {kind:6}  {theirs:8.2f}  {fused:7.2f}  {ours:8.2f}", end="  ")
                print(f"{ours / theirs:8.2f}  {GOALS[kind]:4.2f}  {ours / fused:7.2f}", flush=True)
    print()
    print(f"{'n':>4}  {'mask':6}  {'trace MB':>8}  {'most MB':>7}  {'beyond it, in maps':>18}  {'plain, most MB':>14}")
    for n in LENGTHS:
        for kind, mask in masks_of(n).items():
            given = inputs(n)
            made, held, peak = live_bytes(partial(attention, mask=mask), *given)
            _, _, without = live_bytes(partial(plain, mask=mask), *given)
            beyond = (peak - held) / made.weights.nbytes
            print(f"{n:4}  {kind:6}  {held / 1e6:8.1f}  {peak / 1e6:7.1f}  {beyond:18.2f}  {without / 1e6:14.1f}")


def inputs(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value (1, h, n, k), always the same."""
    query, key, value = (torch.randn(1, N_HEADS, n, D_K, generator=torch.Generator().manual_seed(i)) for i in range(3))
    return query, key, value


def masks_of(n: int) -> dict[str, Tensor | None]:
    """No mask, a causal one, and the same one added."""
    causal = masks.causal(n, n)
    return {"none": None, "causal": causal, "float": torch.zeros(n, n).masked_fill(~causal, -math.inf)}


if __name__ == "__main__":
    main()
