"""What training costs: a step against the same model by torch's own layers, and how soon an induction head forms.

    python -m tests.benchmarks.training

The same model is written twice more, with nn.MultiheadAttention and with SDPA; all three learn the same batches with
torch's fused AdamW, on one torch thread, and take their steps in turn, so that a noisy machine is noisy for all. A
step of attnviz counts whole, with the weights it keeps; what it measures on held-out sequences is a line of its own.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attnviz.training.checkpoint import TINY_FILE
from attnviz.training.model import LayerWeights, Weights, initial
from attnviz.training.recipe import Recipe
from attnviz.training.tasks import batch, causal, held_out, mask, stream
from attnviz.training.trainer import BATCH, EVERY, Training, evaluate, loss_of
from tests.benchmarks.measure import parser, spread

GOAL_STEP, GOAL_SECONDS, GOAL_MEMORY = 1.2, 3.0, 50  # ratio, s, MB
THRESHOLD = 0.8  # of an induction head
RECIPES = {
    "repeat": Recipe(),
    "repeat, 4 layers, 4 heads, width 64": Recipe(layers=4, heads=4, width=64),
    "sort": Recipe("sort"),
}
LARGEST = Recipe("text", layers=4, width=64, steps=2000, text="".join(map(chr, range(0x4E00, 0x4E00 + 512))) * 20)


class Reference(nn.Module):
    """The model of a recipe with learned positions, by torch's own layers; none has a bias."""

    def __init__(self, recipe: Recipe, weights: Weights, kind: str) -> None:
        super().__init__()
        assert weights.positions is not None
        self.embedding, self.positions = nn.Parameter(weights.embedding), nn.Parameter(weights.positions)
        self.unembedding = nn.Parameter(weights.unembedding)
        make = MultiHead if kind == "MultiheadAttention" else Fused
        self.layers = nn.ModuleList(make(layer, recipe) for layer in weights.layers)

    def forward(self, tokens: Tensor) -> Tensor:
        x = nn.functional.embedding(tokens, self.embedding)
        for layer in self.layers:
            x = x + layer(x + self.positions, x)
        return x @ self.unembedding


class MultiHead(nn.Module):
    """One layer by nn.MultiheadAttention."""

    def __init__(self, layer: LayerWeights, recipe: Recipe) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(recipe.width, recipe.heads, bias=False, batch_first=True)
        with torch.no_grad():
            self.attention.in_proj_weight.copy_(torch.cat([weight.mT for weight in layer[:3]]))
            self.attention.out_proj.weight.copy_(layer.w_o.mT)
        seen = mask(recipe, recipe.seq_len)
        self.hidden = None if seen is None else ~seen  # True = may not attend

    def forward(self, x_qk: Tensor, x: Tensor) -> Tensor:
        options = {"attn_mask": self.hidden, "need_weights": False, "is_causal": self.hidden is not None}
        output: Tensor = self.attention(x_qk, x_qk, x, **options)[0]
        return output


class Fused(nn.Module):
    """One layer by scaled_dot_product_attention."""

    def __init__(self, layer: LayerWeights, recipe: Recipe) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Parameter(weight) for weight in layer)
        self.heads, self.causal = recipe.heads, causal(recipe)

    def forward(self, x_qk: Tensor, x: Tensor) -> Tensor:
        q, k, v = (
            projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for projected in (x_qk @ self.w_q, x_qk @ self.w_k, x @ self.w_v)
        )
        merged = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return merged.transpose(1, 2).flatten(-2) @ self.w_o


