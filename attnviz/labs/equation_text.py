"""What was typed of an equation: the equation itself, and the element that is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnviz.core.einsum_parse import ELLIPSIS


def tidy(text: str) -> str:
    """The equation in what was typed or pasted: out of a line of code, with the arrow and commas of any keyboard.

    >>> tidy("torch.einsum('bik,bjk->bij', Q, K)"), tidy("bik，bjk→bij")
    ('bik,bjk->bij', 'bik,bjk->bij')
    """
    found = re.search(r"""einsum\(\s*['"]([^'"]*)['"]""", text)
    text = found[1] if found else text.strip().strip("'\"`")
    for foreign, ours in (("，", ","), ("…", ELLIPSIS), ("－", "-"), ("＞", ">"), ("→", "->"), ("\u00a0", " ")):
        text = text.replace(foreign, ours)
    return text.strip()


def read_index(text: str, shape: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """The element that a text such as "1, 1, 2" names, counted from 0, and whether there is one.

    An index beyond its axis becomes the last; a text that does not have one for each axis, the first element.

    >>> read_index("1, 9", (2, 3)), read_index("1", (2, 3)), read_index("", (2, 3))
    (((0, 2), False), ((0, 0), False), ((0, 0), True))
    """
    numbers = re.fullmatch(r"\s*[0-9]{1,9}(?:[\s,]+[0-9]{1,9})*\s*", text)
    wanted = [int(n) for n in re.findall("[0-9]+", text)]
    if (not numbers and text.strip()) or len(wanted) != len(shape):
        return (0,) * len(shape), not text.strip()
    index = tuple(max(1, min(i, n)) - 1 for i, n in zip(wanted, shape, strict=True))
    return index, [i + 1 for i in index] == wanted
