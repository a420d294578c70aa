"""What is learned: sequences, the answers to them, and the map that a perfect solution would show.

    repeat    b c a b c a b    at each token, say the next one: it stood after the same token before
    reverse   a b c            at place s, say the token at the mirrored place
    sort      3 1 2            at place s, say the s-th smallest
    copy      a b c            at place s, say the token `offset` places before
    text      the cat s        at each character, say the next one

An answer is read at the place where it is asked for. repeat and text are causal; the others see the whole sequence.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.masks import causal as causal_mask
from attnviz.core.repeats import seen_before
from attnviz.core.shapes import check_count, check_shape
from attnviz.training.recipe import HELD_OUT, Recipe
from attnviz.training.symbols import decode as decode  # beside the tasks whose symbols they are
from attnviz.training.symbols import encode as encode
from attnviz.training.symbols import split as split

PERIODS = (3, 12)  # tokens after which a sequence of "repeat" begins again, from and to


class Batch(NamedTuple):
    """Sequences and what is asked about them."""

    tokens: Tensor  # (b, s) int64, the numbers of symbols
    targets: Tensor  # (b, s) int64, the answer at each place
    counted: Tensor  # (b, s) bool, True = the place has a determined answer: only there is anything asked


def causal(recipe: Recipe) -> bool:
    """Say whether a token sees only itself and what came before.

    >>> causal(Recipe("repeat")), causal(Recipe("sort"))
    (True, False)
    """
    return recipe.task in ("repeat", "text")


def batch(recipe: Recipe, count: int, generator: torch.Generator) -> Batch:
    """Draw sequences to learn from, and their answers: each (b=count, s).

    Raises ValueError for a count below 1.

    >>> batch(Recipe("reverse"), 2, torch.Generator().manual_seed(0)).tokens.shape
    torch.Size([2, 10])
    """
    count = check_count("count", count, low=1)
    if recipe.task == "text":
        return _windows(recipe, count, generator, held=False)
    return _drawn(recipe, count, generator)


def held_out(recipe: Recipe, count: int) -> Batch:
    """Draw sequences that training never sees, always the same: each (b=count, s).

    Of a text they lie in its last tenth; of the other tasks they come of another stream of random numbers, and
    so many sequences are possible that none is drawn twice. Raises ValueError for a count below 1.

    >>> first, again = held_out(Recipe("sort"), 4), held_out(Recipe("sort"), 4)
    >>> torch.equal(first.tokens, again.tokens)
    True
    """
    count = check_count("count", count, low=1)
    generator = stream(recipe, "held out")
    if recipe.task == "text":
        return _windows(recipe, count, generator, held=True)
    return _drawn(recipe, count, generator)


def stream(recipe: Recipe, purpose: str) -> torch.Generator:
    """Return a generator of its own for one purpose of a recipe: "weights", "training" or "held out".

    >>> stream(Recipe(seed=1), "weights").initial_seed() == stream(Recipe(seed=1), "training").initial_seed()
    False
    """
    number = {"weights": 0, "training": 1, "held out": 2}[purpose]
    return torch.Generator().manual_seed(recipe.seed * 3 + number)


def perfect(recipe: Recipe, tokens: Tensor) -> dict[str, Tensor]:
    """The maps that a perfect solution would show for one sequence, by name: tokens (s,) -> float32 (s, u) each.

    A row shares its attention evenly between all keys that hold the answer; a row without a determined place is
    0. "repeat" has two, of two heads: "previous", to the token before, and "induction", to what followed the same
    token earlier; "text" has none. Raises ValueError for tokens without just one axis.

    >>> perfect(Recipe("repeat"), torch.tensor([0, 1, 0]))["induction"].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    check_shape("tokens", tokens, "s")
    maps = supports(recipe, tokens)
    return {name: one.float() / one.sum(dim=-1, keepdim=True).clamp_min(1) for name, one in maps.items()}


