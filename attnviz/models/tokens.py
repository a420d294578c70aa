"""Tokens as the reader wrote them: whole characters instead of bytes, and no signs of the tokenizer's own.

A tokenizer cuts a text into pieces. Byte-level ones write a space as Ġ and cut a character into its bytes,
SentencePiece writes a space as ▁ and a byte as <0xE7>, WordPiece writes ## before what continues a word. What is
shown here is the reader's own text between the piece's first and last character, made longer to whole characters;
where several pieces share a character, each says which of them it is: 猫 1/3, 猫 2/3, 猫 3/3.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from attnviz.tokenizers import tokenize

Span = tuple[int, int]  # the first character and the one after the last

_LONGEST = 32  # code points of one character: a heap of combining marks is taken apart
_FRONT = re.compile(r"##|[Ġ▁]+")
_BACK = re.compile(r"</w>$")
_ALL_SIGNS = re.compile(r"[Ġ▁ĊĉčĀ]+|##|</w>|")


class Token(NamedTuple):
    """One piece of a text, and how a reader would write it."""

    id: int
    piece: str  # as the tokenizer writes it
    shown: str  # as the reader wrote it; a special token as the tokenizer writes it
    span: Span  # of its text; empty where the tokenizer added the token
    text: int = 0  # 0 the text, 1 its pair
    special: bool = False  # such as [CLS], which stands for no text


def shown(pieces: Sequence[str], spans: Sequence[Span], text: str, *, markers: bool = False) -> list[str]:
    """What each piece stands for in the text, in whole characters, without white space around it.

    A character is a grapheme cluster. Pieces that share one are numbered; a piece that is all white space stays
    so. markers=True leaves the tokenizer's own signs for a space or a continued word at the front. Raises
    ValueError where pieces and spans are not equally many. Source: Unicode Annex 29 (grapheme clusters).

    >>> shown(["Ġa", "Ġç", "Į", "«"], [(0, 1), (1, 3), (2, 3), (2, 3)], "a 猫")
    ['a', '猫 1/3', '猫 2/3', '猫 3/3']
    >>> shown(["play", "##ing"], [(0, 4), (4, 7)], "Playing", markers=True)
    ['Play', '##ing']
    """
    if len(pieces) != len(spans):
        raise ValueError(f"spans: expected one for each of {len(pieces)} pieces, got {len(spans)}")
    narrow = [_narrowed(span, piece, text) for piece, span in zip(pieces, spans, strict=True)]
    borders = _borders(text[: max((end for _, end in narrow), default=0) + _LONGEST])
    touched = [_touched(span, borders) for span in narrow]
    found = []
    for piece, span, clusters, part in zip(pieces, narrow, touched, _parts(touched), strict=True):
        whole = _written(piece, span, clusters, borders, text) + part
        found.append(_marked(piece, whole) if markers else whole)
    return found


def aligned(pieces: Sequence[str], text: str) -> list[Span]:
    """Where each piece stands in the text, for a tokenizer that does not say: found from left to right.

    A piece that the text does not have as it is written, such as one byte of a character, gets an empty span.

    >>> aligned(["▁The", "▁cat", "s"], "The cats")
    [(0, 3), (4, 7), (7, 8)]
    """
    spans, at = [], 0
    for piece in pieces:
        bare = _bare(piece)
        start = at
        while start < len(text) and text[start].isspace():
            start += 1
        if bare and text.startswith(bare, start):
            spans.append((start, start + len(bare)))
            at = start + len(bare)
        else:
            spans.append((at, at))
    return spans


def _narrowed(span: Span, piece: str, text: str) -> Span:
    """The span without white space at its ends; empty for a sign before the text that stands for no space of it."""
    start, end = max(0, span[0]), min(span[1], len(text))
    if _ALL_SIGNS.fullmatch(piece) and not text[start:end].isspace():
        return start, start
    inner = text[start:end]
    if not inner.strip():
        return start, max(start, end)
    return start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())


def _borders(text: str) -> list[int]:
    """Where each character of the text begins, and where the last ends."""
    sizes: list[int] = []
    for cluster in tokenize(text, "characters"):
        sizes += [1] * len(cluster) if len(cluster) > _LONGEST else [len(cluster)]
    return list(accumulate(sizes, initial=0))


def _touched(span: Span, borders: list[int]) -> Span | None:
    """The first and the last character that a span has a part in, by number; None for an empty one."""
    if span[0] >= span[1]:
        return None
    return bisect_right(borders, span[0]) - 1, bisect_left(borders, span[1]) - 1


def _parts(touched: Sequence[Span | None]) -> Iterator[str]:
    """For each piece " 2/3" where it is the second of three that share characters, else ""."""
    chains: list[list[int]] = []
    before = -1  # the last character of the piece before
    for i, span in enumerate(touched):
        if span is not None and span[0] == before:
            chains[-1].append(i)
        else:
            chains.append([i])
        before = -1 if span is None else span[1]
    for chain in chains:
        for number in range(1, len(chain) + 1):
            yield f" {number}/{len(chain)}" if len(chain) > 1 else ""


def _written(piece: str, span: Span, clusters: Span | None, borders: list[int], text: str) -> str:
    if clusters is None:
        return _bare(piece) or " "
    if text[slice(*span)].isspace():
        return text[slice(*span)]
    return text[borders[clusters[0]] : borders[clusters[1] + 1]]


def _bare(piece: str) -> str:
    """A piece without the tokenizer's signs: what it says of the text by itself."""
    return _BACK.sub("", _FRONT.sub("", piece, count=1) if _FRONT.match(piece) else piece)


def _marked(piece: str, whole: str) -> str:
    """What is shown, with the tokenizer's signs around it."""
    if _ALL_SIGNS.fullmatch(piece):
        return piece
    front, back = _FRONT.match(piece), _BACK.search(piece)
    return (front.group() if front else "") + whole + (back.group() if back else "")
