"""The numbers of each panel of the board, as they are in the tensors: the data step, before anything is drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.matrices import OF_ROWS, rows_of, shape
from attnviz.figures.matrices import matrix as matrix
from attnviz.figures.matrices import unrotated as unrotated
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
    near, before = _near(run, view, names), None if base is None else _near(base, view, names)
    return {name: _panel(experiment, near, view, name, before) for name in names}


def _near(run: Run, view: View, names: tuple[str, ...]) -> Run:
    """Of a long text, compute the rows that are drawn, once for all panels."""
    if run.long is None or not any(name in OF_ROWS for name in names):
        return run
    rows = drawn("s", len(run.long.query), view)
    return run._replace(trace=run.long.rows(rows.start, rows.stop))


def edited_cells(experiment: Experiment, run: Run, name: str, b: int, h: int) -> tuple[tuple[int, int], ...]:
    """Return the (row, column) of every cell of one panel that a person typed."""
    field = EDITED_BY.get(name)
    cells = experiment.edits.get(field) if field else None
    if not cells:
        return ()
    n_kv_heads = experiment.n_kv_heads or experiment.n_heads
    head = h if field in ("q", "w_q") else h // (experiment.n_heads // n_kv_heads)
    rows, columns = shape(run, "key" if name == "key_t" else name, b, h)
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
        whole += math.prod(shape(run, later, b, h))
    return "" if not typed else "wholly" if typed == whole else "partly"


def _panel(experiment: Experiment, run: Run, view: View, name: str, base: Run | None) -> Panel:
    whole = shape(run, name, view.b, view.h)
    rows, columns = (drawn(letter, size, view) for letter, size in zip(AXES[name], whole, strict=True))
    values = rows_of(run, name, view.b, view.h, rows)
    if base is not None:
        before = rows_of(base, name, view.b, view.h, rows)
        # Two cells that are both -inf do not differ, though -inf - -inf is NaN.
        values = torch.where(values == before, torch.zeros_like(values), values - before)
    edited = (
        (row - rows.start, column - columns.start)
        for row, column in edited_cells(experiment, run, name, view.b, view.h)
        if row in rows and column in columns
    )
    return Panel(
        name=name,
        values=values[:, columns.start : columns.stop].contiguous().numpy(),
        shape=whole,
        start=(rows.start, columns.start),
        edited=tuple(edited),
        overridden=overridden(experiment, run, name, view.b, view.h),
        positions=_positions(run, name),
    )


def _positions(run: Run, name: str) -> str:
    if name in ("query", "key", "key_t"):
        return "" if run.rotary is None else "rope"
    return "alibi" if name == "masked" and run.has_cost else ""


def drawn(letter: str, size: int, view: View) -> range:
    """Return which of the `size` rows or columns of an axis are drawn: of a long one of tokens, a window.

    >>> drawn("s", 600, View(from_s=590)), drawn("m", 8, View())
    (range(576, 600), range(0, 8))
    """
    if letter not in ("s", "u"):
        return range(size)
    start = max(0, min({"s": view.from_s, "u": view.from_u}[letter], size - TOKENS_SHOWN))
    return range(start, min(size, start + TOKENS_SHOWN))


def within(view: View, run: Run) -> View:
    """Return the view with every index moved inside what was computed, so that an old link still shows something."""
    if run.long is not None:
        b, h, s = len(run.tokens), run.long.experiment.n_heads, len(run.long.query)
    elif run.trace is not None:
        b, h, s, _ = run.trace.query.shape
    else:
        return view
    last = {"b": b - 1, "h": h - 1, "s": s - 1, "u": s - 1}
    axes = AXES.get(view.step, ("s", "u"))
    features = shape(run, view.step, 0, 0)[1] if axes[1] not in ("s", "u") else view.feature + 1
    moved = {name: max(0, min(getattr(view, name), most)) for name, most in last.items()}
    starts = {name: max(0, min(getattr(view, name), s - TOKENS_SHOWN)) for name in ("from_s", "from_u")}
    return replace(view, **moved, **starts, feature=max(0, min(view.feature, features - 1)))
