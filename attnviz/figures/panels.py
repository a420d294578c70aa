"""The numbers of each panel of the board, as they are in the tensors: the data step, before anything is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnviz.experiment import Experiment, Run, View
from attnviz.limits import TOKENS_SHOWN

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Each panel: the letters of its rows and columns.
AXES: dict[str, tuple[str, str]] = {
    "x": ("s", "m"),
    "w_q": ("m", "k"),
    "w_k": ("m", "k"),
    "w_v": ("m", "d"),
    "query": ("s", "k"),
    "key": ("u", "k"),
    "value": ("u", "d"),
    "key_t": ("k", "u"),
    "scores": ("s", "u"),
    "masked": ("s", "u"),
    "weights": ("s", "u"),
    "row_sums": ("s", ""),
    "output": ("s", "d"),
}
# The step whose cell a click opens; X and the W are given, so nothing is computed for them.
STEP_OF = {name: "key" if name == "key_t" else name for name in AXES if name[0] not in "xw" or name == "weights"}
STEP_OF["row_sums"] = "weights"
# The field of Experiment that edits a panel, and what the edit makes irrelevant upstream.
EDITED_BY = {
    "x": "x",
    "w_q": "w_q",
    "w_k": "w_k",
    "w_v": "w_v",
    "query": "q",
    "key": "k",
    "key_t": "k",
    "value": "v",
}


class Panel(NamedTuple):
    """One matrix as it is drawn: the window of it that is shown, its whole shape, and what was edited."""

    name: str
    values: npt.NDArray[np.float32]  # (rows, columns) of the window
    shape: tuple[int, int]  # of the whole matrix
    start: tuple[int, int]  # first row and column of the window
    edited: tuple[tuple[int, int], ...]  # cells of the window that a person typed
    overridden: str  # "partly" or "wholly" where typed queries, keys or values replace what this panel leads to
    positions: str = ""  # "rope" where the numbers were rotated, "alibi" where a cost of distance was added


def panels(
    experiment: Experiment, run: Run, view: View, names: tuple[str, ...], base: Run | None = None
) -> dict[str, Panel]:
    """Return the named panels of sequence view.b and head view.h; with `base`, the difference to that run."""
    return {name: _panel(experiment, run, view, name, base) for name in names}


def matrix(run: Run, name: str, b: int, h: int) -> Tensor:
    """Return the whole matrix of one panel, (rows, columns): the tensor's own numbers.

    A head h of the queries reads key-value head h // (n_heads / n_kv_heads).
    """
    trace = run.trace
    if trace is None:
        raise ValueError("run.trace must be a trace, not None: the experiment is above limits.TRACE_BYTES")
    kv = h // (trace.query.shape[-3] // trace.key.shape[-3])
    k, d = trace.key.shape[-1], trace.value.shape[-1]
    whole = {
        "x": lambda: run.x[b],
        "w_q": lambda: run.w_q[:, h * k : (h + 1) * k],  # (m, h*k) -> (m, k)
        "w_k": lambda: run.w_k[:, kv * k : (kv + 1) * k],
        "w_v": lambda: run.w_v[:, kv * d : (kv + 1) * d],
        "query": lambda: trace.query[b, h],
        "key": lambda: trace.key[b, kv],
        "value": lambda: trace.value[b, kv],
        "key_t": lambda: trace.key[b, kv].mT,  # (u, k) -> (k, u)
        "scores": lambda: trace.scores[b, h],
        "scaled": lambda: trace.scaled[b, h],
        "masked": lambda: trace.masked[b, h],
        "weights": lambda: trace.weights[b, h],
        "row_sums": lambda: trace.weights[b, h].sum(-1, keepdim=True),  # (s, u) -> (s, 1)
        "output": lambda: trace.output[b, h],
    }
    return whole[name]()


def unrotated(run: Run) -> Run:
    """Return the run with its queries and keys as they were before rotation, which is what a person edits."""
    if run.rotary is None or run.trace is None or run.projected_query is None or run.projected_key is None:
        return run
    return run._replace(trace=run.trace._replace(query=run.projected_query, key=run.projected_key))


def edited_cells(experiment: Experiment, run: Run, name: str, b: int, h: int) -> tuple[tuple[int, int], ...]:
    """Return the (row, column) of every cell of one panel that a person typed."""
    field = EDITED_BY.get(name)
    cells = experiment.edits.get(field) if field else None
    if not cells or run.trace is None:
        return ()
    n_heads, n_kv_heads = run.trace.query.shape[-3], run.trace.key.shape[-3]
    head = h if field in ("q", "w_q") else h // (n_heads // n_kv_heads)
    rows, columns = matrix(run, "key" if name == "key_t" else name, b, h).shape
    first = 0 if field == "x" else head * columns
    found = []
    for index, _ in cells:
        if len(index) == 3 and index[0] != b:
            continue
        row, column = index[-2], index[-1] - first
        if 0 <= row < rows and 0 <= column < columns:
            found.append((column, row) if name == "key_t" else (row, column))
    return tuple(found)


def overridden(experiment: Experiment, run: Run, name: str, b: int, h: int) -> str:
    """Return "wholly" or "partly" where typed numbers replace what this panel leads to, else ""."""
    downstream = {"w_q": ("query",), "w_k": ("key",), "w_v": ("value",), "x": ("query", "key", "value")}
    typed = whole = 0
    for later in downstream.get(name, ()):
        typed += len(edited_cells(experiment, run, later, b, h))
        whole += matrix(run, later, b, h).numel()
    return "" if not typed else "wholly" if typed == whole else "partly"


def _panel(experiment: Experiment, run: Run, view: View, name: str, base: Run | None) -> Panel:
    values = matrix(run, name, view.b, view.h)
    if base is not None:
        before = matrix(base, name, view.b, view.h)
        # Two cells that are both -inf do not differ, though -inf - -inf is NaN.
        values = torch.where(values == before, torch.zeros_like(values), values - before)
    rows, columns = (_window(letter, size, view) for letter, size in zip(AXES[name], values.shape, strict=True))
    edited = (
        (row - rows.start, column - columns.start)
        for row, column in edited_cells(experiment, run, name, view.b, view.h)
        if row in rows and column in columns
    )
    return Panel(
        name=name,
        values=values[rows.start : rows.stop, columns.start : columns.stop].contiguous().numpy(),
        shape=(values.shape[0], values.shape[1]),
        start=(rows.start, columns.start),
        edited=tuple(edited),
        overridden=overridden(experiment, run, name, view.b, view.h),
        positions=_positions(run, name),
    )


def _positions(run: Run, name: str) -> str:
    if name in ("query", "key", "key_t"):
        return "" if run.rotary is None else "rope"
    return "alibi" if name == "masked" and run.bias is not None else ""


def _window(letter: str, size: int, view: View) -> range:
    if letter not in ("s", "u"):
        return range(size)
    start = max(0, min({"s": view.from_s, "u": view.from_u}[letter], size - TOKENS_SHOWN))
    return range(start, min(size, start + TOKENS_SHOWN))


def within(view: View, run: Run) -> View:
    """Return the view with every index moved inside what was computed, so that an old link still shows something."""
    if run.trace is None:
        return view
    b, h, s, _ = run.trace.query.shape
    last = {"b": b - 1, "h": h - 1, "s": s - 1, "u": s - 1}
    axes = AXES.get(view.step, ("s", "u"))
    features = matrix(run, view.step, 0, 0).shape[1] if axes[1] not in ("s", "u") else view.feature + 1
    moved = {name: max(0, min(getattr(view, name), most)) for name, most in last.items()}
    starts = {name: max(0, min(getattr(view, name), s - TOKENS_SHOWN)) for name in ("from_s", "from_u")}
    return replace(view, **moved, **starts, feature=max(0, min(view.feature, features - 1)))
