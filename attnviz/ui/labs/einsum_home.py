"""Einsum: what its program does when it is taken home, from the operands to the line of torch and the loop."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from attnviz.core.heads import repeat_kv, split_heads
from attnviz.labs.equations import Check, Problem, difference, drawn, loop_of
from attnviz.ui import labs
from attnviz.ui.compute import Computed


def record(computed: Computed, problem: Problem, own: Mapping[str, Tensor], found: Tensor) -> None:
    """Record what the operands are made of, where they are no pieces of the reader's tensors, and torch's line.

    own: as own_tensors() made them; found: the result.
    """
    run = computed.run
    assert run.trace is not None
    n_heads, n_kv_heads = run.trace.query.shape[1], run.trace.key.shape[1]
    shared = {"K": run.trace.key, "V": run.trace.value}
    shared |= {"W_K": split_heads(run.w_k, n_kv_heads), "W_V": split_heads(run.w_v, n_kv_heads)}
    for name, one in shared.items():
        if n_kv_heads < n_heads and name in problem.own:
            labs.made(f"{name}_repeated", own[name], repeat_kv, one, n_heads)
    for number, (name, x, of) in enumerate(zip(problem.names, problem.operands, problem.own, strict=True)):
        if not of:
            labs.made(name, x, drawn, number, list(x.shape), computed.experiment.seed)
    labs.made("result", found, torch.einsum, problem.equation.text, *problem.operands)


def record_loop(problem: Problem, found: Tensor, checked: Check) -> None:
    """Record the loop, where it ran, and how far what it made is from torch's."""
    if checked.looped is None:
        return
    loop, given = loop_of(problem)
    labs.made("looped", checked.looped, loop, *given)
    labs.made("apart", checked.difference, difference, checked.looped, found)
