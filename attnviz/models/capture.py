"""Queries, keys and values caught where transformers hands them to attention, for the one call that asked.

transformers lets a model's attention be a function of one's own. Ours calls the model's own eager function, so that
the model does what it always does; and where a recorder is set in this thread it notes what came and what was
returned. What comes is exact: after normalisation and rotation, before shared heads are repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attnviz.models.knockouts import Knockout, hide_edges, silence
from attnviz.models.projections import carried, output_weight
from attnviz.models.reading import LayerRead, compared
from attnviz.models.refusals import Refused

NAME = "attnviz"
_CROSS = ("cross", "encdec", "enc_dec", "encoder_attn")  # in the names of modules that read an encoder


@dataclass(frozen=True)
class Site:
    """An attention module of a model."""

    kind: str  # "encoder", "decoder", "cross"; "" where the mask tells
    w_o: Tensor | None  # (h*d, m)


@dataclass
class Recorder:
    """What one call of a model is asked to note."""

    model: str  # its code
    sites: Mapping[int, Site]  # by id of the module
    knockouts: Sequence[Knockout] = ()
    reads: dict[str, list[LayerRead]] = field(default_factory=dict)  # by kind, in the order in which they ran


def sites(model: Any) -> dict[int, Site]:
    """Each module of a transformers model that may be an attention, by its id: of which kind it is, and its W_O."""
    modules = dict(model.named_modules())
    both = bool(model.config.is_encoder_decoder)
    encoder = set(map(id, model.get_encoder().modules())) if both else set()
    found = {}
    for name, module in modules.items():
        kind = ""
        if both:
            crosses = any(sign in name.lower() for sign in _CROSS) or getattr(module, "is_cross_attention", False)
            kind = "encoder" if id(module) in encoder else "cross" if crosses else "decoder"
        found[id(module)] = Site(kind, output_weight(modules, name))
    return found


_RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Have attention in this thread note what it does, for the time of a with block."""
    token = _RECORDER.set(recorder)
    try:
        yield
    finally:
        _RECORDER.reset(token)


def register() -> None:
    """Make ours known to transformers, under NAME; to do so again changes nothing."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)


def attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, *args: Any, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """Run the model's own attention, and note it where a recorder is set.

    query (1, h, s, k), key (1, h_kv, u, k), value (1, h_kv, u, d) -> output (1, s, h, d), weights (1, h, s, u).
    """
    recorder = _RECORDER.get()
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise Refused("interface", model=type(module).__name__ if recorder is None else recorder.model)
    returned: tuple[Tensor, Tensor | None] = eager(module, query, key, value, attention_mask, *args, **kwargs)
    if recorder is None:
        return returned
    if kwargs.get("s_aux") is not None:
        raise Refused("sinks", model=recorder.model)
    return _noted(recorder, module, (query, key, value), attention_mask, kwargs, returned)


def _noted(
    recorder: Recorder,
    module: Any,
    given: tuple[Tensor, Tensor, Tensor],
    attention_mask: Tensor | None,
    kwargs: Mapping[str, Any],
    returned: tuple[Tensor, Tensor | None],
) -> tuple[Tensor, Tensor | None]:
    query, key, value = (x[0] for x in given)  # (h, s, k), (h_kv, u, k), (h_kv, u, d)
    n_heads, n_query, n_key = query.shape[0], query.shape[1], key.shape[1]
    mask, bias = _taken_apart(attention_mask, n_key)
    bias = _with(bias, kwargs.get("position_bias"))
    site = recorder.sites.get(id(module), Site("", None))
    kind = site.kind or _kind(module, mask)
    layers = recorder.reads.setdefault(kind, [])
    chosen = [one for one in recorder.knockouts if (one.kind, one.layer) == (kind, len(layers))]
    w_o = site.w_o
    read = LayerRead(
        query,
        key,
        value,
        hide_edges(mask, chosen, n_heads, n_query, n_key),
        bias,
        kwargs.get("scaling"),
        kwargs.get("softcap"),
        None if w_o is None or w_o.shape[0] != n_heads * value.shape[-1] else carried(value, w_o, n_heads),
    )
    output, weights = returned
    if any(one.s is not None for one in chosen):
        trace = read.trace()
        heads, weights = trace.output, trace.weights[None]
    else:
        heads = output[0].transpose(0, 1)  # (h, s, d)
        if weights is not None:
            read = replace(read, returned=compared(read, weights[0], heads, "model"))
    layers.append(read)
    return silence(heads, chosen).transpose(0, 1)[None].contiguous() if chosen else output, weights


def _taken_apart(attention_mask: Tensor | None, n_key: int) -> tuple[Tensor | None, Tensor | None]:
    """A mask that is added, as what it hides, bool (s, u) or (h, s, u), and what else it adds, (h, s, u)."""
    if attention_mask is None:
        return None, None
    added = attention_mask[0, ..., :n_key]  # (1 or h, s, u)
    if added.dtype == torch.bool:
        seen, rest = added, None
    else:
        seen = added > torch.finfo(added.dtype).min / 2
        rest = added.where(seen, 0)
        rest = rest if rest.any() else None
    if seen.all():
        return None, rest
    return seen[0] if seen.shape[0] == 1 else seen, rest


def _with(bias: Tensor | None, position_bias: Tensor | None) -> Tensor | None:
    """Both biases together, (h, s, u); None where all is 0."""
    if position_bias is None or not position_bias.any():
        return bias
    return position_bias[0] if bias is None else bias + position_bias[0]


def _kind(module: Any, mask: Tensor | None) -> str:
    return "decoder" if getattr(module, "is_causal", False) or (mask is not None and _hides_later(mask)) else "encoder"


def _hides_later(mask: Tensor) -> bool:
    return not bool(mask.triu(1).any())
