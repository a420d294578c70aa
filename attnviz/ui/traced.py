"""A trained head as the board and the cells know an experiment: its own tokens, and the trace that it gave."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.experiment import Experiment, Run, View
from attnviz.figures.panels import within
from attnviz.limits import LIMITS
from attnviz.ui.compute import Computed


def one_head(
    view: View,
    tokens: Sequence[str],
    trace: AttentionTrace,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    added: Tensor | None = None,
    scale: float | None = None,
) -> Computed:
    """Return one head for page.board and cell.show, whose step is none before the scores.

    tokens are those of s and of u; the trace is (1, s, ...), its head axis kept. mask: bool (s, u), True = may attend.
    bias: (1, s, u), the cost of distance of ALiBi, which was added to the scaled scores. added: the two as attention()
    took them. scale: what the scores were multiplied by, 1/sqrt(k) when None.
    """
    n, root = len(tokens), trace.query.shape[-1] ** -0.5
    named, temperature = "sqrt", 1.0 if scale is None else root / scale
    if scale == 1 and root != 1:  # as T5 has it
        named, temperature = "none", 1.0
    if not LIMITS["temperature"].low <= temperature <= LIMITS["temperature"].high or abs(temperature - 1) < 1e-6:
        temperature = 1.0
    seen = "none" if mask is None else "causal"
    stands_for = Experiment("", scale=named, mask=seen, temperature=temperature)
    whole = AttentionTrace(*(tensor[None] for tensor in trace))  # (1, 1, s, ...)
    empty = torch.zeros(0, 0)
    run = Run(
        (tuple(tokens),),
        torch.zeros(1, n, 0),
        empty,
        empty,
        empty,
        None if added is None else added.expand(1, 1, n, n),
        whole,
        (n,),
        root if scale is None else scale,
        (),
        seen=None if mask is None else mask.expand(1, 1, n, n),
        bias=bias,
        projected_query=whole.query,
        projected_key=whole.key,
    )
    return Computed(stands_for, run, within(view, run), None, 0)
