"""How much memory is free, and giving back what was freed."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from attnviz.limits import MODEL_MEMORY
from attnviz.models.refusals import Refused

_MEMINFO = Path("/proc/meminfo")
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def free_memory() -> int | None:
    """Bytes that this process may still take, by the system and by a container's limit; None where nobody says.

    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    free = []
    if _MEMINFO.exists():
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free.append(1024 * int(line.split()[1]))
    if _LIMIT.exists() and _USED.exists():
        limit = _LIMIT.read_text(encoding="ascii").strip()
        if limit.isdigit():  # else "max", which is none
            free.append(max(0, int(limit) - int(_USED.read_text(encoding="ascii"))))
    return min(free, default=None)


def check_memory(model: str, needed: int) -> None:
    """Raise Refused "memory" when a model of so many bytes would not fit."""
    free = free_memory()
    if free is not None and needed > MODEL_MEMORY * free:
        raise Refused("memory", model=model, needed=needed // 10**6, free=free // 10**6)


def give_back() -> None:
    """Hand memory that was freed back to the system, where the C library would keep it (glibc: malloc_trim(3))."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
