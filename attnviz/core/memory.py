"""Why the whole trace costs no more time than its output: memory that was freed is used again."""

from __future__ import annotations

import torch

# glibc raises its limit no further than this, and keeps twice the limit at the top of the heap.
_HIGHEST_LIMIT = 32 * 2**20
_FOR_ALIGNMENT = 2**16


def keep_freed_memory() -> None:
    """Have glibc keep up to 64 MB of freed memory, where it would hand back all above 25 MB or so.

    A trace of 12 heads of 512 tokens is 40 MB. Handed back after each use, its pages are fetched one by one
    at the next (9,000 page faults, 10 ms of 24). glibc sets its own limit by the largest block it has seen
    freed; so one block of the greatest size that counts is asked for and freed. It is never written to and
    takes no memory. Elsewhere this does nothing. Source: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.

    >>> keep_freed_memory()
    """
    torch.empty(_HIGHEST_LIMIT - _FOR_ALIGNMENT, dtype=torch.uint8, device="cpu")
