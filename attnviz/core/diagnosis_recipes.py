"""What was to be computed, and a recipe that says where somebody's attention may depart from it.

Letters: b batch, h head, s query token, u key token, k feature of a query or key, d feature of a value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.core.heads import merge_heads
from attnviz.core.rotary import Rotary, rotate


class Given(NamedTuple):
    """What was to be computed: the inputs, at least float32, and how."""

    query: Tensor  # (..., s, k)
    key: Tensor  # (..., u, k)
    value: Tensor  # (..., u, d)
    visible: Tensor | None  # bool (..., s, u), True = may attend
    bias: Tensor | None  # floating (..., s, u), added to the scaled scores
    scale: float
    softcap: float | None
    rotary: Rotary | None  # query and key are turned by it first
    masks: dict[str, Tensor]  # other masks that may have been set, by name
    dtype: torch.dtype  # of the inputs as they came
    empty: frozenset[str] = frozenset()  # the masks, "given" among them, that leave some query row nothing


class Sample(NamedTuple):
    """A part of the numbers, on which a recipe is tried."""

    rows: Tensor  # query tokens s
    head: int | None = None  # the one head that is looked at, where heads do not mix; None where there is no such axis


class Recipe(NamedTuple):
    """One way to compute attention; the defaults are the right one."""

    inputs: str = "given"  # or qk_swapped, kv_swapped, viewed, strided, tiled
    turned: Any = None  # a Rotary that takes the place of given.rotary, "no" for none, or ("other" | "value", layout)
    scale: float | str | None = None  # None: given.scale; "fitted": read off the claim
    softcap: float | None = 0.0  # 0: given.softcap, None: none
    mask: str = "given"  # or none, after, ones, minus_ones, times, or a name of given.masks
    fill: str = "zero"  # of a row that may attend nowhere: zero, nan, even; or what is added: -1e4, in half ~-1e4
    axis: int = -1  # over which the softmax runs
    softmax_dtype: torch.dtype | None = None
    after: str = ""  # what is done to the weights: transposed, averaged, twice; or, of a claim, dropped, rescaled
    merge: str = ""  # viewed: heads laid side by side without moving their axis


def head_of(recipe: Recipe, sample: Sample | None) -> slice:
    """The heads of a sample that a recipe needs: all of them where it mixes them.

    >>> head_of(Recipe(), Sample(torch.tensor([0]), 2)), head_of(Recipe(axis=-3), Sample(torch.tensor([0]), 2))
    (slice(2, 3, None), slice(None, None, None))
    """
    mixed = recipe.axis < -2 or recipe.after == "averaged" or recipe.merge != ""
    if sample is None or sample.head is None or mixed:
        return slice(None)
    return slice(sample.head, sample.head + 1)


def rearranged(given: Given, inputs: str) -> tuple[Tensor, Tensor, Tensor]:
    """Give the query, key and value that are read when they are swapped or their heads cut another way.

    viewed: (s, h*k) seen as (h, s, k) without moving the axis; strided: head h owns every h-th feature; tiled:
    shared key heads repeated as 0 1 0 1 and not 0 0 1 1.

    >>> x = torch.tensor([[[0.0, 1.0]], [[2.0, 3.0]]])
    >>> given = Given(x, x, x, None, None, 1.0, None, None, {}, x.dtype)
    >>> rearranged(given, "strided")[0].tolist()
    [[[0.0, 2.0]], [[1.0, 3.0]]]
    """
    query, key, value = given.query, given.key, given.value
    if inputs == "qk_swapped":
        return key, query, value
    if inputs == "kv_swapped":
        return query, value, key
    if inputs == "viewed":
        return _viewed(query), _viewed(key), _viewed(value)
    if inputs == "strided":
        return _strided(query), _strided(key), _strided(value)
    if inputs == "tiled":
        heads = torch.arange(query.shape[-3], device=key.device)
        return query, key[..., heads % key.shape[-3], :, :], value[..., heads % value.shape[-3], :, :]
    return query, key, value


def turn(given: Given, recipe: Recipe, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Turn query and key by their places, as given or as the recipe has it: the same shapes.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> given = Given(x, x, x, None, None, 1.0, None, None, {}, x.dtype)
    >>> turn(given, Recipe(), x, x, x)[0] is x, turn(given, Recipe(turned=Rotary()), x, x, x)[0] is x
    (True, False)
    """
    rotary, turned = given.rotary, recipe.turned
    if isinstance(turned, Rotary) or turned == "no":
        rotary = None if turned == "no" else turned
    elif turned is not None:
        what, layout = turned
        if what == "value":
            value = rotate(value, layout)
        else:  # they came turned in one layout, and are turned in the other
            other = layout._replace(layout="half" if layout.layout == "interleaved" else "interleaved")
            query, key = (rotate(_turned_back(x, layout), other) for x in (query, key))
    if rotary is not None:
        query, key = rotate(query, rotary), rotate(key, rotary)
    return query, key, value


def _turned_back(x: Tensor, rotary: Rotary) -> Tensor:
    """The inverse of rotate: with the second of each pair negated, turning forward is turning back."""
    sign = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    if rotary.layout == "half":
        sign[x.shape[-1] // 2 :] = -1
    else:
        sign[1::2] = -1
    return rotate(x * sign, rotary) * sign


def _viewed(x: Tensor) -> Tensor:
    return merge_heads(x).reshape(x.shape)


def _strided(x: Tensor) -> Tensor:
    n_heads, n_features = x.shape[-3], x.shape[-1]
    cut: Tensor = merge_heads(x).unflatten(-1, (n_features, n_heads))  # (..., s, k, h)
    return cut.movedim(-1, -3)  # (..., h, s, k)
