"""How many bytes of tensors are alive while a function runs: counted, not sampled, and so the same every time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Result = TypeVar("Result")


class _Counting(TorchDispatchMode):
    """Counts each storage that an operation makes, from its making to its end."""

    def __init__(self, known: Iterable[Tensor]) -> None:
        super().__init__()
        self.alive = self.peak = 0
        self._seen = {tensor.untyped_storage()._cdata for tensor in known}

    def _freed(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self.alive -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if not isinstance(tensor, Tensor):
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self._seen:
                continue
            self._seen.add(storage._cdata)
            self.alive += storage.nbytes()
            self.peak = max(self.peak, self.alive)
            weakref.finalize(storage, self._freed, storage._cdata, storage.nbytes())
        return result


def live_bytes(function: Callable[..., Result], *given: Tensor) -> tuple[Result, int, int]:
    """Return what function(*given) returns, the bytes it made that are alive at its end, and the most at any time.

    The tensors given do not count; what one operation uses within itself does not either.
    """
    counting = _Counting(given)
    with counting:
        result = function(*given)
    gc.collect()  # what only holds itself is not alive
    return result, counting.alive, counting.peak
