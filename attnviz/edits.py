"""Edited numbers: cells of a matrix, kept as a sorted tuple of (index, value), so that they hash and compare.

A cell outlives a change of the text or of the sizes: what lies outside the present shape waits, unused.
"""

import math
import struct
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

from attnviz.fields import shown
from attnviz.limits import LIMITS, LONG_TOKENS, SEQUENCES

Index = tuple[int, ...]
Cells = tuple[tuple[Index, float], ...]

# The axes of each field that can be edited, and the size of each axis at the most
LETTERS = {
    "x": ("b", "s", "m"),
    "w_q": ("m", "h*k"),
    "w_k": ("m", "h*k"),
    "w_v": ("m", "h*d"),
    "q": ("b", "s", "h*k"),
    "k": ("b", "u", "h*k"),
    "v": ("b", "u", "h*d"),
}
EDITS = tuple(LETTERS)
_FEATURES = int(LIMITS["d_k"].high * LIMITS["n_heads"].high)  # d_v has the limits of d_k
_MOST = {"b": SEQUENCES, "s": LONG_TOKENS, "u": LONG_TOKENS, "m": int(LIMITS["d_model"].high)}
_MOST |= {"h*k": _FEATURES, "h*d": _FEATURES}


def to_float32(value: float) -> float | None:
    """Return the float32 nearest to `value`, as a Python float; None when that is not finite.

    >>> to_float32(0.1), to_float32(1e39), to_float32(float("nan"))
    (0.10000000149011612, None, None)
    """
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None
    return rounded if math.isfinite(rounded) else None


def can_exist(name: str, index: Index) -> bool:
    """Say whether field `name` has a cell `index` (counted from 0) at the largest sizes that limits allow."""
    axes = LETTERS[name]
    return len(index) == len(axes) and all(0 <= i < _MOST[axis] for i, axis in zip(index, axes, strict=True))


def is_cells(value: Any) -> bool:
    """Say whether `value` is a tuple of cells (index tuple, number), not a whole matrix."""
    return isinstance(value, tuple) and all(
        isinstance(cell, tuple)
        and len(cell) == 2
        and isinstance(cell[0], tuple)
        and not isinstance(cell[1], list | tuple)
        for cell in value
    )


def check_cells(name: str, cells: Cells) -> Cells | None:
    """Return `cells` sorted, each once (the last counts), values rounded to float32; None when none are.

    ValueError when an index cannot exist or a value is not a finite number.
    """
    kept: dict[Index, float] = {}
    for index, value in cells:
        if not all(_is_whole(i) for i in index) or not can_exist(name, index):
            most = ", ".join(f"{axis} < {_MOST[axis]}" for axis in LETTERS[name])
            raise ValueError(f"an index of {name} must be whole numbers from 0, {most}, not {shown(index)}")
        kept[tuple(int(i) for i in index)] = check_value(name, index, value)
    return tuple(sorted(kept.items())) or None


def check_matrix(name: str, matrix: Any, shape: tuple[int, ...]) -> Cells:
    """Return every cell of a whole matrix, nested lists or a tensor; ValueError when it has another shape.

    x, q, k and v have shape (b, s, ...); two axes mean sequence 0.

    >>> check_matrix("w_q", [[1, 0]], (1, 2))
    (((0, 0), 1.0), ((0, 1), 0.0))
    """
    values = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    came = _shape(values)
    if came == shape:
        return tuple(_walk(name, values, shape, ()))
    if len(shape) == 3 and came == shape[1:]:
        return tuple(_walk(name, [values], (1, *shape[1:]), ()))
    named = [f"{axis}={size}" for axis, size in zip(LETTERS[name], shape, strict=True)]
    first = f" or, for sequence 0, ({', '.join(named[1:])})" if len(shape) == 3 else ""
    what = f"shape {came}" if came else shown(matrix)
    raise ValueError(f"{name} must have shape ({', '.join(named)}){first}, not {what}")


def check_value(name: str, index: Index, value: Any) -> float:
    """Return `value` rounded to float32; ValueError when it is no finite number."""
    number = None
    if _is_real(value):
        try:
            number = to_float32(float(value))
        except OverflowError:  # a whole number too large for a float
            number = None
    if number is None:
        raise ValueError(f"{name} at {index} must be a number that float32 can hold, not {shown(value)}")
    return number


# Python's own types first: asking the abstract ones, which know NumPy's too, is slow. A bool is no number.
def _is_whole(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_real(value: Any) -> bool:
    return type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))


def _shape(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list | tuple):
        return ()
    return (len(values), *(_shape(values[0]) if values else ()))


def _walk(name: str, values: Any, shape: tuple[int, ...], index: Index) -> Iterator[tuple[Index, float]]:
    if not shape:
        yield index, check_value(name, index, values)
    elif not isinstance(values, list | tuple) or len(values) != shape[0]:
        raise ValueError(f"{name} must have {shape[0]} numbers at {index}, as elsewhere, not {shown(values)}")
    else:
        for i, inner in enumerate(values):
            yield from _walk(name, inner, shape[1:], (*index, i))
