"""Symbols and their numbers: what a reader types, and what the model reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnviz.core.shapes import check_shape
from attnviz.training.recipe import Recipe


def encode(recipe: Recipe, symbols: Sequence[str]) -> Tensor:
    """Turn symbols into their numbers: int64 (s,).

    Raises ValueError for a symbol that the task does not have, for none at all, and for more than seq_len.

    >>> encode(Recipe("sort"), ["3", "1", "4"]).tolist()
    [3, 1, 4]
    """
    if not 1 <= len(symbols) <= recipe.seq_len:
        raise ValueError(f"symbols: expected 1 to {recipe.seq_len} of them, got {len(symbols)}")
    numbers = {symbol: number for number, symbol in enumerate(recipe.vocabulary)}
    for symbol in symbols:
        if symbol not in numbers:
            known = {"sort": "a digit from 0 to 9", "text": "a character of the text"}.get(recipe.task, "a to z")
            raise ValueError(f"symbols: expected {known}, got {symbol!r}")
    return torch.tensor([numbers[symbol] for symbol in symbols])  # (s,)


def decode(recipe: Recipe, tokens: Tensor) -> list[str]:
    """Turn numbers (s,) back into their symbols. Raises ValueError for a number that is no symbol's.

    >>> decode(Recipe("repeat"), torch.tensor([2, 0, 1]))
    ['c', 'a', 'b']
    """
    check_shape("tokens", tokens, "s")
    vocabulary = recipe.vocabulary
    numbers = tokens.tolist()
    for number in numbers:
        if not 0 <= number < len(vocabulary):
            raise ValueError(f"tokens: expected numbers from 0 to {len(vocabulary) - 1}, got {number}")
    return [vocabulary[number] for number in numbers]


def split(recipe: Recipe, text: str) -> list[str]:
    """Split what a reader types into symbols: its characters, small letters, without blanks; of a text as they are.

    >>> split(Recipe("repeat"), "The cat"), split(Recipe("text", text="ab " * 40), "a b")
    (['t', 'h', 'e', 'c', 'a', 't'], ['a', ' ', 'b'])
    """
    return list(text) if recipe.task == "text" else list("".join(text.lower().split()))
