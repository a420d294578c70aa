"""Positions: one head with each kind of them, its tokens in any order, and what a sum and a rotation are made of.

All tensors are of one head of one sequence. Without positions and mask attention is a function of a set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace, attention, project
from attnviz.core.masks import combine
from attnviz.core.positions import Rotary, learned, rotary_angles, rotate, sinusoidal

ADDED = ("sinusoidal", "learned")  # to X
ROTATIONS = {"rope_half": Rotary("half"), "rope_interleaved": Rotary("interleaved")}


class Head(NamedTuple):
    """One head of one sequence: its tokens' own vectors, and all that makes attention of them."""

    x: Tensor  # (s, m), without positions
    w_q: Tensor  # (m, k)
    w_k: Tensor  # (m, k)
    w_v: Tensor  # (m, d)
    scale: float
    positions: str = "none"
    seed: int = 0  # of learned positions
    slope: float = 0.0  # of ALiBi: what a token of distance costs
    seen: Tensor | None = None  # (s, u), True = may attend
    typed: Mapping[str, Tensor] = {}  # "x", "q", "k", "v" -> (s, features), NaN where none was typed


class Order(NamedTuple):
    """An order of tokens as it was read: order[i] is the token, from 0, that comes to place i."""

    order: tuple[int, ...]
    problem: str = ""  # why it could not be read: "word", "range", "twice" or "missing"; the order is then as it was
    at: str = ""  # the word or the number, from 1, that is the problem


class Shuffled(NamedTuple):
    """Attention before and after its tokens changed places."""

    before: AttentionTrace
    after: AttentionTrace  # row and column i are of token order[i]
    back: Tensor  # (s, u), the weights afterwards, rows and columns put back
    weights: float  # the largest difference of a weight, each of the same two tokens
    output: float  # and that of the outputs


class Changed(NamedTuple):
    """By how much attention differs, at most, after its tokens changed places: each number of the same tokens."""

    weights: float
    output: float


def places(positions: str, n: int, d_model: int, seed: int) -> Tensor | None:
    """The vectors that positions add to X, (s, m); None for a kind that adds none.

    >>> places("sinusoidal", 2, 2, seed=0).shape, places("alibi", 2, 2, seed=0)
    (torch.Size([2, 2]), None)
    """
    if positions == "sinusoidal":
        return sinusoidal(n, d_model)
    return learned(n, d_model, seed) if positions == "learned" else None


def costs(n: int, slope: float) -> Tensor:
    """What ALiBi adds to the scaled scores of a head: -slope * |s - u|, (s, u).

    >>> costs(2, 0.5).tolist()
    [[-0.0, -0.5], [-0.5, -0.0]]
    """
    s = torch.arange(n)
    return (s[:, None] - s).abs().float() * -slope  # (s, u)


def picture(head: Head) -> Tensor | None:
    """What the positions of a head look like: the vectors added (s, m), the angles (s, pair), or the costs (s, u).

    >>> picture(Head(torch.ones(2, 1), *torch.ones(3, 1, 4).unbind(), 1.0, "rope_half")).tolist()
    [[0.0, 0.0], [1.0, 0.009999999776482582]]
    """
    n, m = head.x.shape
    if head.positions in ROTATIONS:
        k = head.w_q.shape[1]
        return None if k % 2 else rotary_angles(n, k, ROTATIONS[head.positions]).float()  # (s, pair)
    return costs(n, head.slope) if head.positions == "alibi" else places(head.positions, n, m, head.seed)


