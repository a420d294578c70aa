"""A trained model as a file: safetensors, with its recipe and its card inside, and back."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from attnviz.fields import shown
from attnviz.limits import CHECKPOINT_BYTES
from attnviz.training.card import card
from attnviz.training.model import Weights, named, shapes
from attnviz.training.recipe import Recipe

__all__ = ["TINY", "TINY_FILE", "Meta", "card", "from_bytes", "tiny", "to_bytes"]

TINY = Recipe(steps=600)  # what ships as attnviz-tiny
TINY_FILE = Path(__file__).parents[1] / "models" / "tiny" / "attnviz-tiny.safetensors"
_KEY = "attnviz"  # the one entry of the file's metadata: safetensors writes several in any order


class Meta(NamedTuple):
    """What a checkpoint says of itself beside its recipe and its weights."""

    step: int  # how often the weights were changed
    accuracy: float | None  # on held-out sequences, 0 to 1
    card: str  # Markdown


def to_bytes(recipe: Recipe, weights: Weights, *, step: int, accuracy: float | None = None) -> bytes:
    """Return a trained model as the bytes of a safetensors file; the same model gives the same bytes.

    Its metadata is one entry, "attnviz": JSON of recipe, step, accuracy and card.

    >>> from attnviz.training.model import initial
    >>> recipe = Recipe(seed=1)
    >>> read, weights, meta = from_bytes(to_bytes(recipe, initial(recipe), step=0))
    >>> read == recipe, torch.equal(weights.embedding, initial(recipe).embedding), meta.step
    (True, True, 0)
    """
    about = {"format": 1, "recipe": asdict(recipe), "step": step, "accuracy": accuracy}
    about["card"] = card(recipe, step=step, accuracy=accuracy)
    tensors = {name: weight.detach().contiguous() for name, weight in weights.items()}
    data: bytes = save(tensors, {_KEY: json.dumps(about, ensure_ascii=False, sort_keys=True)})
    return data


def from_bytes(data: bytes) -> tuple[Recipe, Weights, Meta]:
    """Read a model that to_bytes wrote: its recipe, its weights and what else it says of itself.

    Raises ValueError when the file is too large, broken, of another kind, or its tensors do not fit its recipe.

    >>> from_bytes(b"hello")
    Traceback (most recent call last):
    ValueError: checkpoint: expected a safetensors file of attnviz, got 5 bytes that are none
    """
    if len(data) > CHECKPOINT_BYTES:
        raise ValueError(f"checkpoint: expected at most {CHECKPOINT_BYTES} bytes, got {len(data)}")
    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except (SafetensorError, ValueError, KeyError, RuntimeError):  # RuntimeError: torch has no such dtype here
        raise ValueError(
            f"checkpoint: expected a safetensors file of attnviz, got {len(data)} bytes that are none"
        ) from None
    recipe, meta = _read(header.get("__metadata__", {}).get(_KEY))
    expected = shapes(recipe)
    if set(tensors) != set(expected):
        missing, other = sorted(set(expected) - set(tensors)), sorted(set(tensors) - set(expected))
        raise ValueError(f"checkpoint: expected the tensors of its recipe, got {_names(missing, other)}")
    for name, shape in expected.items():
        tensor = tensors[name]
        if tuple(tensor.shape) != shape or tensor.dtype != torch.float32:
            came = f"{tuple(tensor.shape)}, {tensor.dtype}"
            raise ValueError(f"checkpoint: expected {name} of shape {shape}, torch.float32, got {came}")
        if not tensor.isfinite().all():
            raise ValueError(f"checkpoint: expected finite numbers in {name}, got NaN or infinity")
    return recipe, named(tensors), meta


def tiny() -> tuple[Recipe, Weights]:
    """Return attnviz-tiny, the trained model that ships: two layers of one head that continue repeated sequences.

    >>> recipe, weights = tiny()
    >>> recipe == TINY, weights.embedding.shape
    (True, torch.Size([26, 32]))
    """
    recipe, weights, _ = from_bytes(TINY_FILE.read_bytes())
    return recipe, weights


def _read(about: Any) -> tuple[Recipe, Meta]:
    """The recipe and the rest from the metadata's JSON; ValueError when it is not as to_bytes writes it."""
    try:
        found = json.loads(about)
        given, step, right, words = (found[name] for name in ("recipe", "step", "accuracy", "card"))
    except (TypeError, ValueError, KeyError, RecursionError):
        raise ValueError(f"checkpoint: expected the metadata of attnviz, got {shown(about)}") from None
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(Recipe)}:
        raise ValueError(f"checkpoint: expected a recipe with every field of Recipe, got {shown(given)}")
    try:
        recipe = Recipe(**given)
    except ValueError as error:
        raise ValueError(f"checkpoint: expected a recipe within the limits, but {error}") from None
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= recipe.steps:
        raise ValueError(f"checkpoint: expected a step from 0 to {recipe.steps}, got {shown(step)}")
    if right is not None and not (isinstance(right, int | float) and math.isfinite(right) and 0 <= right <= 1):
        raise ValueError(f"checkpoint: expected an accuracy from 0 to 1 or none, got {shown(right)}")
    if not isinstance(words, str):
        raise ValueError(f"checkpoint: expected a card in words, got {shown(words)}")
    return recipe, Meta(step, right, words)


def _names(missing: list[str], other: list[str]) -> str:
    parts = [f"none called {missing[0]}"] if missing else []
    return " and ".join([*parts, f"one called {shown(other[0])}"] if other else parts)
