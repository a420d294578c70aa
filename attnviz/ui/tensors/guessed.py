"""Which array takes which role where several files are held: the newest one's come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from attnviz.models.files import Named
from attnviz.models.files_axes import bring, readings
from attnviz.models.files_mask import Misfit


def roles(files: Sequence[Mapping[str, Named]]) -> dict[str, str]:
    """Return the name of the array of each role: of the newest file that has one; files stand from oldest to newest.

    Where these do not go together, older files are left out, the oldest first, as far as that helps.

    >>> import torch
    >>> old, new = (Named(name, torch.eye(2), "weights") for name in ("old", "new"))
    >>> roles([{"a: old": old}, {"b: new": new}])
    {'weights': 'b: new'}
    """
    for start in range(len(files)):
        found = _newest(files[start:])
        if _together({role: each.tensor for role, (_name, each) in found.items()}):
            return {role: name for role, (name, _each) in found.items()}
    return {role: name for role, (name, _each) in _newest(files).items()}


def _newest(files: Sequence[Mapping[str, Named]]) -> dict[str, tuple[str, Named]]:
    found: dict[str, tuple[str, Named]] = {}
    for file in reversed(files):
        taken = set(found)  # within a file, the first array of a role has it
        for name, each in file.items():
            if each.role not in taken and each.role != "other":
                found.setdefault(each.role, (name, each))
    return found


def _together(arrays: dict[str, Tensor]) -> bool:
    return any(_fits(arrays, axes) for axes in readings(arrays))


def _fits(arrays: dict[str, Tensor], axes: str) -> bool:
    try:
        bring(arrays, axes)
    except Misfit as error:
        return error.code == "finite"  # the right arrays, with numbers that are said to be none
    return True