def supports(recipe: Recipe, tokens: Tensor) -> dict[str, Tensor]:
    """Which keys hold what a perfect solution reads, by the name of the map: tokens (..., s) -> bool (..., s, u)."""
    n = tokens.shape[-1]
    s, u = torch.arange(n)[:, None], torch.arange(n)  # (s, 1), (u,)
    same = torch.ones(*tokens.shape, n, dtype=torch.bool)  # (..., s, u)
    if recipe.task == "repeat":
        earlier = (tokens[..., :, None] == tokens[..., None, :]).tril(-1)  # (..., s, u)
        # No token comes after the last one: its column is empty, and rolls round to column 0.
        return {"previous": same & (u == s - 1), "induction": earlier.roll(1, dims=-1)}
    if recipe.task == "reverse":
        return {"reverse": same & (u == n - 1 - s)}
    if recipe.task == "copy":
        return {"copy": same & (u == s - recipe.offset)}
    if recipe.task == "sort":
        return {"sort": tokens.sort(dim=-1).values[..., :, None] == tokens[..., None, :]}
    return {}


def question(recipe: Recipe, tokens: Tensor) -> Batch:
    """Ask the task of given sequences: tokens (b, s) -> Batch. The next token after the last is not known.

    Raises ValueError for tokens without two axes.

    >>> question(Recipe("copy", offset=1), torch.tensor([[3, 4, 5]])).targets.tolist()
    [[3, 3, 4]]
    """
    check_shape("tokens", tokens, "b s")
    counted = torch.ones_like(tokens, dtype=torch.bool)  # (b, s)
    if recipe.task == "reverse":
        return Batch(tokens, tokens.flip(-1), counted)
    if recipe.task == "sort":
        return Batch(tokens, tokens.sort(dim=-1).values, counted)
    if recipe.task == "copy":
        s = torch.arange(tokens.shape[-1])
        targets = tokens[:, (s - recipe.offset).clamp_min(0)]  # (b, s)
        return Batch(tokens, targets, counted & (s >= recipe.offset))
    targets = torch.cat([tokens[:, 1:], tokens[:, -1:]], dim=-1)  # (b, s)
    counted[:, -1] = False
    return Batch(tokens, targets, counted & seen_before(tokens) if recipe.task == "repeat" else counted)


def mask(recipe: Recipe, n: int) -> Tensor | None:
    """Who may attend to whom among n tokens: bool (s, u), True = may attend; None when all may."""
    return causal_mask(n, n) if causal(recipe) else None


def _drawn(recipe: Recipe, count: int, generator: torch.Generator) -> Batch:
    n, n_symbols = recipe.seq_len, len(recipe.vocabulary)
    if recipe.task != "repeat":
        return question(recipe, torch.randint(n_symbols, (count, n), generator=generator))
    low, high = PERIODS
    periods = torch.randint(low, high + 1, (count, 1), generator=generator)  # (b, 1)
    starts = (torch.rand(count, 1, generator=generator) * (n - periods - 1)).long()  # (b, 1)
    s = torch.arange(n + 1)
    first = s.where(s < starts + periods, starts + (s - starts) % periods)  # (b, s + 1), where the symbol first stood
    symbols = torch.rand(count, n_symbols, generator=generator).argsort(dim=-1)  # (b, v), each symbol once
    tokens = symbols.gather(1, first)  # (b, s + 1)
    return Batch(tokens[:, :-1], tokens[:, 1:], s[:-1] >= starts + periods)


def _windows(recipe: Recipe, count: int, generator: torch.Generator, *, held: bool) -> Batch:
    text = _numbered(recipe)
    border = len(text) - len(text) // HELD_OUT
    part = text[border:] if held else text[:border]
    n = recipe.seq_len
    starts = torch.randint(len(part) - n, (count, 1), generator=generator)  # (b, 1)
    tokens = part[starts + torch.arange(n + 1)]  # (b, s + 1)
    return Batch(tokens[:, :-1], tokens[:, 1:], torch.ones(count, n, dtype=torch.bool))


@lru_cache(maxsize=8)  # asked for at every step; 160 kB each at most
def _numbered(recipe: Recipe) -> Tensor:
    """The whole text as numbers (n,); nobody writes into it."""
    numbers = {symbol: number for number, symbol in enumerate(recipe.vocabulary)}
    return torch.tensor([numbers[symbol] for symbol in recipe.text])
