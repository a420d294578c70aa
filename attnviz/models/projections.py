"""W_O, which brings the heads' output back to the model's width: where a model keeps it, what it lets through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnviz.core.heads import repeat_kv

_OWN = ("o_proj", "out_proj", "o", "dense", "c_proj", "out_lin", "wo")  # what an attention module calls it


def carried(value: Tensor, w_o: Tensor, n_heads: int) -> Tensor:
    """How long each value is once W_O has turned it: value (h_kv, u, d), w_o (h*d, m) -> ||v_u W_O||, (h, u).

    A head's weights times these are core.influence.contribution. Source: Kobayashi et al. 2020, the norm-based
    analysis.

    >>> carried(torch.tensor([[[3.0], [1.0]]]), torch.tensor([[1.0], [2.0]]), 2).tolist()
    [[3.0, 1.0], [6.0, 2.0]]
    """
    per_head = w_o.unflatten(0, (n_heads, -1))  # (h, d, m)
    length: Tensor = torch.linalg.vector_norm(repeat_kv(value, n_heads) @ per_head, dim=-1)  # (h, u)
    return length


def output_weight(modules: Mapping[str, Any], name: str) -> Tensor | None:
    """W_O (h*d, m) of the attention module `name` of a transformers model, by the names in use; None if not found.

    nn.Linear keeps the transpose, GPT-2's Conv1D the matrix itself. BERT and its like keep it beside the module.
    """
    above = name.rpartition(".")[0]
    places = [f"{name}.{own}" for own in _OWN] + [f"{above}.output.dense"]
    for place in places:
        weight = getattr(modules.get(place), "weight", None)
        if isinstance(weight, Tensor) and weight.ndim == 2:
            weight = weight.detach()
            return weight if type(modules[place]).__name__ == "Conv1D" else weight.T
    return None
