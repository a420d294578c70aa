"""An einsum unrolled: the loop that it is, the terms of one element, and torch's own, with errors that say what."""

from __future__ import annotations

import keyword
import math
import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from attnviz.core.einsum_parse import ELLIPSIS, Equation, EquationError, Shape, check_n_operands, parse, sizes
from attnviz.core.einsum_terms import Element, unrolled

__all__ = ["Element", "Equation", "EquationError", "einsum", "element", "loop", "parse", "sizes"]

MAX_NESTED = 20  # Python nests no more for loops than that
MAX_TERMS = 1_000_000  # of one element: 8 MB for each operand and each summed letter


def einsum(equation: str | Equation, *operands: Tensor) -> Tensor:
    """torch.einsum, its errors saying which operand, which letter, what was expected and what came.

    Raises EquationError (a ValueError) for an equation or shapes that do not fit, TypeError for what is no tensor or
    for dtypes that torch does not multiply with each other. Source: torch.einsum.

    >>> einsum("bsk,buk->bsu", torch.ones(1, 2, 4), torch.ones(1, 3, 4)).tolist()
    [[[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]]
    """
    parsed = parse(equation, _shapes(equation, operands))
    try:
        return torch.einsum(parsed.text, *operands)
    except RuntimeError:
        # Which dtypes go together depends on the way torch takes, so torch is asked, and its answer worded.
        for number, x in enumerate(operands[1:], 2):
            for kind in ("dtype", "device"):
                wanted, came = getattr(operands[0], kind), getattr(x, kind)
                if wanted != came:
                    where, first = _label(parsed, number), _label(parsed, 1)
                    raise TypeError(f"{where}: expected {kind} {wanted} as {first} has, got {came}") from None
        raise


def loop(
    equation: str | Equation,
    shapes: Sequence[Shape] | None = None,
    *,
    names: Sequence[str] | None = None,
    output: str = "out",
) -> str:
    """The loops that an einsum is, as Python that runs: kept letters outside, summed ones inside.

    names: of the operands, x1, x2, ... when None; output: of the result. With shapes every size is written as a
    number, and 0 where an axis of size 1 is stretched; without, sizes are read off the operands, none is stretched,
    and '...' is refused. An axis of '...' is called axis_0, axis_1, ... More letters than Python nests loops
    are run through by one loop. The result has the dtype of the first operand.
    Raises as `parse` does, and ValueError for names that cannot be used.

    >>> print(loop("sk,uk->su", [(2, 4), (3, 4)], names=("Q", "K"), output="S"))
    S = Q.new_zeros(2, 3)
    for s in range(2):
        for u in range(3):
            for k in range(4):
                S[s, u] += Q[s, k] * K[u, k]
    """
    parsed = parse(equation, shapes)
    if shapes is None and any(ELLIPSIS in letters for letters in parsed.operands):
        raise EquationError("unknown_axes", {"equation": parsed.text})
    names = [f"x{number}" for number in range(1, len(parsed.operands) + 1)] if names is None else list(names)
    letters = [*parsed.output, *parsed.summed]
    _check_names(names, output, [_variable(letter) for letter in letters], len(parsed.operands))

    lengths: dict[str, str] = {}
    if shapes is None:
        for name, axes in zip(names, parsed.operands, strict=True):
            for axis, letter in enumerate(axes):
                lengths.setdefault(letter, f"{name}.shape[{axis}]")
    else:
        lengths = {letter: str(n) for letter, n in sizes(parsed, shapes).items()}

    factors = []
    for number, (name, axes) in enumerate(zip(names, parsed.operands, strict=True)):
        stretched = [shapes is not None and shapes[number][i] == 1 for i in range(len(axes))]
        places = ["0" if one and lengths[a] != "1" else _variable(a) for a, one in zip(axes, stretched, strict=True)]
        factors.append(_cell(name, places))
    # Where nothing is summed each element is set once; a result without axes has no place to set.
    sign = "+=" if parsed.summed or not parsed.output else "="
    step = f"{_cell(output, [_variable(a) for a in parsed.output])} {sign} {' * '.join(factors)}"
    shape = ", ".join(lengths[a] for a in parsed.output) or "()"
    heads = [f"for {_variable(a)} in range({lengths[a]}):" for a in letters]
    lines = [f"{output} = {names[0]}.new_zeros({shape})"]
    if len(letters) > MAX_NESTED:
        together, ranges = ", ".join(map(_variable, letters)), ", ".join(f"range({lengths[a]})" for a in letters)
        lines = ["import itertools", *lines]
        heads = [f"for {together} in itertools.product({ranges}):"]
    return "\n".join([*lines, *("    " * depth + line for depth, line in enumerate([*heads, step]))])


