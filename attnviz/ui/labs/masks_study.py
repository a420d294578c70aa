"""What every experiment with masks begins with: one head of one sequence, and how its tokens and weights are said."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.masks import causal
from attnviz.core.positions import alibi_slopes
from attnviz.figures.maps import Axis
from attnviz.figures.text import MINUS, cut, markdown, number, visible
from attnviz.labs.positions import costs
from attnviz.ui import labs, painter
from attnviz.ui.compute import Computed


class Study(NamedTuple):
    """One head of one sequence: what the experiments of this section begin with."""

    scaled: Tensor  # (s, u), without rows of padding
    value: Tensor  # (u, d)
    mask: Tensor  # (s, u), True = may attend
    stands_in: bool  # the reader's mask hides nothing, and the causal one stands in
    rows: Axis
    keys: Axis

    def reader(self, s: int) -> str:
        """Return query token s as Markdown, in quotes."""
        return called(self.rows.words[s])

    def read(self, u: int) -> str:
        """Return key token u as Markdown, in quotes."""
        return called(self.keys.words[u])


def begin(computed: Computed) -> Study:
    """Return what the experiments begin with, of the chosen sequence and head."""
    run, view, trace = computed.run, computed.view, computed.run.trace
    assert trace is not None
    words, mask = run.tokens[view.b], painter.holds(computed)
    group = view.h * trace.value.shape[1] // trace.query.shape[1]
    hides_nothing = bool(mask.all())
    if hides_nothing:
        mask = labs.ran("causal_mask", causal, *mask.shape)
    scaled = trace.scaled[view.b, view.h]  # (s, u)
    if run.bias is not None:  # ALiBi comes before the mask
        slope = float(alibi_slopes(len(run.bias))[view.h])
        cost = labs.made("cost", run.bias[view.h], costs, len(scaled), slope)
        scaled = labs.ran("scaled_with_cost", torch.add, scaled, cost)
    return Study(
        scaled[: len(mask)],
        trace.value[view.b, group],
        mask,
        hides_nothing,
        Axis("s", words[: len(mask)]),
        Axis("u", words),
    )


def called(token: str) -> str:
    """Quote a token, in Markdown."""
    return f"“{markdown(cut(visible(token), 120))}”"


def bold(words: str) -> str:
    """Return the title of a map in Plotly's markup. Babel reads no message inside an f-string."""
    return "<b>" + words + "</b>"


def share(value: float) -> str:
    """Print a weight so that what is not 0 does not look like it.

    >>> share(0.25), share(0.00001234), share(0.0)
    ('0.2500', '1.2e−05', '0')
    """
    if value == 0:
        return "0"
    return number(value, 4) if not abs(value) < 0.0001 else f"{value:.1e}".replace("-", MINUS)
