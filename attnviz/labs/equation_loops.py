"""The loop that an equation is, as a function that is written and then run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Loop:
    """A function that computes a tensor of others; called, it runs the very text that says what it does."""

    code: str  # of a function that is called loop
    parameters: tuple[str, ...]

    def __call__(self, *operands: Tensor) -> Tensor:
        """Return what the loop makes of the operands, which are on the CPU and of a dtype that NumPy has.

        It is given their numbers as arrays: one by one NumPy reads, adds and writes them as torch does, to the last
        bit, in a twentieth of the time.
        """
        variables: dict[str, Any] = {}
        # Made by core.einsum.loop of letters, sizes and names that were checked: nothing typed stands in it.
        exec(compile(self.code, "<loop>", "exec"), variables)  # noqa: S102
        with np.errstate(all="ignore"):  # infinity and NaN come silently, as torch's do
            made = variables["loop"](*(x.detach().numpy().view(_Numbers) for x in operands))
        return torch.from_numpy(np.asarray(made))


class _Numbers(np.ndarray):
    """A tensor's numbers, in the same memory, with what the text of a loop calls."""

    def new_zeros(self, *shape: Any) -> _Numbers:
        return np.zeros(shape[0] if shape == ((),) else shape, self.dtype).view(_Numbers)


def write(source: str, names: Sequence[str], output: str) -> Loop:
    """Return the function of a loop: its source, the names of the operands in it, and of what it makes.

    >>> squared = write("B = A.new_zeros(1)\\nfor i in range(1): B[i] = A[i] * A[i]", ["A", "A"], "B")
    >>> squared(torch.tensor([3.0])).tolist()
    [9.0]
    >>> print(squared.code)
    def loop(A):
        B = A.new_zeros(1)
        for i in range(1): B[i] = A[i] * A[i]
        return B
    """
    parameters = tuple(dict.fromkeys(names))  # the same tensor twice is given once
    return Loop(f"def loop({', '.join(parameters)}):\n{indent(source, '    ')}\n    return {output}", parameters)
