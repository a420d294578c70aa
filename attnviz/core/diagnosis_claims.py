"""What somebody hands over, as tensors: weights and output in the shapes that attention() gives."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from attnviz.core.masks import causal
from attnviz.core.shapes import check_floating, named_shape, widened


def read_weights(weights: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, str]:
    """Bring claimed weights to the shape (..., s, u), and say what they lacked: "", "averaged" or "transposed".

    Leading axes of size 1 may be missing or too many. Without the head axis they are one average for all heads;
    as (..., u, s) they are transposed. Raises TypeError for a dtype, ValueError for a shape that is none of these.

    >>> read_weights(torch.zeros(5, 3), (1, 4, 5, 3))[0].shape
    torch.Size([1, 4, 5, 3])
    >>> read_weights(torch.zeros(4, 3, 5), (1, 4, 5, 3))[1]
    'transposed'
    """
    check_floating("weights", weights, "... s u")
    wide, trailing = widened(weights), _bare(shape)
    if _bare(wide.shape) == trailing:
        return wide.reshape(shape), ""
    if shape[-1] != shape[-2] and _bare(wide.mT.shape) == trailing:
        return wide.mT.reshape(shape), "transposed"
    if len(shape) > 2 and _bare(wide.shape) == _bare((*shape[:-3], *shape[-2:])):
        return wide.reshape(*shape[:-3], 1, *shape[-2:]).expand(shape), "averaged"
    letters = named_shape("... s u", s=shape[-2], u=shape[-1])
    raise ValueError(f"weights: expected shape {letters}, here {shape}, got {tuple(weights.shape)}")


def read_output(output: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Bring a claimed output to the shape (..., h, s, d): heads may lie side by side, or stand behind the tokens.

    Also (..., s, h*d) and (..., s, h, d), in this order, where the shape itself does not fit. Raises TypeError for
    a dtype, ValueError for a shape that is none of these.

    >>> read_output(torch.arange(4.0).reshape(1, 4), (2, 1, 2)).tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    check_floating("output", output, "... s d")
    wide = widened(output)
    if _bare(wide.shape) == _bare(shape):
        return wide.reshape(shape)
    if len(shape) > 2:
        *leading, heads, n_query, d_v = shape
        for behind in ((*leading, n_query, heads * d_v), (*leading, n_query, heads, d_v)):
            if _bare(wide.shape) == _bare(behind):
                return wide.reshape(*leading, n_query, heads, d_v).transpose(-3, -2)
    letters = named_shape("... s d", s=shape[-2], d=shape[-1])
    raise ValueError(f"output: expected shape {letters}, here {shape}, or its heads merged, got {tuple(output.shape)}")


def coarsest(*tensors: Tensor | None) -> float:
    """The eps of the coarsest dtype among tensors; of float64 too, float32's is asked: nobody's mistake is smaller.

    >>> coarsest(torch.zeros(1), torch.zeros(1).half(), None)
    0.0009765625
    """
    return max(torch.finfo(x.dtype if x is not None else torch.float32).eps for x in (None, *tensors))


class Array(Protocol):
    """What says by itself how it becomes an array, as numpy's do."""

    def __array__(self) -> Any:
        """Return the array."""
        ...


def as_tensor(name: str, x: Tensor | Array) -> Tensor:
    """Return a tensor as it is, and make one of an array.

    Raises TypeError for what is neither, and for an array that holds no numbers.

    >>> as_tensor("query", torch.zeros(2).numpy())
    tensor([0., 0.])
    >>> as_tensor("query", [0.0, 0.0])
    Traceback (most recent call last):
    TypeError: query: expected a torch.Tensor or an array, got list
    """
    if isinstance(x, Tensor):
        return x
    if not hasattr(x, "__array__"):
        raise TypeError(f"{name}: expected a torch.Tensor or an array, got {type(x).__name__}")
    array = x.__array__()
    try:
        return torch.as_tensor(array.copy())  # torch takes no negative strides
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected numbers that torch can hold, got an array of {array.dtype}") from None


def read_mask(mask: Tensor | Array | Literal["causal"] | None, n_query: int, n_key: int) -> Tensor | None:
    """Make a tensor of a mask that may be the word "causal", which is masks.causal(s, u).

    Raises ValueError for another word, TypeError as as_tensor does.

    >>> read_mask("causal", 2, 2).int().tolist()
    [[1, 0], [1, 1]]
    """
    if isinstance(mask, str):
        if mask != "causal":
            raise ValueError(f"mask: expected a torch.Tensor, an array, 'causal' or None, got {mask!r}")
        return causal(n_query, n_key)
    return None if mask is None else as_tensor("mask", mask).detach()


def check_finite(name: str, x: Tensor) -> None:
    """Raise ValueError where an input has numbers that are not finite.

    >>> check_finite("key", torch.tensor([1.0, 0.0]).log())
    Traceback (most recent call last):
    ValueError: key: expected finite numbers, got 1 that are NaN or infinite
    """
    n = int((~x.isfinite()).sum())
    if n:
        raise ValueError(f"{name}: expected finite numbers, got {n} that are NaN or infinite")


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the leading axes of size 1."""
    leading = list(shape[:-2])
    while leading and leading[0] == 1:
        leading.pop(0)
    return (*leading, *shape[-2:])
