"""Multi-head: the layer that the page shows, the reader's own or a wider one, and how a program makes it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import AttentionTrace
from attnviz.core.positions import alibi
from attnviz.experiment import Experiment, Run
from attnviz.labs.decoding import Layer, run_layer
from attnviz.limits import LIMITS
from attnviz.ui import labs, state
from attnviz.ui.compute import Computed, kept

MANY = int(LIMITS["n_heads"].high)  # heads of the page where the reader has one

MAPS = ("scores", "scaled", "masked", "weights")  # of a trace, those whose columns are keys


class Heads(NamedTuple):
    """The layer of the page, for the tokens of the chosen sequence: the reader's own, or a wider one."""

    experiment: Experiment  # what its sizes are
    run: Run
    b: int  # the chosen sequence in that run
    n: int  # its tokens, without padding
    h: int  # the chosen head


def of(computed: Computed, *, own_keys: bool = False) -> Heads:
    """Return the reader's layer; where it has one head, the same with MANY.

    own_keys: where its query heads share key-value heads, the same with one for each. Heads that are added have their
    numbers from the same seed, and the reader's own stand before them.
    """
    e, b = computed.experiment, computed.view.b
    n = computed.run.lengths[b]
    if e.n_heads > 1 and not (own_keys and grouped(e)):
        return Heads(e, computed.run, b, n, computed.view.h)
    wide = replace(_of_sequence(e, b), n_heads=e.n_heads if e.n_heads > 1 else MANY, n_kv_heads=None)
    return Heads(wide, kept("heads", wide), 0, n, min(state.view().h, wide.n_heads - 1))


def grouped(e: Experiment) -> bool:
    """Say whether query heads share key-value heads."""
    return e.n_kv_heads not in (None, e.n_heads)


def _of_sequence(e: Experiment, b: int) -> Experiment:
    """The experiment of sequence b alone, with what was edited in it: a batch of many heads may be more than fits."""
    lines = [line for line in e.text.splitlines() if line.strip()]
    edits: dict[str, Any] = {
        name: tuple(((0, *index[1:]), value) for index, value in cells if index[0] == b) or None
        for name, cells in e.edits.items()
        if name in ("x", "q", "k", "v")
    }
    return replace(e, text=lines[b], **edits)


def trace(computed: Computed, heads: Heads) -> AttentionTrace:
    """Return the attention of the chosen sequence, heads at axis 0; of a wider layer a program makes it anew."""
    run, b, n = heads.run, heads.b, heads.n
    assert run.trace is not None
    rows = {name: getattr(run.trace, name)[b, :, :n] for name in AttentionTrace._fields}
    made = AttentionTrace(**{name: step[..., :n] if name in MAPS else step for name, step in rows.items()})
    if run is computed.run:
        return made
    e = heads.experiment
    layer = Layer(run.w_q, run.w_k, run.w_v, e.n_heads, e.n_heads, run.scale, typed(e, b), run.rotary)
    return labs.made("layer", made, run_layer, layer, run.x[b, :n], mask(computed, heads))


def typed(e: Experiment, b: int) -> dict[str, Tensor]:
    """Return the queries, keys and values of sequence b that were typed: (s, h*k), NaN where they were not."""
    found = {}
    for name in e.edits.keys() & {"q", "k", "v"}:
        found[name] = torch.full(e.shapes[name][1:], torch.nan)
        for index, value in e.edits[name]:
            if index[0] == b and e.has_cell(name, index):
                found[name][index[1], index[2]] = value
    return found


def mask(computed: Computed, heads: Heads) -> Tensor | None:
    """Return what the chosen sequence may see, (s, u), or with ALiBi what is added, (h, s, u); None without either."""
    run, b, n, n_heads = heads.run, heads.b, heads.n, heads.experiment.n_heads
    seen = None if run.seen is None else run.seen[b, 0, :n, :n]
    if seen is not None and run is not computed.run:
        _record(heads.experiment, seen)
    if run.bias is None or run.mask is None:
        return seen
    bias = labs.made("bias", run.bias[:, :n, :n], alibi, n, n, n_heads)
    if seen is None:
        return bias
    return labs.made("bias_where_seen", run.mask[b, :, :n, :n], torch.where, seen, bias, -math.inf)


def _record(e: Experiment, seen: Tensor) -> None:
    """Say how the mask (s, u) of a wider layer is made; one that is drawn is given."""
    n = len(seen)
    if e.mask == "causal":
        labs.made("seen", seen, masks.causal, n, n)
    elif e.mask == "window":
        labs.made("seen", seen, masks.window, n, n, left=e.window_left, right=e.window_right)
    elif e.mask == "prefix":
        labs.made("seen", seen, masks.prefix, n, e.prefix_length)
