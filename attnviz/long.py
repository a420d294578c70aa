"""A long text, of which no whole trace is held: one head of one sequence, and rows of its scores as they are asked for.

What is linear in the tokens, X and the projections, is there whole. Of what is quadratic, the scores and all that
follows from them, a few rows are computed at a time, over all keys: the same numbers as those of run().
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attnviz.drawing import read_drawing
from attnviz.limits import LONG_BYTES, LONG_TOKENS, TOKENS, TRACE_BYTES
from attnviz.run import Run

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.core.arithmetic import Arithmetic
    from attnviz.core.attention import AttentionTrace
    from attnviz.core.pooling import RowsMask
    from attnviz.core.rotary import Rotary
    from attnviz.experiment import Experiment


class Long(NamedTuple):
    """One head h of one sequence b, of s tokens, padding among them."""

    experiment: Experiment
    b: int
    h: int
    length: int  # tokens before padding
    x: Tensor  # (s, m)
    w_q: Tensor  # (m, k), this head's columns, as of w_k and w_v
    w_k: Tensor  # (m, k)
    w_v: Tensor  # (m, d)
    projected_query: Tensor  # (s, k), edits applied, before rotation
    projected_key: Tensor  # (u, k)
    query: Tensor  # (s, k), rotated where there is a rotary
    key: Tensor  # (u, k)
    value: Tensor  # (u, d)
    scale: float  # what the scores are multiplied by
    rotary: Rotary | None
    slope: float | None  # what ALiBi takes off a score for each token of distance
    drawn: Tensor | None  # (rows, columns), True = may attend: the drawn mask, which leaves later tokens alone
    name: Any  # equal for equal weights: what a pooled map of them is kept by

    @property
    def hides(self) -> bool:
        """Whether a mask hides something."""
        kind = self.experiment.mask
        return kind in ("causal", "window", "prefix") or self.drawn is not None or self._is_padded

    @property
    def _is_padded(self) -> bool:
        return len(set(map(len, self.experiment.sequences))) > 1

    def seen(self, first: int, end: int) -> Tensor | None:
        """Return which keys query tokens first to end - 1 may see: bool (rows, u); None when all see all."""
        import torch

        from attnviz.core import masks

        e, rows, n = self.experiment, end - first, len(self.key)
        chosen = None
        if e.mask == "causal":
            chosen = masks.causal(rows, n, offset=first)  # (rows, u)
        elif e.mask == "window":
            chosen = masks.window(rows, n, left=e.window_left, right=e.window_right, offset=first)
        elif e.mask == "prefix":
            chosen = masks.causal(rows, n, offset=first) | (torch.arange(n) < e.prefix_length)
        elif self.drawn is not None:
            chosen = torch.ones(rows, n, dtype=torch.bool)
            own = self.drawn[first:end, :n]
            chosen[: len(own), : own.shape[1]] = own
        if not self._is_padded:
            return chosen
        inside = (torch.arange(n) < self.length).expand(rows, n)
        return inside if chosen is None else chosen & inside

    def bias(self, first: int, end: int) -> Tensor | None:
        """Return what ALiBi adds to the scaled scores of query tokens first to end - 1: (rows, u); None without it."""
        import torch

        if self.slope is None:
            return None
        s = torch.arange(first, end, dtype=torch.float32)[:, None]  # (rows, 1), whole numbers that float32 holds
        distance = (s - torch.arange(len(self.key), dtype=torch.float32)).abs_()  # (rows, u)
        return distance.mul_(-self.slope)

    def mask(self, first: int, end: int) -> Tensor | None:
        """Return what attention takes as the mask of query tokens first to end - 1: (rows, u); None without one."""
        from attnviz.core.masks import combine

        return combine(self.seen(first, end), self.bias(first, end))

    @property
    def pooled_mask(self) -> RowsMask | Literal["causal"] | None:
        """The mask as core.pooling takes it."""
        if self.slope is None and not self._is_padded and self.experiment.mask == "causal":
            return "causal"
        return self.mask if self.slope is not None or self.hides else None  # type: ignore[return-value]  # never None then

    def matrix(self, name: str) -> Tensor:
        """Return a whole matrix that is held, by the name of its panel: (rows, columns)."""
        held = {name: getattr(self, name) for name in ("x", "w_q", "w_k", "w_v", "query", "key", "value")}
        if name not in held and name != "key_t":
            raise ValueError(f"name must be one of {', '.join(held)}, key_t of a long text, not {name!r}")
        return self.key.mT if name == "key_t" else held[name]

    def rows(self, first: int, end: int) -> AttentionTrace:
        """Return the trace of query tokens first to end - 1 over all keys: query (rows, k), weights (rows, u)."""
        from attnviz.core.attention import attention

        return attention(self.query[first:end], self.key, self.value, mask=self.mask(first, end), scale=self.scale)

    def explain(self, step: str, row: int, column: int) -> Arithmetic:
        """Return the arithmetic of one cell of a step; of the scores and what follows, its row alone is computed."""
        import torch

        from attnviz.core import arithmetic
        from attnviz.core.attention import AttentionTrace

        if step in ("query", "key", "value"):
            none = torch.empty(0)
            whole = AttentionTrace(self.query, self.key, self.value, none, none, none, none, none)
            weight = {"query": self.w_q, "key": self.w_k, "value": self.w_v}[step]
            before = {"query": self.projected_query, "key": self.projected_key}.get(step)
            return arithmetic.explain(
                whole, step, (row, column), x=self.x, weight=weight, projected=before, rotary=self.rotary
            )
        trace, mask = self.rows(row, row + 1), self.mask(row, row + 1)
        return arithmetic.explain(trace, step, (0, column), mask=mask, scale=self.scale)


def is_long(experiment: Experiment) -> bool:
    """Say whether no whole trace of `experiment` is held: of a text that is long, or of many heads and sequences."""
    n = max(map(len, experiment.sequences), default=0)
    return n > TOKENS or experiment.trace_bytes(n) > TRACE_BYTES


def fitting(experiment: Experiment) -> tuple[Experiment, int]:
    """Return a copy that keeps the first tokens of each sequence, as many as fit, and how many were cut.

    At most LONG_TOKENS fit, fewer when long_bytes would exceed LONG_BYTES. Itself and 0 when nothing is cut.
    """
    most = bisect_right(range(LONG_TOKENS + 1), LONG_BYTES, key=lambda n: long_bytes(experiment, n)) - 1
    n_cut = sum(max(0, len(sequence) - most) for sequence in experiment.sequences)
    return (replace(experiment, max_tokens=most), n_cut) if n_cut else (experiment, 0)


def long_bytes(experiment: Experiment, n: int) -> int:
    """Return the bytes of X of all sequences and of the projections of one head, were each sequence n tokens long."""
    e = experiment
    per_token = len(e.sequences) * e.d_model + (4 if e.rotation else 2) * e.d_k + e.d_v
    return 4 * n * per_token


def of(given: Run, experiment: Experiment, b: int, h: int) -> Run:
    """Return the run of head h of sequence b, as far as it is held of a long text; `given` is run.without_trace's.

    >>> from attnviz.experiment import Experiment
    >>> from attnviz.run import without_trace
    >>> experiment = Experiment("the cat sat", mask="causal")
    >>> of(without_trace(experiment), experiment, 0, 0).long.rows(1, 3).weights.shape
    torch.Size([2, 3])
    """
    import torch

    from attnviz.core.attention import project
    from attnviz.core.positions import Rotary, alibi_slopes, rotate

    e = experiment
    x, kv = given.x[b], h // (e.n_heads // (e.n_kv_heads or e.n_heads))
    w_q = given.w_q[:, h * e.d_k : (h + 1) * e.d_k]  # (m, k)
    w_k = given.w_k[:, kv * e.d_k : (kv + 1) * e.d_k]  # (m, k)
    w_v = given.w_v[:, kv * e.d_v : (kv + 1) * e.d_v]  # (m, d)
    query = _edited(e, "q", project(x, w_q), b, h)  # (s, k)
    key = _edited(e, "k", project(x, w_k), b, kv)  # (u, k)
    value = _edited(e, "v", project(x, w_v), b, kv)  # (u, d)
    rotary = None if e.rotation is None else Rotary(e.rotation)
    turned = (query, key) if rotary is None else (rotate(query, rotary), rotate(key, rotary))
    slope = float(alibi_slopes(e.n_heads)[h]) if e.positions == "alibi" else None
    drawn = torch.tensor(read_drawing(e.drawn)) if e.mask == "drawn" and e.drawn else None
    # Neither values nor their sizes change a weight.
    name = (replace(e, v=None, w_v=None, d_v=1), b, h)
    head = Long(
        *(e, b, h, given.lengths[b], x, w_q, w_k, w_v, query, key, *turned, value, given.scale),
        *(rotary, slope, drawn, name),
    )
    unused = [(field, i) for field in ("q", "k", "v") for i, _ in e.edits.get(field, ()) if not e.has_cell(field, i)]
    return given._replace(unused=(*given.unused, *unused), rotary=rotary, long=head)


def _edited(e: Experiment, field: str, matrix: Tensor, b: int, head: int) -> Tensor:
    """`matrix`, of one head of sequence b, with the cells of the edit field that lie in it."""
    for s, feature, value in typed(e, field, b, head, matrix.shape[1]):
        matrix[s, feature] = value
    return matrix


def typed(e: Experiment, field: str, b: int, head: int, size: int) -> Iterator[tuple[int, int, float]]:
    """Yield the cells of an edit field, "q", "k" or "v", in a head of `size` features of sequence b: s, feature, value.

    >>> from attnviz.experiment import Experiment
    >>> list(typed(Experiment("the cat", n_heads=2, q=(((0, 1, 5), 3.0),)), "q", 0, 1, 4))
    [(1, 1, 3.0)]
    """
    for (sequence, s, column), value in e.edits.get(field, ()):
        feature = column - head * size
        if sequence == b and 0 <= feature < size and e.has_cell(field, (sequence, s, column)):
            yield s, feature, value
