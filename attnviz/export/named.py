"""What a tensor is called in a program: a name that it has already, with the index that makes it a piece of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor

MOST_AXES = 4  # of a tensor whose axes may stand in another order


def tensors(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in what a function returned, by what a program calls them.

    >>> [name for name, _tensor in tensors("made", (torch.ones(1), [torch.ones(2)]))]
    ['made[0]', 'made[1][0]']
    """
    if isinstance(value, Tensor):
        yield name, value
    elif hasattr(value, "_fields"):
        for field in value._fields:
            yield from tensors(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, tuple | list):
        for i, one in enumerate(value):
            yield from tensors(f"{name}[{i}]", one)


def groups(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tuples and lists in what a function returned, itself among them, by what a program calls them.

    >>> dict(groups("made", (1, [2, 3])))
    {'made': (1, [2, 3]), 'made[1]': [2, 3]}
    """
    if isinstance(value, tuple | list) and value:
        yield name, value
        fields = getattr(value, "_fields", None)
        for i, one in enumerate(value):
            yield from groups(f"{name}.{fields[i]}" if fields else f"{name}[{i}]", one)


def expression(tensor: Tensor, known: Mapping[str, Tensor], *, copies: bool = False) -> str | None:
    """Return what gives a tensor, one of the known by itself or a piece of it; None where none does.

    A piece is known by the memory that it shares. copies: also one that shares none, but has the same numbers.

    >>> whole = torch.arange(24).reshape(2, 3, 4)
    >>> expression(whole[1, :2], {"Q": whole}), expression(whole[0].mT, {"Q": whole})
    ('Q[1, :2]', 'Q[0].mT')
    >>> expression(whole.permute(2, 0, 1)[:2], {"Q": whole})
    'Q[:, :, :2].permute(2, 0, 1)'
    >>> expression(whole[0, 0][None], {"row": whole[0, 0]})
    'row[None]'
    """
    for name, whole in known.items():
        if _piece(tensor, whole) == "":  # itself, before a piece of which it is a view
            return name
    for name, whole in known.items():
        if (found := _piece(tensor, whole)) is not None:
            return name + found
        if tensor.ndim > 1 and (found := _piece(tensor.mT, whole)) is not None:
            return name + found + ".mT"
    for name, whole in known.items():
        for order in permutations(range(tensor.ndim)) if 2 < tensor.ndim <= MOST_AXES else ():
            back = [order.index(axis) for axis in range(tensor.ndim)]
            if (found := _piece(tensor.permute(order), whole)) is not None:
                return f"{name}{found}.permute({', '.join(map(str, back))})"
    if 0 < tensor.ndim <= 2 and tensor.shape[0] == 1 and (one := expression(tensor[0], known)) is not None:
        return f"{one}[None]"  # a vector, or a number, as the matrix that it is drawn as
    if not copies:
        return None
    for name, whole in known.items():
        for turned, how in ((whole, ""), *([(whole.mT, ".mT")] if whole.ndim > 1 else [])):
            if (at := _same(tensor, turned)) is not None:
                return name + how + at
    return None


def _piece(tensor: Tensor, whole: Tensor) -> str | None:
    """The index that makes `tensor` of `whole`, "" for none; None where they do not share memory in that way."""
    if tensor.dtype != whole.dtype or not tensor.numel() or not whole.numel():
        return None
    if tensor.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr():
        return None
    offset = int(tensor.storage_offset()) - int(whole.storage_offset())
    starts = _starts(offset, whole)
    kept = None if starts is None else _kept(tensor.shape, tensor.stride(), whole, starts)
    if starts is None or kept is None:
        return None
    sizes = dict(zip(kept, tensor.shape, strict=True))
    index = [
        _slice(start, sizes[axis], size) if axis in sizes else str(start)
        for axis, (start, size) in enumerate(zip(starts, whole.shape, strict=True))
    ]
    while index and index[-1] == ":":
        index.pop()
    return f"[{', '.join(index)}]" if index else ""


def _starts(offset: int, whole: Tensor) -> list[int] | None:
    """Where in `whole` the number stands that is so far into it."""
    starts = [0] * whole.ndim
    for axis in sorted(range(whole.ndim), key=whole.stride, reverse=True):
        if whole.shape[axis] > 1 and whole.stride(axis):
            starts[axis] = min(offset // whole.stride(axis), whole.shape[axis] - 1)
            offset -= starts[axis] * whole.stride(axis)
    return starts if offset == 0 and min(starts, default=0) >= 0 else None


def _kept(shape: Sequence[int], strides: Sequence[int], whole: Tensor, starts: Sequence[int]) -> Sequence[int] | None:
    """The axes of `whole` that are the axes of a piece of it, in their order."""

    def fits(i: int, axis: int) -> bool:
        same = strides[i] == whole.stride(axis) or shape[i] == 1
        return same and starts[axis] + shape[i] <= whole.shape[axis]

    fitting = [
        axes
        for axes in combinations(range(whole.ndim), len(shape))
        if all(fits(i, axis) for i, axis in enumerate(axes))
    ]

    def whole_axes(axes: Sequence[int]) -> int:
        return sum(whole.shape[axis] == n for axis, n in zip(axes, shape, strict=True))

    # Of axes that are one long several may fit: rather one that is whole, else the last.
    return max(fitting, key=lambda axes: (whole_axes(axes), axes), default=None)


def _slice(start: int, size: int, of: int) -> str:
    end = "" if start + size == of else str(start + size)
    return f"{start or ''}:{end}"


def _same(tensor: Tensor, whole: Tensor) -> str | None:
    """The index of the leading axes that gives the same numbers."""
    lead = whole.ndim - tensor.ndim
    if lead < 0 or tensor.shape != whole.shape[lead:]:
        return None
    for i, piece in enumerate(whole.reshape(-1, *tensor.shape)):
        if tensor.dtype == piece.dtype and _equal(tensor, piece):
            at = [int(n) for n in torch.unravel_index(torch.tensor(i), whole.shape[:lead])] if lead else []
            return f"[{', '.join(map(str, at))}]" if at else ""
    return None


def _equal(left: Tensor, right: Tensor) -> bool:
    return bool(((left == right) | (left.isnan() & right.isnan())).all())
