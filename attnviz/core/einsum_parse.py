"""What an einsum equation says, read as torch.einsum reads it; and what is wrong with one that says nothing.

Of 'bsk,buk->bsu' the operands are 'bsk' and 'buk': one letter for each axis. A letter of the output is kept, any
other is summed. Spaces count for nothing. '...' stands for the axes left over, named here '...0', '...1' from the
first that they broadcast to. Without '->' the output is '...', then the letters that stand once, A to Z before a to z.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnviz.core.shapes import check_count, named_shape

LETTERS = string.ascii_letters
ELLIPSIS = "..."

Shape = Sequence[int]

# What an EquationError says, by its code: what was expected, and what came.
MESSAGES = {
    "character": "{where}: expected letters a to z or A to Z, '...' and spaces, got {got!r}",
    "dots": "{where}: expected dots only as '...', got a '.' beside that",
    "ellipses": "{where}: expected '...' at most once, got it {got} times",
    "arrows": "equation {equation!r}: expected '->' at most once, got it {got} times",
    "outputs": "{where}: expected one output, got {got}, with commas between",
    "unknown": "{where}: expected letters that stand in an operand, of {expected!r}, got {letter}",
    "twice": "{where}: expected each letter at most once, got {letter} {got} times",
    "operands": "equation {equation!r}: expected as many operands as it names, {expected}, got {got}",
    "axes": "{where}: expected shape {expected}, got {got}",
    "diagonal": "{where}: expected one size for letter {letter}, which it repeats, got {got[0]} and {got[1]}",
    "size": "{where}: expected size {expected} of letter {letter}, as in {other}, or 1, got {got}",
    "unknown_axes": "equation {equation!r}: expected the operands' shapes, which say what '...' is, got none",
}


class EquationError(ValueError):
    """An equation, or a shape, that does not fit.

    The text is plain English. `code`, a key of MESSAGES, and `facts` have all that it takes to word it otherwise:
    numbers, shapes and letters; "operand" counts from 1 and is None where the fault is the output's.
    """

    def __init__(self, code: str, facts: dict[str, object]) -> None:
        super().__init__(code, facts)  # both are its args, so that it survives pickling
        self.code, self.facts = code, facts

    def __str__(self) -> str:
        where = _where(self.facts.get("operand"), self.facts.get("subscripts"))
        other = _where(self.facts.get("like"), self.facts.get("like_subscripts"))
        return MESSAGES[self.code].format(where=where, other=other, **self.facts)


class Equation(NamedTuple):
    """What is kept and what is summed, letter by letter."""

    text: str  # without spaces, with its output: 'bsk,buk->bsu'
    operands: tuple[tuple[str, ...], ...]  # of each operand the letter of each axis; '...0' for the first of '...'
    output: tuple[str, ...]  # of each axis of the result its letter
    kept: tuple[str, ...]  # the output's letters, in the order in which the operands bring them up
    summed: tuple[str, ...]  # all others, in that order


def parse(equation: str | Equation, shapes: Sequence[Shape] | None = None) -> Equation:
    """Read an equation; with the operands' shapes, check them and name each axis that '...' stands for.

    Without shapes '...' stays one letter, '...'. Raises TypeError for what is no text or no shape, EquationError (a
    ValueError), naming operand and letter, for an equation or shapes that do not fit: just those that torch.einsum
    refuses. Source: the documentation of torch.einsum.

    >>> parse("bsk, buk -> bsu").summed
    ('k',)
    >>> parse("ij,jA").text
    'ij,jA->Ai'
    >>> parse("...k->...", [(2, 3, 4)]).operands
    (('...0', '...1', 'k'),)
    """
    parsed = _parse(equation, shapes)
    if shapes is not None:
        _sizes(parsed, shapes)
    return parsed


def sizes(equation: str | Equation, shapes: Sequence[Shape]) -> dict[str, int]:
    """How far each letter runs, in the order in which the operands bring them up.

    An axis of size 1 is stretched to the size that other operands give its letter. Raises as `parse` does.

    >>> sizes("bsk,buk->bsu", [(2, 5, 4), (1, 6, 4)])
    {'b': 2, 's': 5, 'k': 4, 'u': 6}
    >>> sizes("sk,uk->su", [(5, 4), (6,)])
    Traceback (most recent call last):
    attnviz.core.einsum_parse.EquationError: operand 2 'uk': expected shape (u, k), got (6,)
    """
    return _sizes(_parse(equation, shapes), shapes)


def check_n_operands(text: str, expected: int, got: int) -> None:
    """Raise EquationError unless there are as many operands as the equation names.

    >>> check_n_operands("i,j->ij", 2, 2)
    """
    if got != expected:
        raise EquationError("operands", {"equation": text, "expected": expected, "got": got})


def _parse(equation: str | Equation, shapes: Sequence[Shape] | None) -> Equation:
    text = equation.text if isinstance(equation, Equation) else equation
    if not isinstance(text, str):
        raise TypeError(f"equation: expected a str such as 'bsk,buk->bsu', got {type(text).__name__}")
    inputs, arrow, result = text.partition("->")
    operands = [_letters(part, number) for number, part in enumerate(inputs.split(","), 1)]
    seen = Counter(letter for operand in operands for letter in operand)
    if arrow:
        output = _output(text, result, seen)
    else:
        output = [ELLIPSIS] * (ELLIPSIS in seen) + sorted(a for a, n in seen.items() if n == 1 and a != ELLIPSIS)
    canonical = ",".join(map("".join, operands)) + "->" + "".join(output)

    if shapes is not None:
        counts = _n_ellipsis(canonical, operands, shapes)
        widest = max(counts)
        operands = [_expand(operand, widest, n) for operand, n in zip(operands, counts, strict=True)]
        output = _expand(output, widest, widest)
    order = tuple(dict.fromkeys(letter for operand in operands for letter in operand))
    kept = tuple(letter for letter in order if letter in output)
    summed = tuple(letter for letter in order if letter not in output)
    return Equation(canonical, tuple(map(tuple, operands)), tuple(output), kept, summed)


def _letters(part: str, operand: int | None) -> list[str]:
    """The letters of one operand, or of the output, '...' being one of them."""
    facts: dict[str, object] = {"operand": operand, "subscripts": part.strip(" ")}
    # Dots are taken three by three before spaces are dropped: torch refuses '. ..'.
    letters = [letter for letter in re.findall(r"\.{3}|.", part, re.DOTALL) if letter != " "]
    for letter in letters:
        if letter == ".":
            raise EquationError("dots", facts)
        if letter != ELLIPSIS and letter not in LETTERS:
            raise EquationError("character", {**facts, "got": letter})
    if letters.count(ELLIPSIS) > 1:
        raise EquationError("ellipses", {**facts, "got": letters.count(ELLIPSIS)})
    return letters


def _output(text: str, result: str, seen: Counter[str]) -> list[str]:
    facts: dict[str, object] = {"operand": None, "subscripts": result.strip(" ")}
    if "->" in result:
        raise EquationError("arrows", {"equation": text, "got": text.count("->")})
    if "," in result:
        raise EquationError("outputs", {**facts, "got": result.count(",") + 1})
    output = _letters(result, None)
    for letter in output:
        if output.count(letter) > 1:
            raise EquationError("twice", {**facts, "letter": letter, "got": output.count(letter)})
        if letter not in seen and letter != ELLIPSIS:
            known = "".join(a for a in seen if a != ELLIPSIS)
            raise EquationError("unknown", {**facts, "letter": letter, "expected": known})
    # torch lets the output say '...' where no operand does: it stands for no axis then.
    return [letter for letter in output if letter in seen]


def _n_ellipsis(text: str, operands: Sequence[Sequence[str]], shapes: Sequence[Shape]) -> list[int]:
    """Of each operand how many axes its '...' stands for, 0 where it has none."""
    check_n_operands(text, len(operands), len(shapes))
    counts = []
    for number, (letters, given) in enumerate(zip(operands, shapes, strict=True), 1):
        shape = _checked(number, given)
        n_left = len(shape) - len(letters) + (ELLIPSIS in letters)
        if n_left < 0 or (n_left and ELLIPSIS not in letters):
            facts = {"operand": number, "subscripts": "".join(letters)}
            expected = named_shape(" ".join(letters)) if letters else "()"
            raise EquationError("axes", {**facts, "expected": expected, "got": shape})
        counts.append(n_left)
    return counts


def _checked(number: int, shape: Shape) -> tuple[int, ...]:
    if not isinstance(shape, Iterable):
        raise TypeError(f"operand {number}: expected a shape, got {shape!r}")
    return tuple(check_count(f"operand {number}, its shape", n) for n in shape)


def _expand(letters: Sequence[str], widest: int, n: int) -> list[str]:
    """Put the names of the last n of the axes that '...' broadcasts to in its place."""
    names = [f"{ELLIPSIS}{axis}" for axis in range(widest - n, widest)]
    return [name for letter in letters for name in (names if letter == ELLIPSIS else [letter])]


def _sizes(parsed: Equation, shapes: Sequence[Shape]) -> dict[str, int]:
    subscripts = parsed.text.partition("->")[0].split(",")
    found: dict[str, int] = {}
    giver: dict[str, int] = {}  # the operand that settled a letter's size, counted from 1
    for number, (letters, shape) in enumerate(zip(parsed.operands, shapes, strict=True), 1):
        facts = {"operand": number, "subscripts": subscripts[number - 1]}
        own: dict[str, int] = {}
        for letter, n in zip(letters, shape, strict=True):
            # A diagonal is taken before anything broadcasts: within one operand 1 does not stretch.
            if own.setdefault(letter, n) != n:
                raise EquationError("diagonal", {**facts, "letter": letter, "got": (own[letter], n)})
            if n != 1 and found.get(letter, 1) not in (1, n):
                like = {"like": giver[letter], "like_subscripts": subscripts[giver[letter] - 1]}
                raise EquationError("size", {**facts, **like, "letter": letter, "expected": found[letter], "got": n})
            if found.get(letter, 1) == 1:
                found[letter], giver[letter] = n, number
    return found


def _where(operand: object, subscripts: object) -> str:
    return f"operand {operand} {subscripts!r}" if operand else f"output {subscripts!r}"
