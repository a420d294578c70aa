"""Attention computed as somebody may have computed it: attention() itself, but for what a recipe changes.

Letters: b batch, h head, s query token, u key token, k feature of a query or key, d feature of a value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis_recipes import Given, Recipe, Sample, head_of, rearranged, turn
from attnviz.core.heads import for_heads_of, split_heads


class Computed(NamedTuple):
    """What a recipe gives, and how large its scores were, on which its rounding depends."""

    weights: Tensor  # (..., s, u)
    output: Tensor  # (..., s, d)
    value: Tensor  # (..., u, d), one for each query head
    largest: float  # of |scaled|
    bound: float  # of what is added up for one of these: scale * |query| * |key|


def compute(given: Given, recipe: Recipe, sample: Sample | None = None) -> Computed:
    """Compute attention by a recipe, all of it or a sample: weights (..., s, u) and output (..., s, d).

    >>> q = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> given = Given(q, q, q, None, None, 1.0, None, None, {}, q.dtype)
    >>> compute(given, Recipe(scale=0.0)).weights.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    query, key, value = rearranged(given, recipe.inputs)
    visible, bias = _mask(given, recipe.mask)
    heads = head_of(recipe, sample)
    if heads != slice(None):
        key, value = (for_heads_of(query, x) for x in (key, value))
        query, key, value = (_of_heads(x, heads) for x in (query, key, value))
        visible, bias = (None if x is None else _of_heads(x, heads) for x in (visible, bias))
    query, key, value = turn(given, recipe, query, key, value)
    whole = recipe.axis == -2 or recipe.after == "transposed" or recipe.merge != ""  # rows depend on each other
    if sample is not None and not whole:
        query = query[..., sample.rows, :]
        visible, bias = (None if x is None else x[..., sample.rows, :] for x in (visible, bias))
    scale = recipe.scale if isinstance(recipe.scale, float) else given.scale
    softcap = given.softcap if recipe.softcap == 0 else recipe.softcap
    weights, largest = _weights(query, key, value, visible, bias, scale, softcap, given, recipe)
    value = for_heads_of(query, value)
    if sample is not None and whole and not recipe.merge:
        weights = weights[..., sample.rows, :]
    output = weights @ value  # (..., s, d)
    if recipe.merge:
        output = split_heads(output.flatten(-3).unflatten(-1, (output.shape[-2], -1)), output.shape[-3])
        if sample is not None:
            weights, output = weights[..., sample.rows, :], output[..., sample.rows, :]
    bound = abs(scale) * float(query.norm(dim=-1).amax() * key.norm(dim=-1).amax())
    return Computed(weights, output, value, largest, bound)


def _of_heads(x: Tensor, heads: slice) -> Tensor:
    return x if x.ndim < 3 or x.shape[-3] == 1 else x[..., heads, :, :]


def _mask(given: Given, mask: str) -> tuple[Tensor | None, Tensor | None]:
    """Who may attend, and what is added to the scaled scores."""
    if mask == "none":
        return None, None
    return given.masks.get(mask, given.visible), given.bias


def _weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    visible: Tensor | None,
    bias: Tensor | None,
    scale: float,
    softcap: float | None,
    given: Given,
    recipe: Recipe,
) -> tuple[Tensor, float]:
    """The weights (..., s, u) and the largest scaled score; attention's own wherever the recipe follows it."""
    none = value[..., :0]  # the output is made once, of the weights as they are in the end
    before = recipe.mask not in ("after", "ones", "minus_ones", "times")
    added = _added(visible if before else None, bias, recipe.fill, query.dtype)
    trace = attention(query, key, none, mask=added, scale=scale, softcap=softcap, softmax_dtype=recipe.softmax_dtype)
    masked, weights = trace.masked, trace.weights
    if not before and visible is not None and recipe.mask != "after":
        shown = visible.to(masked.dtype)
        masked = masked * shown if recipe.mask == "times" else masked + (shown if recipe.mask == "ones" else 1 - shown)
        weights = torch.softmax(masked, dim=-1)
    if recipe.fill[0] == "~":
        masked = masked.to(given.dtype).to(query.dtype)  # half precision rounds -1e4 and a score to a multiple of 8
        weights = torch.softmax(masked, dim=-1)
    if recipe.axis != -1:
        weights = torch.softmax(masked, dim=recipe.axis, dtype=recipe.softmax_dtype).to(masked.dtype)
        weights = weights if recipe.fill == "nan" else weights.nan_to_num(nan=0)
    elif recipe.fill == "nan" and visible is not None and before:
        weights = weights.masked_fill(~visible.any(dim=-1, keepdim=True), math.nan)
    if recipe.mask == "after" and visible is not None:
        weights = weights * visible
    if recipe.after == "transposed":
        weights = weights.mT
    elif recipe.after == "averaged":
        weights = weights.mean(dim=-3, keepdim=True).expand(weights.shape)
    elif recipe.after == "twice":
        weights = torch.softmax(weights, dim=-1)
    return weights, float(trace.scaled.abs().amax()) if trace.scaled.numel() else 0.0


def _added(visible: Tensor | None, bias: Tensor | None, fill: str, dtype: torch.dtype) -> Tensor | None:
    """The mask as attention takes it; one that does not hide by -inf adds what `fill` says."""
    if visible is None:
        return bias
    if fill in ("zero", "nan"):
        return visible if bias is None else torch.where(visible, bias.to(dtype), -math.inf)
    lowest = (
        -1e30 if fill == "even" else float(fill.strip("~"))
    )  # -1e30 and any score are -1e30: every key counts the same
    return torch.where(visible, 0 if bias is None else bias.to(dtype), torch.full((), lowest, dtype=dtype))
