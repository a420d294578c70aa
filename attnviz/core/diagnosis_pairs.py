"""Hypotheses: one cause, or one of the pairs of causes that occur together, as a recipe of attention."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from attnviz.core.diagnosis_causes import FITTED, Change, fills
from attnviz.core.diagnosis_recipes import Given, Recipe


class Hypothesis(NamedTuple):
    """One cause, or two that occur together, and the recipe they make."""

    changes: tuple[Change, ...]
    recipe: Recipe

    @property
    def fitted(self) -> bool:
        """Whether a number of it is read off the claim, so that it is asked only where nothing else explains it."""
        return any(change.code in FITTED for change in self.changes)


_SCALES = ("scale_missing", "scale_d_k", "scale_sqrt_d_model", "scale_twice")
_MASKS: tuple[str, ...] = ("mask_missing", "mask_inverted", "mask_after_softmax", "mask_added_as_one")
_MASKS += ("mask_multiplied", "causal_off_by_one", "causal_corner", "padding_on_queries", "mask_extra")
_INPUTS: tuple[str, ...] = ("heads_viewed", "heads_strided", "qk_swapped", "kv_swapped", "kv_heads_tiled")
_INPUTS += ("rotary_layout", "rotary_missing", "rotary_extra", "rotary_on_value")
_AXES = ("softmax_over_queries", "softmax_over_heads", "softmax_over_batch")
_AFTER = ("weights_transposed", "heads_averaged", "softmax_half", "dropout_on", "weights_renormalised")
IDENTITIES = (("softmax_over_queries", "weights_transposed"),)  # asked with the single causes: it is qk_swapped
PAIRS: frozenset[tuple[str, str]] = frozenset(
    [
        *product(_SCALES, (*_MASKS, *_AXES, *_AFTER, "rows_nan", "mask_finite", "softcap_missing")),
        *product(_INPUTS, (*_SCALES, "mask_missing", "mask_after_softmax", "causal_off_by_one", "dropout_on")),
        *product(("softcap_missing",), ("mask_missing", "mask_inverted", "causal_off_by_one")),
        *product(_MASKS, ("rows_nan", "mask_finite", *_AXES, *_AFTER)),
        *product(_AXES, ("weights_renormalised", "dropout_on")),
        *product(("heads_viewed", "heads_strided"), ("heads_merged_by_view",)),
        *product(("rows_nan",), ("softmax_half", "dropout_on")),
        *IDENTITIES,
    ]
)


def hypotheses(given: Given, found: list[Change], n_causes: int) -> list[Hypothesis]:
    """List the recipes of one cause, or of each pair of PAIRS; two whose recipes are one both stand there.

    >>> import torch
    >>> x = torch.zeros(3, 4)
    >>> given = Given(x, x, x, None, None, 0.5, None, None, {}, x.dtype)
    >>> hypotheses(given, [Change("scale_missing", "scale", 1.0)], 1)[0].recipe.scale
    1.0
    """
    groups: list[tuple[Change, ...]] = [(change,) for change in found]
    pairs = [(a, b) for a in found for b in found if (a.code, b.code) in PAIRS and a.slot != b.slot]
    if n_causes == 1:
        groups += [pair for pair in pairs if (pair[0].code, pair[1].code) in IDENTITIES]
    else:
        groups = list(pairs)
    return [hypothesis for group in groups for hypothesis in _filled(given, group)]


def _filled(given: Given, group: tuple[Change, ...]) -> list[Hypothesis]:
    """A group of causes as recipes: where its mask leaves a row nothing, with all that may then stand in the row.

    That is a consequence of the cause, and no cause by itself, unless rows were meant to be empty.
    """
    recipe = Recipe()._replace(**{change.slot: change.choice for change in group})
    found = [Hypothesis(group, recipe)]
    if any(change.slot == "fill" for change in group) or (recipe.axis == -1 and "given" in given.empty):
        return found
    hides = given.visible is not None if recipe.mask == "given" else recipe.mask in given.masks
    if not hides or (recipe.axis == -1 and recipe.mask not in given.empty):
        return found
    return found + [Hypothesis(group, recipe._replace(fill=fill.choice)) for fill in fills(given.dtype)]
