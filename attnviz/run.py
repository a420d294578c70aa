"""One run of an Experiment: tokens to X, X to queries, keys and values, those to a trace of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnviz.limits import TRACE_BYTES

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.core.attention import AttentionTrace
    from attnviz.experiment import Experiment

PAD = "[pad]"  # stands after the last token of a shorter sequence, so that all are equally long


class Run(NamedTuple):
    """All that one run computed, of b sequences of s tokens; h_kv is n_kv_heads."""

    tokens: tuple[tuple[str, ...], ...]  # b tuples of s tokens, PAD at the end of shorter sequences
    x: Tensor  # (b, s, m), embedding and positions, edits applied; 0 where padded
    w_q: Tensor  # (m, h*k)
    w_k: Tensor  # (m, h_kv*k)
    w_v: Tensor  # (m, h_kv*d)
    mask: Tensor | None  # (b, 1, s, u), True = may attend; None when all may attend to all, and without a trace
    trace: AttentionTrace | None  # query (b, h, s, k), key and value (b, h_kv, u, ...), weights (b, h, s, u)
    lengths: tuple[int, ...]  # tokens of each sequence before padding
    scale: float  # what the scores were multiplied by
    unused: tuple[tuple[str, tuple[int, ...]], ...]  # edited cells (field, index) outside the present shape


def run(experiment: Experiment) -> Run:
    """Compute `experiment`, in float32; the trace is None when it would exceed limits.TRACE_BYTES.

    >>> from attnviz.experiment import Experiment
    >>> run(Experiment("the cat sat")).trace.weights.shape
    torch.Size([1, 1, 3, 3])
    """
    # Imported here, so that a link is read before torch is loaded.
    from attnviz.core.attention import attention, project
    from attnviz.core.embeddings import weight
    from attnviz.core.heads import split_heads

    e, n_kv_heads = experiment, experiment.n_kv_heads or experiment.n_heads
    unused: list[tuple[str, tuple[int, ...]]] = []
    lengths = tuple(map(len, e.sequences))
    n = max(lengths, default=0)
    tokens = tuple(sequence + (PAD,) * (n - len(sequence)) for sequence in e.sequences)
    scale = {"sqrt": e.d_k**-0.5, "d_k": 1 / e.d_k, "none": 1.0}[e.scale] / e.temperature

    x = _edited(e, "x", _embedded(e, n), unused)  # (b, s, m)
    w_q = _edited(e, "w_q", weight("w_q", e.d_model, e.n_heads * e.d_k, e.seed), unused)  # (m, h*k)
    w_k = _edited(e, "w_k", weight("w_k", e.d_model, n_kv_heads * e.d_k, e.seed), unused)  # (m, h_kv*k)
    w_v = _edited(e, "w_v", weight("w_v", e.d_model, n_kv_heads * e.d_v, e.seed), unused)  # (m, h_kv*d)
    if e.trace_bytes(n) > TRACE_BYTES:
        return Run(tokens, x, w_q, w_k, w_v, None, None, lengths, scale, tuple(unused))

    q = _edited(e, "q", project(x, w_q), unused)  # (b, s, h*k)
    k = _edited(e, "k", project(x, w_k), unused)  # (b, u, h_kv*k)
    v = _edited(e, "v", project(x, w_v), unused)  # (b, u, h_kv*d)
    query = split_heads(q, e.n_heads)  # (b, h, s, k)
    key = split_heads(k, n_kv_heads)  # (b, h_kv, u, k)
    value = split_heads(v, n_kv_heads)  # (b, h_kv, u, d)
    mask = _mask(e, lengths, n)  # (b, 1, s, u)
    trace = attention(query, key, value, mask=mask, scale=scale)
    return Run(tokens, x, w_q, w_k, w_v, mask, trace, lengths, scale, tuple(unused))


def _embedded(e: Experiment, n: int) -> Tensor:
    """The vectors of all tokens with their positions: (b, s=n, m), 0 where padded."""
    import torch

    from attnviz.core.embeddings import embed
    from attnviz.core.positions import sinusoidal

    x = torch.zeros(len(e.sequences), n, e.d_model)  # (b, s, m)
    vectors = embed([token for sequence in e.sequences for token in sequence], e.d_model, e.seed)  # (tokens, m)
    waves = sinusoidal(n, e.d_model) if e.positions == "sinusoidal" else None  # (s, m)
    parts = vectors.split([len(sequence) for sequence in e.sequences])
    for row, part in zip(x, parts, strict=True):
        row[: len(part)] = part if waves is None else part + waves[: len(part)]
    return x


def _edited(e: Experiment, name: str, matrix: Tensor, unused: list[tuple[str, tuple[int, ...]]]) -> Tensor:
    """`matrix` with the edited cells of field `name` in it; those it has no place for go to `unused`."""
    import torch

    cells = e.edits.get(name)
    if cells is None:
        return matrix
    used = {index: value for index, value in cells if e.has_cell(name, index)}
    unused += [(name, index) for index, _ in cells if index not in used]
    if used:
        matrix[tuple(torch.tensor(list(used)).T)] = torch.tensor(list(used.values()))
    return matrix


def _mask(e: Experiment, lengths: tuple[int, ...], n: int) -> Tensor | None:
    """Who may attend to whom: (b, 1, s, u), True = may attend; None when all may."""
    from attnviz.core import masks

    chosen = None
    if e.mask == "causal":
        chosen = masks.causal(n, n)  # (s, u)
    elif e.mask == "window":
        chosen = masks.window(n, n, left=e.window_left, right=e.window_right)
    elif e.mask == "prefix":
        chosen = masks.prefix(n, e.prefix_length)
    padded = masks.padding(lengths, n) if len(set(lengths)) > 1 else None  # (b, 1, u)
    mask = masks.combine(chosen, padded)
    return None if mask is None else mask.expand(len(lengths), n, n)[:, None]  # (b, 1, s, u)
