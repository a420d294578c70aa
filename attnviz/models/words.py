"""Pieces grouped into words, and a map of pieces made one of words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.shapes import check_floating, widened
from attnviz.models.tokens import Span, Token
from attnviz.tokenizers import tokenize


class Word(NamedTuple):
    """Tokens that belong together, in their order."""

    shown: str
    tokens: tuple[int, ...]  # their numbers


def words(tokens: Sequence[Token], texts: Sequence[str]) -> tuple[Word, ...]:
    """Group tokens into the reader's words: those of attnviz.tokenizers, whatever the model's own borders are.

    A Chinese character is a word, and so is a mark. Words that one token joins are one group; a special token and
    white space stand alone. Every token is in one group.

    >>> pieces = [Token(0, "play", "play", (0, 4)), Token(1, "##ing", "ing", (4, 7)), Token(2, "!", "!", (7, 8))]
    >>> [word.shown for word in words(pieces, ["playing!"])]
    ['playing', '!']
    """
    spans = [_word_spans(text) for text in texts]
    groups: list[tuple[list[int], Span | None]] = []  # tokens, and the first and last word they are of
    for i, token in enumerate(tokens):
        found = None if token.special else _overlapping(token.span, spans[token.text])
        if i and found is not None and tokens[i - 1].text == token.text:
            group, reach = groups[-1]
            if reach is not None and found[0] <= reach[1]:
                groups[-1] = ([*group, i], (reach[0], max(reach[1], found[1])))
                continue
        groups.append(([i], found))
    return tuple(Word(_shown([tokens[i] for i in group], reach, texts, spans), tuple(group)) for group, reach in groups)


def group_weights(
    weights: Tensor, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]] | None = None
) -> Tensor:
    """Make a map of tokens one of groups: the sum over a group's key columns, the mean over its query rows.

    weights (..., s, u) -> (..., groups of s, groups of u); columns are grouped as rows are when None. A row that
    sums to 1 still does. Half precision is summed in float32. Raises ValueError unless each token is in exactly
    one group, TypeError for a dtype that is not floating.

    >>> group_weights(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]]), [[0], [1, 2]])
    tensor([[1.0000, 0.0000],
            [0.3500, 0.6500]])
    """
    check_floating("weights", weights, "... s u")
    columns = rows if columns is None else columns
    of_row = _numbers("rows", rows, weights.shape[-2]).to(weights.device)
    of_column = _numbers("columns", columns, weights.shape[-1]).to(weights.device)
    wide = widened(weights)
    summed = wide.new_zeros(*wide.shape[:-1], len(columns)).index_add(-1, of_column, wide)  # (..., s, groups)
    total = wide.new_zeros(*wide.shape[:-2], len(rows), len(columns)).index_add(-2, of_row, summed)
    sizes = torch.bincount(of_row, minlength=len(rows))[:, None]  # (groups, 1)
    return (total / sizes).to(weights.dtype)


def _numbers(name: str, groups: Sequence[Sequence[int]], n: int) -> Tensor:
    """For each of n tokens the number of its group."""
    tokens = [token for group in groups for token in group]
    if sorted(tokens) != list(range(n)) or not all(len(group) for group in groups):
        raise ValueError(f"{name}: expected each of the {n} tokens in one group, and no empty group, got {groups}")
    numbers = torch.empty(n, dtype=torch.int64)
    numbers[tokens] = torch.tensor([i for i, group in enumerate(groups) for _ in group], dtype=torch.int64)
    return numbers


def _word_spans(text: str) -> list[Span]:
    spans, at = [], 0
    for word in tokenize(text, "words"):
        start = text.index(word, at)  # between two words is only white space
        at = start + len(word)
        spans.append((start, at))
    return spans


def _overlapping(span: Span, spans: Sequence[Span]) -> Span | None:
    """The first and the last word that a token has a part in, by number."""
    first = bisect_right(spans, span[0], key=lambda word: word[1])
    last = bisect_left(spans, span[1], key=lambda word: word[0]) - 1
    return (first, last) if first <= last and span[0] < span[1] else None


def _shown(tokens: Sequence[Token], reach: Span | None, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> str:
    if len(tokens) == 1 or reach is None:
        return tokens[0].shown
    mine = spans[tokens[0].text]
    return texts[tokens[0].text][mine[reach[0]][0] : mine[reach[1]][1]]
