"""The index letters a reader prefers: bsu as here, bij or bts as others write the same sums."""

from __future__ import annotations

LETTERS: dict[str, dict[str, str]] = {
    "bsu": {},
    "bij": {"s": "i", "u": "j"},
    "bts": {"s": "t", "u": "s"},
}


def relabel(equation: str, letters: str) -> str:
    """Write an equation, or a single letter, in the letters that the reader chose.

    >>> relabel("bsk,buk->bsu", "bij"), relabel("bsu", "bts")
    ('bik,bjk->bij', 'bts')
    """
    return equation.translate({ord(ours): theirs for ours, theirs in LETTERS[letters].items()})
