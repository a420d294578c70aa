"""How far the letters of an equation run: as far as the reader's own axes, as typed, or a few steps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from attnviz.core.einsum import Equation
from attnviz.core.einsum_parse import ELLIPSIS

MAX_STEPS = 2_000_000  # products of an equation, and numbers of an operand
MAX_AXES = 20  # of an operand: torch has tensors of 64
LENGTH = 3  # of a letter that is no axis of the reader's
DOTS = (2,)  # the axes of '...'
_SIZE = re.compile(r"(\.{3}|[A-Za-z])\s*[=:]\s*([0-9]{1,7}(?:[xX×*][0-9]{1,7})*)(?![0-9])")


class SizesError(ValueError):
    """Sizes that cannot be taken: `code` and `facts` have all that it takes to say why.

    "form": `got` does not read as letter=number; "zero": `letter` would have no place; "single": several sizes for
    `letter`, which is one axis; "axes": an operand, the one numbered `operand` from 1, would have `got` axes, more than
    `most`; "large": `got` products, or numbers in an operand, where `most` are taken, and `instead` are sizes for
    `letters` that would do.
    """

    def __init__(self, code: str, facts: dict[str, object]) -> None:
        super().__init__(code, facts)
        self.code, self.facts = code, facts


def read_sizes(text: str) -> dict[str, tuple[int, ...]]:
    """Read what was typed: sizes by letter, of '...' one for each of its axes.

    >>> read_sizes("i=2, j = 4; ...=2x3")
    {'i': (2,), 'j': (4,), '...': (2, 3)}
    >>> read_sizes("i is 2")
    Traceback (most recent call last):
    attnviz.labs.equation_sizes.SizesError: ('form', {'got': 'i is 2'})
    """
    text = text.translate(str.maketrans("，；：＝", ",;:=")).replace("…", ELLIPSIS)
    rest = _SIZE.sub(" ", text).strip(" ,;\t\n")
    if re.sub(r"[\s,;]", "", rest):
        raise SizesError("form", {"got": re.split(r"[,;]", rest)[0].strip()})
    found: dict[str, tuple[int, ...]] = {}
    for letter, numbers in _SIZE.findall(text):
        found[letter] = tuple(int(n) for n in re.split(r"[xX×*]", numbers))
        if not all(found[letter]):
            raise SizesError("zero", {"letter": letter})
        if letter != ELLIPSIS and len(found[letter]) > 1:
            raise SizesError("single", {"letter": letter})
    return found


def write_sizes(sizes: Mapping[str, Sequence[int]]) -> str:
    """Write sizes as they are read.

    >>> write_sizes({"i": (2,), "...": (2, 3)})
    'i=2, ...=2x3'
    """
    return ", ".join(f"{letter}={'x'.join(map(str, n))}" for letter, n in sizes.items())


def choose_sizes(
    bare: Equation, own: Mapping[str, int], typed: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """How far each letter runs, and the axes that '...' stands for: as typed, else as the reader's own axis.

    bare: an equation that was read without shapes. Raises SizesError for what is too much.

    >>> from attnviz.core.einsum import parse
    >>> choose_sizes(parse("...sk,ij->s"), {"s": 6, "k": 4}, {"k": (2,)})
    ({'s': 6, 'k': 2, 'i': 3, 'j': 3}, (2,))
    """
    letters = [letter for letter in dict.fromkeys(a for o in bare.operands for a in o) if letter != ELLIPSIS]
    sizes = {letter: typed.get(letter, (own.get(letter, LENGTH),)) for letter in letters}
    if any(ELLIPSIS in operand for operand in bare.operands):
        sizes[ELLIPSIS] = typed.get(ELLIPSIS, DOTS)
    for number, operand in enumerate(bare.operands, 1):
        n_axes = sum(len(sizes[letter]) for letter in operand)
        if n_axes > MAX_AXES:
            raise SizesError("axes", {"operand": number, "got": n_axes, "most": MAX_AXES})
    if (most := _largest(bare, sizes)) > MAX_STEPS:
        smaller = _smaller(bare, sizes)
        changed = {letter: n for letter, n in smaller.items() if n != sizes[letter]}
        facts: dict[str, object] = {"got": most, "most": MAX_STEPS, "letters": write_sizes(changed)}
        raise SizesError("large", {**facts, "instead": write_sizes({**typed, **changed})})
    return {letter: sizes[letter][0] for letter in letters}, sizes.get(ELLIPSIS, ())


def _largest(bare: Equation, sizes: Mapping[str, Sequence[int]]) -> int:
    """The products of all, or the numbers of one operand, which repeats letters: whichever are more."""
    counted = [list(sizes), *bare.operands]
    return max(math.prod(math.prod(sizes[letter]) for letter in letters) for letters in counted)


def _smaller(bare: Equation, sizes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Sizes that can be taken: the largest halved, again and again."""
    smaller = dict(sizes)
    while _largest(bare, smaller) > MAX_STEPS:
        letter = max(smaller, key=lambda letter: max(smaller[letter]))
        most = max(smaller[letter])
        smaller[letter] = tuple(n // 2 if n == most else n for n in smaller[letter])
    return smaller
