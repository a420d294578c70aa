"""Arrays that a file holds one by one, layer after layer, put together: arr_0, arr_1 ... as np.savez names a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.limits import FILE_DIMS
from attnviz.models.files_roles import Role

_NUMBER = re.compile(r"[0-9]{1,4}")


class Named(NamedTuple):
    """One array of a file, and what it is taken for."""

    name: str
    tensor: Tensor  # floating or bool; of whole numbers, float32
    role: Role
    layered: bool = False  # its first axis is the layers, which the file holds one by one


def together(arrays: Sequence[Named]) -> tuple[Named, ...]:
    """Make one array of those whose names differ in one number alone, counted from 0 or 1: (layer, ...).

    Only of arrays that are used for something, of one shape, dtype and role; the others stay as they are.

    >>> both = together([Named(f"layer.{i}.attn", torch.zeros(2, 3, 3), "weights") for i in (1, 0)])
    >>> [(each.name, tuple(each.tensor.shape)) for each in both]
    [('layer.0–1.attn', (2, 2, 3, 3))]
    """
    groups: dict[tuple[object, ...], list[tuple[int, Named]]] = {}
    for each in arrays:
        for digits in _NUMBER.finditer(each.name):
            around = (each.name[: digits.start()], each.name[digits.end() :])
            key = (*around, each.tensor.shape, each.tensor.dtype, each.role)
            groups.setdefault(key, []).append((int(digits[0]), each))
    taken: dict[str, Named] = {}  # by the name of an array, what it has become part of
    for (before, after, shape, *_rest), members in groups.items():
        members.sort(key=lambda member: member[0])
        numbers = [number for number, _each in members]
        first = numbers[0]
        whole = len(numbers) > 1 and first in (0, 1) and numbers == list(range(first, first + len(numbers)))
        fits = isinstance(shape, torch.Size) and len(shape) < FILE_DIMS[1] and members[0][1].role != "other"
        if whole and fits and not any(each.name in taken for _number, each in members):
            tensor = torch.stack([each.tensor for _number, each in members])
            made = Named(f"{before}{first}–{numbers[-1]}{after}", tensor, members[0][1].role, layered=True)
            taken |= {each.name: made for _number, each in members}
    found: dict[str, Named] = {}
    for each in arrays:
        one = taken.get(each.name, each)
        found[one.name] = one
    return tuple(found.values())
