"""What is said when an argument does not fit: its name, what was expected, and what came."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
from torch import Tensor


def check_shape(name: str, x: Tensor, letters: str, **sizes: int) -> None:
    """Raise unless the axes of x are the letters, of the sizes given; a leading "..." stands for any axes.

    Raises TypeError when x is no tensor, ValueError when its shape does not fit.

    >>> check_shape("key", torch.zeros(2, 5, 4), "... u k", k=4)
    >>> check_shape("key", torch.zeros(2, 5, 3), "... u k", k=4)
    Traceback (most recent call last):
    ValueError: key: expected shape (..., u, k=4), got (2, 5, 3)
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, got {type(x).__name__}")
    axes = letters.replace("...", "").split()
    n_leading = x.ndim - len(axes)
    n_leading_fits = n_leading >= 0 if letters.startswith("...") else n_leading == 0
    if not n_leading_fits or any(sizes.get(a, n) != n for a, n in zip(axes, x.shape[n_leading:], strict=True)):
        raise ValueError(f"{name}: expected shape {named_shape(letters, **sizes)}, got {tuple(x.shape)}")


def named_shape(letters: str, **sizes: int) -> str:
    """A shape written by letters, with the sizes that are known.

    >>> named_shape("... u k", k=4)
    '(..., u, k=4)'
    >>> named_shape("k", k=4)
    '(k=4,)'
    """
    axes = [f"{a}={sizes[a]}" if a in sizes else a for a in letters.split()]
    return f"({axes[0]},)" if len(axes) == 1 else f"({', '.join(axes)})"


def check_dtype(name: str, x: Tensor, like: str, dtype: torch.dtype) -> None:
    """Raise TypeError unless x has the floating dtype of the tensor named `like`.

    >>> check_dtype("key", torch.zeros(2).half(), "query", torch.float32)
    Traceback (most recent call last):
    TypeError: key: expected dtype torch.float32 as query has, got torch.float16
    """
    if not dtype.is_floating_point:
        raise TypeError(f"{like}: expected a floating dtype, got {dtype}")
    if x.dtype != dtype:
        raise TypeError(f"{name}: expected dtype {dtype} as {like} has, got {x.dtype}")


def check_floating(name: str, x: Tensor, letters: str) -> None:
    """Raise unless x is of a floating dtype, with the axes that check_shape reads from the letters.

    >>> check_floating("weights", torch.zeros(2, 5, dtype=torch.int64), "... s u")
    Traceback (most recent call last):
    TypeError: weights: expected a floating dtype, got torch.int64
    """
    check_shape(name, x, letters)
    check_dtype(name, x, name, x.dtype)


def widened(x: Tensor) -> Tensor:
    """Half precision as float32, so that a sum of many numbers is rounded once, at the end.

    >>> widened(torch.zeros(2).half()).dtype, widened(torch.zeros(2).double()).dtype
    (torch.float32, torch.float64)
    """
    return x.float() if x.element_size() < 4 else x


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The shape that the shapes broadcast to, or None when they do not.

    >>> broadcast((2, 1), (3,)), broadcast((2,), (3,))
    ((2, 3), None)
    """
    # torch.broadcast_shapes says the same, in 20 microseconds and by an exception.
    n_axes = max(map(len, shapes), default=0)
    sizes = [1] * n_axes
    for shape in shapes:
        for axis, size in enumerate(shape, n_axes - len(shape)):
            if size != 1:
                if sizes[axis] not in (1, size):
                    return None
                sizes[axis] = size
    return tuple(sizes)


def meet(index: Sequence[int], full: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Where a tensor of `shape`, broadcast to `full` or its heads repeated, is read for the cell at `index`.

    i * size // n is i where the sizes agree, 0 where one number serves all, and the key head of query head i
    where n query heads share `size` key heads: with 6 on 2, query head 4 reads key head 4 * 2 // 6 = 1.

    >>> meet((1, 4, 3), (2, 6, 5), (2, 1))  # the last two axes: (6, 5) read from (2, 1)
    (1, 0)
    """
    skipped = len(full) - len(shape)
    return tuple(i * size // n for i, n, size in zip(index[skipped:], full[skipped:], shape, strict=True))


def check_count(name: str, n: int, low: int = 0) -> int:
    """Return n as an int; raise unless it is a whole number of at least `low`.

    >>> check_count("n_heads", 0, low=1)
    Traceback (most recent call last):
    ValueError: n_heads: expected a whole number of at least 1, got 0
    """
    try:
        whole = operator.index(n)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number of at least {low}, got {n!r}") from None
    if whole < low:
        raise ValueError(f"{name}: expected a whole number of at least {low}, got {n!r}")
    return whole


def check_whole(name: str, n: int) -> int:
    """Return n as an int; raise TypeError unless it is a whole number, which may be negative.

    >>> check_whole("offset", 0.5)
    Traceback (most recent call last):
    TypeError: offset: expected a whole number, got 0.5
    """
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {n!r}") from None
