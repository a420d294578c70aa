"""One run of an Experiment: tokens to X, X to queries, keys and values, those to a trace of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnviz.drawing import read_drawing
from attnviz.limits import TRACE_BYTES

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.core.attention import AttentionTrace
    from attnviz.core.rotary import Rotary
    from attnviz.experiment import Experiment
    from attnviz.long import Long

PAD = "[pad]"  # stands after the last token of a shorter sequence, so that all are equally long


class Run(NamedTuple):
    """All that one run computed, of b sequences of s tokens; h_kv is n_kv_heads."""

    tokens: tuple[tuple[str, ...], ...]  # b tuples of s tokens, PAD at the end of shorter sequences
    x: Tensor  # (b, s, m), embedding and added positions, edits applied; 0 where padded
    w_q: Tensor  # (m, h*k)
    w_k: Tensor  # (m, h_kv*k)
    w_v: Tensor  # (m, h_kv*d)
    # What attention took: bool (b, 1, s, u), True = may attend; with ALiBi floating (b, h, s, u), to be added. None
    # when all may attend to all, and without a trace
    mask: Tensor | None
    trace: AttentionTrace | None  # query (b, h, s, k), key and value (b, h_kv, u, ...), weights (b, h, s, u)
    lengths: tuple[int, ...]  # tokens of each sequence before padding
    scale: float  # what the scores were multiplied by
    unused: tuple[tuple[str, tuple[int, ...]], ...]  # edited cells (field, index) outside the present shape
    seen: Tensor | None = None  # (b, 1, s, u), True = may attend: what of the mask hides; None when nothing does
    bias: Tensor | None = None  # (h, s, u), ALiBi: what of the mask is added to the scaled scores
    rotary: Rotary | None = None  # how queries and keys were rotated
    projected_query: Tensor | None = None  # (b, h, s, k), edits applied, before rotation; without one trace.query
    projected_key: Tensor | None = None  # (b, h_kv, u, k), edits applied, before rotation; without one trace.key
    long: Long | None = None  # one head of one sequence, in place of a trace that would be too large: see long.of

    @property
    def is_masked(self) -> bool:
        """Whether something is added to the scaled scores."""
        return self.mask is not None if self.long is None else self.has_mask or self.has_cost

    @property
    def has_mask(self) -> bool:
        """Whether a mask hides something."""
        return self.seen is not None if self.long is None else self.long.hides

    @property
    def has_cost(self) -> bool:
        """Whether ALiBi adds a cost of distance."""
        return self.bias is not None if self.long is None else self.long.slope is not None

    def hides(self, b: int, s: int, u: int) -> bool:
        """Whether the mask hides key token u of sequence b from query token s."""
        if self.long is not None:
            seen = self.long.seen(s, s + 1)
            return seen is not None and not bool(seen[0, u])
        return self.seen is not None and not bool(self.seen[b, 0, s, u])

    def cost(self, h: int, s: int, u: int) -> float:
        """What ALiBi adds for the distance from s to u; 0 without it."""
        if self.long is not None:
            bias = self.long.bias(s, s + 1)
            return 0.0 if bias is None else float(bias[0, u])
        return 0.0 if self.bias is None else float(self.bias[h, s, u])

    def sees_nothing(self, b: int, h: int, s: int) -> bool:
        """Whether query token s may attend nowhere."""
        if self.long is not None:
            return bool(self.long.rows(s, s + 1).masked.isneginf().all())
        return self.trace is not None and bool(self.trace.masked[b, h, s].isneginf().all())


def run(experiment: Experiment) -> Run:
    """Compute `experiment`, in float32; the trace is None when it would exceed limits.TRACE_BYTES.

    >>> from attnviz.experiment import Experiment
    >>> run(Experiment("the cat sat")).trace.weights.shape
    torch.Size([1, 1, 3, 3])
    """
    # Imported here, so that a link is read before torch is loaded.
    from attnviz.core.attention import attention, project
    from attnviz.core.heads import split_heads
    from attnviz.core.masks import combine
    from attnviz.core.positions import Rotary, alibi, rotate

    e, n_kv_heads = experiment, experiment.n_kv_heads or experiment.n_heads
    given = without_trace(e)
    n = given.x.shape[1]
    if e.trace_bytes(n) > TRACE_BYTES:
        return given
    x, w_q, w_k, w_v, lengths, unused = given.x, given.w_q, given.w_k, given.w_v, given.lengths, list(given.unused)

    q = _edited(e, "q", project(x, w_q), unused)  # (b, s, h*k)
    k = _edited(e, "k", project(x, w_k), unused)  # (b, u, h_kv*k)
    v = _edited(e, "v", project(x, w_v), unused)  # (b, u, h_kv*d)
    query = split_heads(q, e.n_heads)  # (b, h, s, k)
    key = split_heads(k, n_kv_heads)  # (b, h_kv, u, k)
    value = split_heads(v, n_kv_heads)  # (b, h_kv, u, d)
    rotary = None if e.rotation is None else Rotary(e.rotation)
    turned = (query, key) if rotary is None else (rotate(query, rotary), rotate(key, rotary))
    seen = _seen(e, lengths, n)  # (b, 1, s, u)
    bias = alibi(n, n, e.n_heads) if e.positions == "alibi" else None  # (h, s, u)
    mask = seen
    if bias is not None:
        mask = combine(seen, bias.expand(len(lengths), -1, -1, -1))  # (b, h, s, u)
    trace = attention(*turned, value, mask=mask, scale=given.scale)
    return given._replace(
        mask=mask,
        trace=trace,
        unused=tuple(unused),
        seen=seen,
        bias=bias,
        rotary=rotary,
        projected_query=query,
        projected_key=key,
    )


def without_trace(experiment: Experiment, vectors: Tensor | None = None) -> Run:
    """Compute what comes before attention: tokens, x and the weights.

    vectors is embedded(experiment), where it has been made before: that takes longest.

    >>> from attnviz.experiment import Experiment
    >>> without_trace(Experiment("the cat sat")).x.shape
    torch.Size([1, 3, 8])
    """
    from attnviz.core.embeddings import weight

    e, n_kv_heads = experiment, experiment.n_kv_heads or experiment.n_heads
    unused: list[tuple[str, tuple[int, ...]]] = []
    lengths = tuple(map(len, e.sequences))
    n = max(lengths, default=0)
    tokens = tuple(sequence + (PAD,) * (n - len(sequence)) for sequence in e.sequences)
    scale = {"sqrt": e.d_k**-0.5, "d_k": 1 / e.d_k, "none": 1.0}[e.scale] / e.temperature

    vectors = embedded(e) if vectors is None else vectors.clone() if "x" in e.edits else vectors
    x = _edited(e, "x", vectors, unused)  # (b, s, m)
    w_q = _edited(e, "w_q", weight("w_q", e.d_model, e.n_heads * e.d_k, e.seed), unused)  # (m, h*k)
    w_k = _edited(e, "w_k", weight("w_k", e.d_model, n_kv_heads * e.d_k, e.seed), unused)  # (m, h_kv*k)
    w_v = _edited(e, "w_v", weight("w_v", e.d_model, n_kv_heads * e.d_v, e.seed), unused)  # (m, h_kv*d)
    return Run(tokens, x, w_q, w_k, w_v, None, None, lengths, scale, tuple(unused))


def embedded(e: Experiment) -> Tensor:
    """Return the vectors of all tokens with their positions, no edits in them: (b, s, m), 0 where padded."""
    import torch

    from attnviz.core.embeddings import embed
    from attnviz.core.positions import learned, sinusoidal

    n = max(map(len, e.sequences), default=0)
    x = torch.zeros(len(e.sequences), n, e.d_model)  # (b, s, m)
    vectors = embed([token for sequence in e.sequences for token in sequence], e.d_model, e.seed)  # (tokens, m)
    places = None
    if e.positions == "sinusoidal":
        places = sinusoidal(n, e.d_model)  # (s, m)
    elif e.positions == "learned":
        places = learned(n, e.d_model, e.seed)  # (s, m)
    parts = vectors.split([len(sequence) for sequence in e.sequences])
    for row, part in zip(x, parts, strict=True):
        row[: len(part)] = part if places is None else part + places[: len(part)]
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


def _seen(e: Experiment, lengths: tuple[int, ...], n: int) -> Tensor | None:
    """Who may attend to whom: (b, 1, s, u), True = may attend; None when all may."""
    import torch

    from attnviz.core import masks

    chosen = None
    if e.mask == "causal":
        chosen = masks.causal(n, n)  # (s, u)
    elif e.mask == "window":
        chosen = masks.window(n, n, left=e.window_left, right=e.window_right)
    elif e.mask == "prefix":
        chosen = masks.prefix(n, e.prefix_length)
    elif e.mask == "drawn" and e.drawn:
        rows = read_drawing(e.drawn)
        chosen = torch.ones(n, n, dtype=torch.bool)
        chosen[: len(rows), : len(rows)] = torch.tensor(rows)[:n, :n]  # tokens beyond the drawing are left alone
    padded = masks.padding(lengths, n) if len(set(lengths)) > 1 else None  # (b, 1, u)
    mask = masks.combine(chosen, padded)
    return None if mask is None else mask.expand(len(lengths), n, n)[:, None]  # (b, 1, s, u)