def reference(recipe: Recipe, kind: str) -> Callable[[], float]:
    """One step of the reference, as a call."""
    model = Reference(recipe, initial(recipe).copy(), kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, fused=True)
    generator = stream(recipe, "training")

    def step() -> float:
        asked = batch(recipe, BATCH, generator)
        loss = loss_of(model(asked.tokens), asked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def steps(n: int, warm: int) -> None:
    """Print the time of a step, ours and the two others', their ratio, and that of a measurement."""
    names = f"{'attnviz':>16}  {'MultiheadAttn.':>16}  {'SDPA':>16}  {'to slower':>9}  {'measuring':>16}"
    print(f"{'a step, ms, median (middle half)':36}  {names}")
    for name, recipe in RECIPES.items():
        training = Training(recipe)
        training._every = recipe.steps + 1  # never: that is measured below
        calls: dict[str, Callable[[], object]] = {"attnviz": training.step}
        calls |= {kind: reference(recipe, kind) for kind in ("MultiheadAttention", "SDPA")}
        held = held_out(recipe, BATCH)
        calls["measuring"] = partial(evaluate, recipe, training.weights, held)
        times: dict[str, list[float]] = {kind: [] for kind in calls}
        for turn in range(warm + n):
            for kind, call in calls.items():
                start = time.perf_counter()
                call()
                if turn >= warm:
                    times[kind].append(1000 * (time.perf_counter() - start))
        ours, *others = (statistics.median(times[kind]) for kind in calls if kind != "measuring")
        sides = [f"{spread(taken):>16}" for taken in times.values()]
        print(f"{name:36}  {'  '.join(sides[:3])}  {ours / max(others):9.2f}  {sides[3]}", flush=True)
    print(f"goal: at most {GOAL_STEP} times the slower of the two; measured every {EVERY} steps of a run of 300")


def seconds_to_induction(n_seeds: int) -> None:
    """Print how long it takes until a head's induction score is over the threshold, seed by seed."""
    found: list[tuple[float, float]] = []  # by the clock, and of the processor: a busy machine tells them apart
    for seed in range(n_seeds):
        training, start = Training(Recipe(seed=seed)), time.thread_time()
        for progress in training:
            best = max((scores["induction"] for scores in progress.scores.values()), default=0.0)
            if best > THRESHOLD:
                found.append((progress.seconds, time.thread_time() - start))
                words = f"{progress.seconds:.2f} s, of the processor {found[-1][1]:.2f} s"
                print(f"seed {seed}: step {progress.step}, {words}", flush=True)
                break
        else:
            print(f"seed {seed}: not in {training.recipe.steps} steps")
    print(f"induction over {THRESHOLD}: {len(found)} of {n_seeds} seeds; goal {GOAL_SECONDS} s")
    if found:
        clock, processor = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"median {clock:.2f} s, of the processor {processor:.2f} s", flush=True)


def replay(recipe: Recipe) -> int:
    """Train to the end; the bytes that a replay keeps: snapshots, and what was measured."""
    training = Training(recipe)
    for _ in training:
        pass
    tensors = sum(weight.nbytes for _, weights in training.snapshots for _, weight in weights.items())
    return tensors + deep_size(training.history)


def deep_size(x: object) -> int:
    """The bytes of plain objects within each other; what stands in two places counts twice."""
    parts: list[object] = []
    if isinstance(x, dict):
        parts = [*x.keys(), *x.values()]
    elif isinstance(x, list | tuple):
        parts = list(x)
    return sys.getsizeof(x) + sum(map(deep_size, parts))


def main() -> None:
    """Print the four measurements."""
    arguments = parser(__doc__ or "", 200)
    arguments.add_argument("--seeds", type=int, default=10)
    given = arguments.parse_args()
    torch.set_num_threads(1)
    steps(given.n, given.warm)
    seconds_to_induction(given.seeds)
    print(f"attnviz-tiny: {len(TINY_FILE.read_bytes()):,} bytes")
    for name, recipe in {"300 steps as they come": Recipe(), "the largest there is": LARGEST}.items():
        kept = replay(recipe)
        print(f"replay, {name}: {kept / 2**20:.1f} MB of {recipe.n_parameters:,} parameters; goal {GOAL_MEMORY} MB")


if __name__ == "__main__":
    main()
