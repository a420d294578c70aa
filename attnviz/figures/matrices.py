"""The matrices of a run by the names of their panels: whole, or of a long text a few rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.run import Run

# Of a long text these are computed for a few rows at a time.
OF_ROWS = ("scores", "scaled", "masked", "weights", "row_sums", "output")


def shape(run: Run, name: str, b: int, h: int) -> tuple[int, int]:
    """Return how many rows and columns the whole matrix of one panel has."""
    if run.long is None:
        rows, columns = matrix(run, name, b, h).shape
        return rows, columns
    n, d = run.long.value.shape
    if name in OF_ROWS:
        return n, {"row_sums": 1, "output": d}.get(name, n)
    rows, columns = run.long.matrix(name).shape
    return rows, columns


def rows_of(run: Run, name: str, b: int, h: int, rows: range) -> Tensor:
    """Return some rows of the matrix of one panel; of a long text no others are computed."""
    if run.long is None or name not in OF_ROWS:
        return matrix(run, name, b, h)[rows.start : rows.stop]
    trace = run.trace if run.trace is not None else run.long.rows(rows.start, rows.stop)
    if name == "row_sums":
        return trace.weights.sum(-1, keepdim=True)  # (rows, u) -> (rows, 1)
    chosen: Tensor = getattr(trace, name)
    return chosen


def matrix(run: Run, name: str, b: int, h: int) -> Tensor:
    """Return the whole matrix of one panel, (rows, columns): the tensor's own numbers.

    A head h of the queries reads key-value head h // (n_heads / n_kv_heads). Of a long text there is no whole matrix
    of what OF_ROWS names.
    """
    if run.long is not None:
        return run.long.matrix(name)
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
    if run.long is not None:
        held = run.long
        return run._replace(long=held._replace(query=held.projected_query, key=held.projected_key))
    if run.rotary is None or run.trace is None or run.projected_query is None or run.projected_key is None:
        return run
    return run._replace(trace=run.trace._replace(query=run.projected_query, key=run.projected_key))
