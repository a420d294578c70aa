"""What can be wrong with an attention: every cause by its code, and what it changes where inputs allow it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from attnviz.core.diagnosis_recipes import Given
from attnviz.core.rotary import Rotary

# A cause, and the first step of the trace that it makes differ. Also the order in which causes act.
STEPS: dict[str, str] = {
    "heads_viewed": "query",  # split by view where the axis had to be moved
    "heads_strided": "query",  # head h takes every h-th feature
    "qk_swapped": "query",
    "kv_swapped": "key",
    "rotary_missing": "query",
    "rotary_layout": "query",  # turned in the other layout
    "rotary_extra": "query",  # turned where it was not asked for, or once more
    "rotary_on_value": "value",
    "kv_heads_tiled": "scores",  # repeat in place of repeat_interleave
    "scale_missing": "scaled",
    "scale_d_k": "scaled",
    "scale_sqrt_d_model": "scaled",
    "scale_twice": "scaled",
    "scale_inverted": "scaled",  # multiplied by sqrt(d_k)
    "scale_other": "scaled",  # its value is found
    "softcap_missing": "scaled",
    "softcap_extra": "scaled",
    "mask_missing": "masked",
    "mask_extra": "masked",  # a causal one that was not asked for
    "mask_inverted": "masked",
    "mask_transposed": "masked",
    "mask_added_as_one": "masked",  # 1 and 0 added; value 1: where it may attend, -1: where it may not
    "mask_multiplied": "masked",  # scores times 1 and 0
    "causal_off_by_one": "masked",  # value: keys too many (1) or too few (-1)
    "causal_corner": "masked",
    "padding_on_queries": "masked",
    "mask_finite": "masked",  # value: what it adds, or None where the rows it hides became even
    "rows_nan": "weights",  # wholly masked rows
    "softmax_half": "weights",  # in float16 or bfloat16
    "softmax_over_queries": "weights",
    "softmax_over_heads": "weights",
    "softmax_over_batch": "weights",
    "softmax_twice": "weights",
    "mask_after_softmax": "weights",
    "dropout_on": "weights",  # value: its probability
    "weights_renormalised": "weights",  # each row is the right one times a number of its own
    "weights_transposed": "weights",
    "heads_averaged": "weights",
    "heads_merged_by_view": "output",
}
CODES = tuple(STEPS)
FITTED = ("scale_other", "dropout_on", "weights_renormalised")
SOFTCAPS = (50.0, 30.0, 20.0)  # that models use: Gemma 2's 50 on scores; 30 and 20 occur too
ROTARY = Rotary()  # base 10000


class Change(NamedTuple):
    """One cause as a change of the recipe; some causes come in several."""

    code: str
    slot: str  # the recipe's field that it sets
    choice: Any
    value: float | None = None  # the number that belongs to it, as the share that is dropped


def changes(given: Given, *, d_model: int | None = None) -> list[Change]:
    """List every cause that these inputs can have, in the order of CODES.

    >>> x = torch.zeros(3, 4)
    >>> given = Given(x, x, x, None, None, 0.5, None, None, {}, x.dtype)
    >>> [change.code for change in changes(given)][:3]
    ['qk_swapped', 'kv_swapped', 'rotary_layout']
    """
    found = [*_inputs(given), *_turned(given), *_scales(given, d_model), *_masks(given), *_weights(given)]
    return sorted(found, key=lambda change: CODES.index(change.code))


def _inputs(given: Given) -> list[Change]:
    query, key, value = given.query, given.key, given.value
    heads = query.shape[-3] if query.ndim > 2 else 1
    found = []
    if heads > 1:
        found += [Change("heads_viewed", "inputs", "viewed"), Change("heads_strided", "inputs", "strided")]
        found.append(Change("heads_merged_by_view", "merge", "viewed"))
        if key.ndim > 2 and value.ndim > 2 and 1 < key.shape[-3] == value.shape[-3] < heads:
            found.append(Change("kv_heads_tiled", "inputs", "tiled"))
    if query.shape == key.shape:
        found.append(Change("qk_swapped", "inputs", "qk_swapped"))
    if key.shape == value.shape:
        found.append(Change("kv_swapped", "inputs", "kv_swapped"))
    return found


def _turned(given: Given) -> list[Change]:
    if given.query.shape[-1] % 2:
        return []
    rotary = given.rotary or ROTARY
    layouts = [rotary._replace(layout=layout) for layout in ("half", "interleaved")]
    even = given.value.shape[-1] % 2 == 0 and given.value.shape[-1] > 0
    found = [Change("rotary_on_value", "turned", ("value", layout)) for layout in layouts if even]
    if given.rotary is not None:
        other = next(layout for layout in layouts if layout != rotary)
        return [*found, Change("rotary_missing", "turned", "no"), Change("rotary_layout", "turned", other)]
    found += [Change("rotary_extra", "turned", layout) for layout in layouts]
    return found + [Change("rotary_layout", "turned", ("other", layout)) for layout in layouts]


def _scales(given: Given, d_model: int | None) -> list[Change]:
    d_k = given.query.shape[-1]
    if d_model is None:
        d_model = d_k * (given.query.shape[-3] if given.query.ndim > 2 else 1)
    scales = {"missing": 1.0, "d_k": 1 / d_k, "sqrt_d_model": d_model**-0.5, "twice": given.scale**2}
    scales["inverted"] = math.sqrt(d_k)
    found = [Change(f"scale_{name}", "scale", scale) for name, scale in scales.items() if scale != given.scale]
    found.append(Change("scale_other", "scale", "fitted"))
    if given.softcap is not None:
        return [*found, Change("softcap_missing", "softcap", None)]
    return found + [Change("softcap_extra", "softcap", cap, cap) for cap in SOFTCAPS]


def _masks(given: Given) -> list[Change]:
    named = {
        "inverted": ("mask_inverted", None),
        "transposed": ("mask_transposed", None),
        "later": ("causal_off_by_one", 1.0),
        "earlier": ("causal_off_by_one", -1.0),
        "corner": ("causal_corner" if given.visible is not None else "mask_extra", None),
        "causal": ("mask_extra", None),
        "queries": ("padding_on_queries", None),
    }
    found = [Change(named[name][0], "mask", name, named[name][1]) for name in given.masks]
    if given.visible is None:
        return [*found, Change("mask_missing", "mask", "none")] if given.bias is not None else found
    found += [Change("mask_missing", "mask", "none"), Change("mask_after_softmax", "mask", "after")]
    found += [Change("mask_added_as_one", "mask", "ones", 1.0), Change("mask_added_as_one", "mask", "minus_ones", -1.0)]
    found.append(Change("mask_multiplied", "mask", "times"))
    return found + fills(given.dtype) if "given" in given.empty else found


def fills(dtype: torch.dtype) -> list[Change]:
    """List what may stand in the rows that may attend nowhere, other than zeros; dtype: of the inputs.

    Half precision rounds -1e4 and a score to a multiple of 8, and more: such sums stand with a tilde.

    >>> [change.choice for change in fills(torch.float32)]
    ['nan', 'even', '-1e4', '-1e9']
    """
    lowest = ["-1e4", "-1e9", *(["~-1e4"] if dtype.itemsize < 4 else [])]
    finite = [Change("mask_finite", "fill", choice, float(choice.strip("~"))) for choice in lowest]
    return [Change("rows_nan", "fill", "nan"), Change("mask_finite", "fill", "even"), *finite]


def _weights(given: Given) -> list[Change]:
    n_axes = given.query.ndim
    found = [Change("softmax_over_queries", "axis", -2), Change("softmax_twice", "after", "twice")]
    if n_axes > 2:  # of three axes the first may be heads or sequences: both names are given
        found += [Change("softmax_over_heads", "axis", -3), Change("softmax_over_batch", "axis", -min(n_axes, 4))]
        if given.query.shape[-3] > 1:
            found.append(Change("heads_averaged", "after", "averaged"))
    if given.query.shape[-2] == given.key.shape[-2]:
        found.append(Change("weights_transposed", "after", "transposed"))
    if given.query.dtype == given.dtype:  # of half inputs, a softmax in half precision is as good as any
        found += [Change("softmax_half", "softmax_dtype", dtype) for dtype in (torch.float16, torch.bfloat16)]
    return [*found, Change("dropout_on", "after", "dropped"), Change("weights_renormalised", "after", "rescaled")]
