"""What the program of a view computes of a run: by these names a lab's program goes on from there."""

from __future__ import annotations

from torch import Tensor

from attnviz.experiment import Run


def known(run: Run) -> dict[str, Tensor]:
    """Return what the program of a run computes, by what gives it there; nothing of one without a trace."""
    if run.trace is None or run.long is not None:
        return {}
    trace = run.trace
    times = trace.query.shape[-3] // trace.key.shape[-3]
    one_of = f"[:, ::{times}]" if times > 1 else ""  # of K and V, which are repeated for the heads of a group
    given = {"X": run.x, "W_Q": run.w_q, "W_K": run.w_k, "W_V": run.w_v} if run.w_q.numel() else {}
    made = {"Q": trace.query, f"K{one_of}": trace.key, f"V{one_of}": trace.value}
    steps = {"S": trace.scores, "masked": trace.masked, "scaled": trace.scaled, "a": trace.weights, "O": trace.output}
    before = (
        {}
        if run.projected_query is None or run.projected_key is None or run.rotary is None
        else {"projected_Q": run.projected_query, "projected_K": run.projected_key}
    )
    return given | before | made | steps | _known_mask(run) | _known_heads(run)


def _known_mask(run: Run) -> dict[str, Tensor]:
    """The mask, where the program makes one: see _masks."""
    added = run.mask is not None and run.mask.is_floating_point() and not (run.bias is not None and run.w_q.numel())
    if run.seen is None or added or bool(run.seen.all()):
        return {}
    return {"mask": run.seen if len(set(run.lengths)) > 1 else run.seen[0, 0]}


def _known_heads(run: Run) -> dict[str, Tensor]:
    """The weights with their heads apart, (m, h*k) -> (m, h, k), of which a head's own are no slice alone."""
    if not run.w_q.numel() or run.trace is None:
        return {}
    n_heads, n_kv_heads = run.trace.query.shape[-3], run.trace.key.shape[-3]
    weights = (("W_Q", run.w_q, n_heads), ("W_K", run.w_k, n_kv_heads), ("W_V", run.w_v, n_kv_heads))
    return {f"{name}.unflatten(1, ({n}, -1))": weight.unflatten(1, (n, -1)) for name, weight, n in weights}
