"""The mask that is taken as meant where neither the file nor the reader gives one: causal, where the numbers say so."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.core.diagnosis_claims import read_output
from attnviz.locale import _
from attnviz.models.files_axes import as_claimed
from attnviz.models.files_causal import Sign, sign_in_output, sign_in_weights
from attnviz.ui.tensors.given import Given


def sign(given: Given) -> Sign:
    """Return what in the chosen layer speaks for a causal mask; "" where a mask is given or nothing does."""
    brought = given.brought
    if brought.mask is not None or given.lab.given_mask != "file":
        return ""
    if brought.weights is not None:
        weights = brought.weights[given.layer]  # (b, h, s, u)
        sizes = (len(given.queries), len(given.keys))
        return sign_in_weights(weights if tuple(weights.shape[-2:]) == sizes else weights.mT)
    if brought.query is None or brought.value is None or brought.output is None:
        return ""
    read = given.read()
    return sign_in_output(
        read.query,
        read.key,
        read.value,
        _output(given, brought.output, read.value.shape[-1]).to(read.value.dtype),
        scale=read.scale,
        softcap=read.softcap,
        eps=max(torch.finfo(x.dtype).eps for x in (brought.query, brought.value, brought.output)),
    )


def _output(given: Given, output: Tensor, width: int) -> Tensor:
    """The output of all heads of the chosen layer and sequence: (h, s, d)."""
    _l, n_samples, n_heads, n_query = given.brought.main.shape[:4]
    return read_output(as_claimed(output[given.layer], n_heads), (n_samples, n_heads, n_query, width))[given.sample]


def words(found: Sign) -> str:
    """Say in one sentence that a causal mask is taken as meant, and why; nothing where none is."""
    return {
        "": "",
        "zeros": _(
            "No mask came along; the weights are 0 above the diagonal, so a causal mask is taken as meant: change it "
            "under “How it was meant”."
        ),
        "numbers": _(
            "No mask came along; the weights that are not NaN are 0 above the diagonal, so a causal mask is taken as "
            "meant: change it under “How it was meant”."
        ),
        "beside": _(
            "No mask came along; above the diagonal, only the cells next to it are not 0, so a causal mask is taken "
            "as meant: change it under “How it was meant”."
        ),
        "output": _(
            "No mask came along; the first row of the output reads no later token, so a causal mask is taken as "
            "meant: change it under “How it was meant”."
        ),
    }[found]
