"""Cells of a run, explained; written without the page, so that it can be compared with what a page says."""

import random
from collections.abc import Iterator
from typing import Any

from attnviz.core.arithmetic import Arithmetic, explain
from attnviz.experiment import STEPS, Experiment, Run, View

HUGE = 3e38
EXPERIMENTS: dict[str, Experiment] = {
    "cat": Experiment("the cat sat on the mat"),
    "grouped": Experiment(
        "the cat sat on the mat\nthe dog ran\nbirds",
        n_heads=4,
        n_kv_heads=2,
        d_model=6,
        d_k=3,
        d_v=5,
        mask="causal",
        temperature=0.7,
        positions="sinusoidal",
    ),
    "nowhere": Experiment("a b c d e\nf", mask="window", window_left=0, scale="d_k"),
    "prefix": Experiment("我喜欢猫，猫也喜欢我", mask="prefix", scale="none", n_heads=2, d_model=5),
    "learned": Experiment("the cat sat on the mat", positions="learned", d_model=5),
    "halves": Experiment(
        "the cat sat on the mat\nthe dog ran", n_heads=4, n_kv_heads=2, d_k=6, positions="rope_half", mask="causal"
    ).with_cell("q", (0, 2, 8), 1.5),
    "pairs": Experiment("我喜欢猫，猫也喜欢我", d_k=6, positions="rope_interleaved").with_cell("k", (0, 3, 5), -2.5),
    "odd": Experiment("a b c d", d_k=3, positions="rope_half"),
    "alibi": Experiment("a b c d e\nf g", n_heads=4, n_kv_heads=2, positions="alibi", mask="causal", temperature=0.5),
    "distance": Experiment("the cat sat on the mat", n_heads=3, positions="alibi"),
    "edited": Experiment("a b c", d_model=3, n_heads=2)
    .with_cell("q", (0, 1, 5), 2.25)
    .with_cell("x", (0, 0, 1), -7.125)
    .with_cell("w_v", (2, 3), 0.3),
    "large": Experiment("a b c", d_model=3)
    .with_cell("x", (0, 0, 0), 12345.678)
    .with_cell("w_q", (0, 0), -98765.4321)
    .with_cell("w_k", (0, 0), 4321.1)
    .with_cell("w_v", (0, 1), 77777.7),
    "tiny": Experiment("a b", d_model=2).with_cell("x", (0, 0, 0), 1e-20).with_cell("x", (0, 0, 1), -3e-30),
    "infinite": Experiment("a b c", d_model=2, d_k=2, x=[[HUGE, HUGE], [0, 0], [HUGE, -HUGE]], w_q=[[9, 9], [9, 9]]),
}


def shape(run: Run, step: str) -> tuple[int, ...]:
    """Return how many cells a step has along (b, h, row, column), with as many heads as the queries have."""
    assert run.trace is not None
    b, _, rows, columns = getattr(run.trace, step).shape
    return b, run.trace.query.shape[1], rows, columns


def view_of(step: str, b: int, h: int, row: int, column: int) -> View:
    """Return the view that looks at one cell."""
    first = "u" if step in ("key", "value") else "s"
    second = "u" if step in ("scores", "scaled", "masked", "weights") else "feature"
    places: dict[str, Any] = {first: row, second: column}
    return View(step=step, b=b, h=h, **places)


def explained(run: Run, view: View) -> Arithmetic:
    """Return the arithmetic of the cell that a view looks at."""
    trace = run.trace
    assert trace is not None
    group = trace.query.shape[1] // trace.key.shape[1]
    head = view.h // group if view.step in ("key", "value") else view.h
    row = view.u if view.step in ("key", "value") else view.s
    column = view.u if view.step in ("scores", "scaled", "masked", "weights") else view.feature
    weight = {"query": run.w_q, "key": run.w_k, "value": run.w_v}.get(view.step)
    index = (view.b, head, row, column)
    given: dict[str, Any] = {"x": run.x, "weight": weight, "mask": run.mask, "scale": run.scale}
    if run.rotary is not None:
        given |= {"rotary": run.rotary}
        given |= {"projected": {"query": run.projected_query, "key": run.projected_key}.get(view.step)}
    return explain(trace, view.step, index, **given)


def some(
    name: str, count: int, seed: int = 0, steps: tuple[str, ...] = STEPS
) -> Iterator[tuple[Run, View, Arithmetic]]:
    """Yield `count` cells of each step of an experiment, drawn evenly."""
    drawn, run = random.Random(seed), EXPERIMENTS[name].run()
    for step in steps:
        for _ in range(count):
            view = view_of(step, *(drawn.randrange(n) for n in shape(run, step)))
            yield run, view, explained(run, view)