def element(
    equation: str | Equation, operands: Sequence[Tensor], index: Sequence[int], *, max_terms: int = MAX_TERMS
) -> Element:
    """The terms of one element of the result: one product for each combination of the summed letters.

    index: one number for each letter of the output. Everything is computed again in float64, so the total agrees with
    torch.einsum's element within `tolerance`, unless a number left its dtype's range on the way.
    Raises as `parse` does; ValueError for an index outside the result and for more than max_terms terms; TypeError
    for what is no tensor and for complex numbers.

    >>> found = element("sk,uk->su", [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])], (0, 0))
    >>> found.index, found.summed["k"].tolist(), found.products.tolist(), found.total
    ({'s': 0, 'u': 0}, [0, 1], [3.0, 8.0], 11.0)
    """
    shapes = _shapes(equation, operands)
    parsed, size = parse(equation, shapes), sizes(equation, shapes)
    for number, x in enumerate(operands, 1):
        if x.is_complex():
            raise TypeError(f"{_label(parsed, number)}: expected a real dtype, got {x.dtype}")
    at = dict(zip(parsed.output, _checked(index, [size[a] for a in parsed.output]), strict=True))
    n_terms = math.prod(size[letter] for letter in parsed.summed)
    if n_terms > max_terms:
        spelt = " * ".join(f"{letter}={size[letter]}" for letter in parsed.summed)
        raise ValueError(f"operands: expected at most {max_terms} terms in one element, got {spelt} = {n_terms}")

    return unrolled(operands, parsed.operands, at, {letter: size[letter] for letter in parsed.summed})


def _shapes(equation: str | Equation, operands: Sequence[Tensor]) -> list[tuple[int, ...]]:
    parsed = parse(equation)
    check_n_operands(parsed.text, len(parsed.operands), len(operands))
    for number, x in enumerate(operands, 1):
        if not isinstance(x, Tensor):
            raise TypeError(f"{_label(parsed, number)}: expected a torch.Tensor, got {type(x).__name__}")
    return [tuple(x.shape) for x in operands]


def _label(parsed: Equation, number: int) -> str:
    return f"operand {number} {parsed.text.partition('->')[0].split(',')[number - 1]!r}"


def _variable(letter: str) -> str:
    """The letter as a Python name: '...0' is axis_0."""
    return letter.replace(ELLIPSIS, "axis_")


def _cell(name: str, places: Sequence[str]) -> str:
    return f"{name}[{', '.join(places)}]" if places else name


def _check_names(names: Sequence[str], output: str, variables: Sequence[str], n_operands: int) -> None:
    if len(names) != n_operands:
        raise ValueError(f"names: expected {n_operands}, one for each operand, got {len(names)}")
    taken = {*variables, "range", "itertools"}
    for argument, name in [*(("names", name) for name in names), ("output", output)]:
        if not name.isidentifier() or keyword.iskeyword(name) or name in taken:
            raise ValueError(f"{argument}: expected a Python name that the loop does not use itself, got {name!r}")
    if output in names:
        raise ValueError(f"output: expected a name other than the operands', got {output!r}")


def _checked(index: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The index as ints, each of them within the axis it belongs to."""
    try:
        whole = tuple(operator.index(i) for i in index)
    except TypeError:
        whole = ()
    if len(whole) != len(shape) or not all(0 <= i < n for i, n in zip(whole, shape, strict=True)):
        raise ValueError(
            f"index: expected {len(shape)} whole numbers from 0 below the result's shape {tuple(shape)}, got {index}"
        )
    return whole
