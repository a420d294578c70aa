"""Any einsum on the reader's own numbers: which tensor each operand is, how far each letter runs, and the check.

Letters are read as the design uses them where that gives tensors for all operands: 'bsk,buk->bsu' is Q and K. Other
letters are read by position, so that 'bik,bjk->bij' is Q and K as well. What is no tensor of the reader's is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.einsum import Equation, EquationError, einsum, element, loop, parse
from attnviz.core.einsum_parse import ELLIPSIS
from attnviz.labs.equation_loops import Loop, write
from attnviz.labs.equation_sizes import SizesError, choose_sizes, read_sizes
from attnviz.labs.equation_tensors import AXES, drawn, free_of, literally, names, own_tensors, recognise, taken
from attnviz.labs.equation_text import read_index, tidy

__all__ = [
    "Check",
    "EquationError",
    "Problem",
    "SizesError",
    "check",
    "difference",
    "drawn",
    "loop_of",
    "own_tensors",
    "pose",
    "read_index",
    "result",
    "run_loop",
    "source",
    "tidy",
]

MAX_RUN = 5_000  # steps of the loop that is run: some 3 ms
CHECKED = 4  # elements that are checked where the loop is not run
MAX_CHECKED = 200_000  # terms of them, unless one alone has more


class Problem(NamedTuple):
    """An equation with all that it takes to run it."""

    equation: Equation  # the axes of '...' named
    operands: tuple[Tensor, ...]
    names: tuple[str, ...]  # of the operands, Python names that no letter has
    output: str  # of the result
    own: tuple[str, ...]  # of each operand which tensor of the reader's it is, "" for one that is drawn
    sizes: dict[str, int]
    meaning: dict[str, str]  # letter -> the design's letter for its axis, no two letters the same
    cut: dict[str, int]  # letter -> how long the reader's own axis is, of which the beginning is taken
    known: str  # the equation of KNOWN that it is, "" for none

    @property
    def steps(self) -> int:
        """How many products there are, which is how often the innermost line of the loop runs."""
        return math.prod(self.sizes.values())

    @property
    def terms(self) -> int:
        """How many terms one element of the result has."""
        return math.prod(self.sizes[letter] for letter in self.equation.summed)


class Check(NamedTuple):
    """The loop beside torch.einsum."""

    looped: Tensor | None  # what the loop made; None where it did not run
    elements: tuple[tuple[int, ...], ...]  # of the result, which were compared where it did not
    difference: float  # the largest; NaN where one side has a number and the other none


def pose(
    text: str,
    sizes: str,
    tensors: Mapping[str, Tensor],
    at: Mapping[str, int],
    *,
    letters: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Problem:
    """Set up the equation that was typed, with the sizes that were typed, on the reader's own tensors.

    at: which sequence b and which head h are taken where the equation has none; letters: the reader's own for the
    design's, such as {"i": "s"}; seed: of the numbers that are drawn. Raises EquationError for an equation that says
    nothing, SizesError for sizes that cannot be read or are too large together.
    """
    bare = parse(tidy(text))
    known, meaning = recognise(bare, letters or {})
    lengths = {letter: n for name, axes in AXES.items() for letter, n in zip(axes, tensors[name].shape, strict=True)}
    whole = {letter: lengths[ours] for letter, ours in meaning.items()}
    size, dots = choose_sizes(bare, whole, read_sizes(sizes))

    operands: list[Tensor] = []
    own: list[str] = []
    for number, letters_of in enumerate(bare.operands):
        name = known[1].split()[number] if known else literally(letters_of, meaning)
        if name and all(size[letter] <= whole[letter] for letter in letters_of):
            x = taken(tensors[name], AXES[name], [meaning[letter] for letter in letters_of], at)
            operands.append(x[tuple(slice(size[letter]) for letter in letters_of)])
            own.append(name)
        else:
            shape = [n for letter in letters_of for n in (dots if letter == ELLIPSIS else (size[letter],))]
            operands.append(drawn(number, shape, seed))
            own.append("")

    parsed = parse(bare, [x.shape for x in operands])
    runs = size | {f"{ELLIPSIS}{axis}": n for axis, n in enumerate(dots)}
    runs = {letter: runs[letter] for letter in dict.fromkeys(a for operand in parsed.operands for a in operand)}
    variables = {letter.replace(ELLIPSIS, "axis_") for letter in runs}
    ours = {letter for letters_of, name in zip(bare.operands, own, strict=True) if name for letter in letters_of}
    fits = known if known and all(own) else ("", "", "out")
    return Problem(
        equation=parsed,
        operands=tuple(operands),
        names=names(own, operands, variables),
        output=free_of(fits[2], variables),
        own=tuple(own),
        sizes=runs,
        meaning=meaning,
        cut={letter: whole[letter] for letter in runs if letter in ours and size[letter] < whole[letter]},
        known=fits[0],
    )


def result(problem: Problem) -> Tensor:
    """What torch.einsum gives."""
    return einsum(problem.equation, *problem.operands)


def source(problem: Problem) -> str:
    """The loops of the problem as Python that runs."""
    shapes = [tuple(x.shape) for x in problem.operands]
    return loop(problem.equation, shapes, names=problem.names, output=problem.output)


def loop_of(problem: Problem) -> tuple[Loop, tuple[Tensor, ...]]:
    """The loops of the problem as a function, and what it is to be given."""
    given = dict(zip(problem.names, problem.operands, strict=True))
    return write(source(problem), problem.names, problem.output), tuple(given.values())


def run_loop(problem: Problem) -> Tensor:
    """Run the source of the problem, as it is shown, and return its result."""
    run, given = loop_of(problem)
    return run(*given)


def check(problem: Problem, found: Tensor, index: Sequence[int]) -> Check:
    """Compare what torch.einsum found with the loop, or with a few elements where that would take too long.

    The elements are the one at `index`, the first, the last and the largest, as many of them as is quickly done.
    """
    if problem.steps <= MAX_RUN:
        looped = run_loop(problem)
        return Check(looped, (), difference(looped, found))
    n = max(1, min(CHECKED, MAX_CHECKED // problem.terms))
    flat = (0, found.numel() - 1, int(found.nan_to_num().abs().argmax()))
    places = [tuple(index), *(tuple(int(i) for i in torch.unravel_index(torch.tensor(f), found.shape)) for f in flat)]
    chosen = tuple(dict.fromkeys(places))[:n]
    totals = [element(problem.equation, problem.operands, at, max_terms=problem.terms).total for at in chosen]
    by_torch = torch.stack([found[at] for at in chosen]).to(torch.float64)
    return Check(None, chosen, difference(torch.tensor(totals, dtype=torch.float64), by_torch))


def difference(one: Tensor, other: Tensor) -> float:
    """The largest difference of two tensors of one shape; the same infinity or NaN twice is none.

    >>> difference(torch.tensor([1.0, torch.inf]), torch.tensor([1.5, torch.inf]))
    0.5
    """
    same = (one == other) | (one.isnan() & other.isnan())
    apart = torch.where(same, 0.0, (one - other).abs())
    return float(apart.max()) if apart.numel() else 0.0