def attend(head: Head) -> AttentionTrace:
    """Attention of a head with its positions: query (s, k), key (u, k), value (u, d). An odd k is not rotated.

    >>> attend(Head(torch.ones(2, 1), *torch.ones(3, 1, 1).unbind(), 1.0)).weights.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    n, m = head.x.shape
    added = places(head.positions, n, m, head.seed)  # (s, m)
    x = _typed(head, "x", head.x if added is None else head.x + added)
    query, key, value = (
        _typed(head, name, project(x, weight)) for name, weight in (("q", head.w_q), ("k", head.w_k), ("v", head.w_v))
    )
    rotary = ROTATIONS.get(head.positions)
    if rotary is not None and query.shape[-1] % 2 == 0:
        query, key = rotate(query, rotary), rotate(key, rotary)
    bias = costs(n, head.slope) if head.positions == "alibi" else None
    return attention(query, key, value, mask=combine(head.seen, bias), scale=head.scale)


def _typed(head: Head, name: str, projected: Tensor) -> Tensor:
    typed = head.typed.get(name)
    return projected if typed is None else torch.where(typed.isnan(), projected, typed)


def reorder(head: Head, order: tuple[int, ...]) -> Head:
    """The head with its tokens in another order. What was typed goes with its token; places and mask stay.

    >>> reorder(Head(torch.tensor([[1.0], [2.0]]), *torch.ones(3, 1, 1).unbind(), 1.0), (1, 0)).x.tolist()
    [[2.0], [1.0]]
    """
    at = torch.tensor(order)
    return head._replace(x=head.x[at], typed={name: cells[at] for name, cells in head.typed.items()})


def shuffle(head: Head, order: tuple[int, ...]) -> Shuffled:
    """Put the tokens of a head into another order, and compare what each two of them do before and after.

    >>> head = Head(torch.tensor([[0.0], [1.0]]), *torch.ones(3, 1, 1).unbind(), 1.0)
    >>> shuffle(head, (1, 0)).weights, shuffle(head._replace(positions="sinusoidal"), (1, 0)).weights > 0.1
    (0.0, True)
    """
    before, after = attend(head), attend(reorder(head, order))
    back = torch.tensor(order).argsort()  # back[i]: where token i went
    weights, output = after.weights[back][:, back], after.output[back]
    return Shuffled(before, after, weights, largest(weights, before.weights), largest(output, before.output))


def changed(head: Head, order: tuple[int, ...]) -> Changed:
    """Say how much another order of its tokens changes a head: see shuffle.

    >>> changed(Head(torch.tensor([[0.0], [1.0]]), *torch.ones(3, 1, 1).unbind(), 1.0), (1, 0))
    Changed(weights=0.0, output=0.0)
    """
    found = shuffle(head, order)
    return Changed(found.weights, found.output)


def largest(left: Tensor, right: Tensor) -> float:
    """The largest difference between the numbers of two tensors of one shape.

    >>> largest(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    3.0
    """
    return float((left - right).abs().max())


def read_order(text: str, n: int) -> Order:
    """Read an order of n tokens: numbers from 1, apart by spaces or commas. Tokens after the numbers given stay.

    >>> read_order("3, 1 2", 4).order, read_order("", 2).order, read_order("2 2", 2)[1:]
    ((2, 0, 1, 3), (0, 1), ('twice', '2'))
    """
    as_it_was = tuple(range(n))
    words = [word for word in re.split(r"[\s,;，、；]+", text) if word]  # Chinese commas too
    numbers: list[int] = []
    for word in words:
        if not re.fullmatch(r"[0-9]{1,9}", word):
            return Order(as_it_was, "word", word)
        if not 1 <= int(word) <= n:
            return Order(as_it_was, "range", word)
        if int(word) in numbers:
            return Order(as_it_was, "twice", str(int(word)))
        numbers.append(int(word))
    missing = set(range(1, len(numbers) + 1)) - set(numbers)
    if missing:
        return Order(as_it_was, "missing", str(min(missing)))
    return Order((*(i - 1 for i in numbers), *as_it_was[len(numbers) :]))


def random_order(n: int, seed: int) -> tuple[int, ...]:
    """An order of n tokens drawn by a seed, never the one they have unless it is the only one.

    >>> random_order(2, seed=5), random_order(1, seed=5)
    ((1, 0), (0,))
    """
    generator = torch.Generator().manual_seed(seed)
    while (order := tuple(torch.randperm(n, generator=generator).tolist())) == tuple(range(n)) and n > 1:
        pass
    return order
