"""Decoding one token at a time with a KV cache: what a step computes anew, what it reads, and what that saves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import AttentionTrace, attention, project
from attnviz.core.heads import split_heads
from attnviz.core.positions import Rotary, rotate


class Layer(NamedTuple):
    """One attention layer: its projections, its heads, and what multiplies its scores."""

    w_q: Tensor  # (m, h*k)
    w_k: Tensor  # (m, h_kv*k)
    w_v: Tensor  # (m, h_kv*d)
    n_heads: int
    n_kv_heads: int
    scale: float
    typed: Mapping[str, Tensor] = {}  # "q", "k", "v" -> (s, h*k): numbers put in by hand, else NaN
    rotary: Rotary | None = None  # how queries and keys are rotated
    slopes: Tensor | None = None  # (h,) of ALiBi: what a token of distance costs


class Decoded(NamedTuple):
    """Tokens decoded one step at a time."""

    output: Tensor  # (h, s, d) of the tokens after the prompt, one row a step
    last: AttentionTrace  # of the last step: one query row; its key (h_kv, u, k) and value (h_kv, u, d) are the cache


def one_head(layer: Layer, h: int) -> Layer:
    """The layer of query head h alone, with the key-value head that it reads.

    >>> layer = Layer(torch.eye(8), torch.eye(8)[:, :4], torch.eye(8)[:, :6], 4, 2, 1.0)
    >>> one_head(layer, 3).w_k.shape, one_head(layer, 3).w_v.shape
    (torch.Size([8, 2]), torch.Size([8, 3]))
    """
    kv = h * layer.n_kv_heads // layer.n_heads
    heads = {"q": (h, layer.n_heads), "k": (kv, layer.n_kv_heads), "v": (kv, layer.n_kv_heads)}
    w_q, w_k, w_v = (
        weight.unflatten(-1, (n, -1))[:, at]  # (m, h, k) -> (m, k)
        for weight, (at, n) in zip(layer[:3], heads.values(), strict=True)
    )
    typed = {name: cells.unflatten(-1, (heads[name][1], -1))[:, heads[name][0]] for name, cells in layer.typed.items()}
    slopes = None if layer.slopes is None else layer.slopes[h : h + 1]
    return Layer(w_q, w_k, w_v, 1, 1, layer.scale, typed, layer.rotary, slopes)


def projections(layer: Layer, x: Tensor, start: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Query (h, s, k), key (h_kv, s, k) and value (h_kv, s, d) of the tokens x (s, m), the first of which is `start`.

    >>> layer = Layer(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 5), 1, 1, 1.0)
    >>> projections(layer, torch.ones(1, 3))[2].shape
    torch.Size([1, 1, 5])
    """
    rows = []
    for name, weight in (("q", layer.w_q), ("k", layer.w_k), ("v", layer.w_v)):
        row = project(x, weight)  # (s, h*k)
        if name in layer.typed:
            typed = layer.typed[name][start : start + len(x)]
            row = torch.where(typed.isnan(), row, typed)
        rows.append(split_heads(row, layer.n_heads if name == "q" else layer.n_kv_heads))
    query, key, value = rows
    if layer.rotary is None:
        return query, key, value
    rotary = layer.rotary._replace(offset=start)  # so that a key is rotated once, when its token is new
    return rotate(query, rotary), rotate(key, rotary), value


def run_layer(layer: Layer, x: Tensor, mask: Tensor | None) -> AttentionTrace:
    """Run a layer over the tokens x (s, m), each of its heads: mask as attention's, ALiBi in it.

    >>> layer = Layer(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 5), 1, 1, 1.0)
    >>> run_layer(layer, torch.ones(2, 3), None).weights.tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    return attention(*projections(layer, x), mask=mask, scale=layer.scale)


def step(layer: Layer, new: Tensor, past: AttentionTrace | None = None) -> AttentionTrace:
    """Decode one token x (1, m): project it alone, append its key and value to the cache, let its query read it.

    `past` is the step before, whose key and value are the cache; the result's are the cache that is one row longer.

    >>> layer = Layer(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 5), 1, 1, 1.0)
    >>> first = step(layer, torch.ones(1, 3))
    >>> step(layer, torch.ones(1, 3), first).weights.tolist()
    [[[0.5, 0.5]]]
    """
    t = 0 if past is None else past.key.shape[-2]
    query, key, value = projections(layer, new, t)  # (h, 1, k), (h_kv, 1, k), (h_kv, 1, d)
    if past is not None:
        key = torch.cat([past.key, key], dim=-2)  # (h_kv, t + 1, k)
        value = torch.cat([past.value, value], dim=-2)  # (h_kv, t + 1, d)
    return attention(query, key, value, mask=_mask(layer, 1, t + 1), scale=layer.scale)


def _mask(layer: Layer, n_query: int, n_key: int, *, causal: bool = True) -> Tensor | None:
    """What the last n_query of n_key tokens may see, with the cost of distance, if there is one, in it."""
    offset = n_key - n_query
    seen = masks.causal(n_query, n_key, offset=offset) if causal else None  # (s, u)
    if layer.slopes is None:
        return seen
    distance = (torch.arange(n_query)[:, None] + offset - torch.arange(n_key)).abs()  # (s, u)
    return masks.combine(seen, layer.slopes[:, None, None] * -distance)  # (h, s, u)


def decode(layer: Layer, x: Tensor, prompt: int = 0) -> Decoded:
    """Decode the tokens x (s, m) after the first `prompt`, each in a step; there is at least one.

    The keys and values of the prompt are filled into the cache at once, as a language model reads its prompt.

    >>> layer = Layer(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 5), 1, 1, 1.0)
    >>> decode(layer, torch.ones(2, 3)).last.weights.tolist()
    [[[0.5, 0.5]]]
    """
    last = at_once(layer, x[:prompt]) if prompt else None
    outputs: list[Tensor] = []
    for t in range(prompt, len(x)):
        last = step(layer, x[t : t + 1], last)
        outputs.append(last.output)  # (h, 1, d)
    assert last is not None
    return Decoded(torch.cat(outputs, dim=-2), last)


def at_once(layer: Layer, x: Tensor, *, causal: bool = True) -> AttentionTrace:
    """One run over all the tokens x (s, m), as in training: with the causal mask, or with none.

    >>> layer = Layer(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 5), 1, 1, 1.0)
    >>> at_once(layer, torch.ones(2, 3)).weights.tolist()
    [[[1.0, 0.0], [0.5, 0.5]]]
    """
    return run_layer(layer, x, _mask(layer, len(x), len(x), causal=causal))


def change(layer: Layer, x: Tensor, *, causal: bool) -> float:
    """By how much the last of the tokens x (s, m) changes the output rows before it: the largest change of a number.

    0 where there is one token only.

    >>> layer = Layer(torch.eye(1), torch.eye(1), torch.eye(1), 1, 1, 1.0)
    >>> x = torch.tensor([[0.0], [3.0]])
    >>> change(layer, x, causal=True), change(layer, x, causal=False)
    (0.0, 1.5)
    """
    if len(x) < 2:
        return 0.0
    before = at_once(layer, x[:-1], causal=causal).output  # (h, s - 1, d)
    after = at_once(layer, x, causal=causal).output[:, :-1]  # (h, s - 1, d)
    return float((after - before).abs().max())
