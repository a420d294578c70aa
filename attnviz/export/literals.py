"""Tensors as Python reads them: every digit that float32 has, so that a program starts from the very numbers."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor

LISTED = 2_000  # numbers that a reader may still want to see; more are packed
UNPACK = '''\
def unpacked(text, *shape):
    """Return the float32 tensor that stands in `text`, its bytes in base64."""
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.float32).reshape(shape)
'''


def is_packed(tensor: Tensor) -> bool:
    """Say whether literal() packs a tensor, so that its program needs UNPACK and base64."""
    return tensor.numel() > LISTED


def literal(tensor: Tensor) -> str:
    """Return the expression that makes a float32 tensor again, bit by bit.

    >>> import torch
    >>> literal(torch.tensor([[0.1, -2.0]]))
    'torch.tensor([[0.1, -2.0]])'
    """
    if not is_packed(tensor):
        return (
            f"torch.tensor({_nested(tensor.tolist(), _shortest)})"
            if tensor.numel()
            else f"torch.zeros{tuple(tensor.shape)}"
        )
    numbers = tensor.contiguous().numpy()
    little = numbers if sys.byteorder == "little" else numbers.byteswap()
    text = base64.b64encode(little.tobytes()).decode("ascii")
    return f'unpacked("{text}", {", ".join(map(str, tensor.shape))})'


def mask_literal(mask: Tensor) -> str:
    """Return the expression that makes a bool tensor (s, u) again: a text of 0 and 1 for each row.

    >>> import torch
    >>> mask_literal(torch.tensor([[True, False]]))
    'torch.tensor([[int(c) for c in row] for row in ["10"]], dtype=torch.bool)'
    """
    rows = ", ".join('"' + "".join("01"[seen] for seen in row) + '"' for row in mask.tolist())
    return f"torch.tensor([[int(c) for c in row] for row in [{rows}]], dtype=torch.bool)"


def any_literal(tensor: Tensor) -> str:
    """Return the expression that makes a tensor of numbers or truths again, whatever its dtype.

    >>> import torch
    >>> any_literal(torch.tensor([1, 2])), any_literal(torch.tensor(0.1).double())
    ('torch.tensor([1, 2])', 'torch.tensor(0.10000000149011612, dtype=torch.float64)')
    """
    name = str(tensor.dtype)
    if name == "torch.float32":
        return literal(tensor)
    if name == "torch.bool" and tensor.ndim == 2:
        return mask_literal(tensor)
    values = _nested(tensor.tolist(), float_literal if tensor.is_floating_point() else repr)
    return (
        f"torch.tensor({values})" if name in ("torch.bool", "torch.int64") else f"torch.tensor({values}, dtype={name})"
    )


def float_literal(value: float) -> str:
    """Return the expression that makes a float again.

    >>> float_literal(0.1), float_literal(float("-inf"))
    ('0.1', 'float("-inf")')
    """
    text = repr(float(value))
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text


def _nested(values: Any, write: Callable[[Any], str]) -> str:
    if isinstance(values, list):
        return f"[{', '.join(_nested(value, write) for value in values)}]"
    return write(values)


def _shortest(value: float) -> str:
    """The shortest decimal that is this float32 again."""
    import numpy as np

    text = str(np.float32(value))
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text
