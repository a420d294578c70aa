"""How well a model does: its accuracy, and how much of each head's attention lies where a perfect one has it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from attnviz.core.repeats import induction_mass, score, seen_before
from attnviz.core.statistics import entropy_share, previous_token_mass
from attnviz.training.model import Layer
from attnviz.training.recipe import Recipe
from attnviz.training.tasks import Batch, mask, supports

Scores = dict[tuple[int, int], dict[str, float]]  # (layer, head), both from 0 -> the name of a score -> 0 to 1


def accuracy(logits: Tensor, batch: Batch) -> float:
    """The share of the counted places whose answer is the symbol of the highest logit: logits (b, s, v).

    >>> import torch
    >>> asked = Batch(torch.tensor([[0, 0]]), torch.tensor([[0, 1]]), torch.tensor([[True, True]]))
    >>> accuracy(torch.tensor([[[2.0, 1.0], [2.0, 1.0]]]), asked)
    0.5
    """
    right = (logits.argmax(dim=-1) == batch.targets) & batch.counted  # (b, s)
    return float(right.sum() / batch.counted.sum().clamp_min(1))


def head_scores(recipe: Recipe, tokens: Tensor, layers: Sequence[Layer]) -> Scores:
    """What each head gives to the keys of the task's perfect maps: the mean over rows, then over sequences (b, s).

    "repeat" has "previous" and "induction", every other task but "text" one by its own name. "text", which has no
    perfect map, has "previous", "induction" and "entropy", the share of the highest that its rows could have.
    Only rows that have such a key count; 0 where none has.
    """
    found: Scores = {}
    for number, layer in enumerate(layers):
        for name, by_head in _by_head(recipe, tokens, layer.trace.weights).items():
            for head, value in enumerate(by_head.tolist()):
                found.setdefault((number, head), {})[name] = value
    return found


def _by_head(recipe: Recipe, tokens: Tensor, weights: Tensor) -> dict[str, Tensor]:
    """Each score as (h,): tokens (b, s), weights (b, h, s, u)."""
    if recipe.task in ("repeat", "text"):
        found = {
            "previous": score(previous_token_mass(weights)[..., 1:]),  # (b, h)
            "induction": score(induction_mass(weights, tokens), seen_before(tokens)),
        }
        if recipe.task == "text":
            found["entropy"] = score(entropy_share(weights, mask(recipe, tokens.shape[-1]))[..., 1:])
    else:
        found = {}
        for name, keys in supports(recipe, tokens).items():  # (b, s, u)
            mass = weights.where(keys[:, None], 0).sum(dim=-1)  # (b, h, s)
            found[name] = score(mass, keys.any(dim=-1))
    return {name: each.mean(dim=0) for name, each in found.items()}
