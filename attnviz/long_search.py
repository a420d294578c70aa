"""Where a token, or several in a row, stand in a long text."""

from __future__ import annotations

from collections.abc import Sequence


def places(tokens: Sequence[str], sought: Sequence[str]) -> list[int]:
    """Return where the tokens `sought` stand in a row, large and small letters alike: the first token of each place.

    One token that stands nowhere is sought inside the others.

    >>> places(["The", "cat", "the", "cats"], ["the"]), places(["The", "cat", "the", "cats"], ["the", "cat"])
    ([0, 2], [0])
    >>> places(["The", "cat", "the", "cats"], ["at"])
    [1, 3]
    """
    if not sought:
        return []
    folded, first, *more = [token.casefold() for token in tokens], *(part.casefold() for part in sought)
    found = [i for i, token in enumerate(folded) if token == first and folded[i + 1 : i + 1 + len(more)] == more]
    return found or ([] if more else [i for i, token in enumerate(folded) if first in token])


def around(tokens: Sequence[str], at: int, *, before: int = 4, after: int = 5) -> tuple[str, str, str]:
    """Return the tokens before a place, the one that stands there, and those after it, with blanks between.

    >>> around(["a", "b", "c", "d"], 2, before=1)
    ('b', 'c', 'd')
    """
    return " ".join(tokens[max(0, at - before) : at]), tokens[at], " ".join(tokens[at + 1 : at + 1 + after])
