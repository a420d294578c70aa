"""A mask that a person drew, as a short text that fits a link: its size, a dot, and its cells as bits in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from attnviz.limits import DRAWN

Rows = tuple[tuple[bool, ...], ...]


def write_drawing(rows: Sequence[Sequence[bool]]) -> str:
    """Return the text of a square of cells, row by row, True = may attend.

    >>> write_drawing([[True, False], [True, True]])
    '2.sA'
    """
    n = len(rows)
    if not 1 <= n <= DRAWN or any(len(row) != n for row in rows):
        raise ValueError(f"rows must be a square of 1 to {DRAWN} rows, not of lengths {[len(row) for row in rows]}")
    bits = "".join("1" if cell else "0" for row in rows for cell in row)
    bits += "0" * (-len(bits) % 8)
    packed = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return f"{n}." + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def read_drawing(text: str) -> Rows:
    """Return the rows of a drawn mask; ValueError when the text is none.

    >>> read_drawing("2.sA")
    ((True, False), (True, True))
    """
    size, dot, code = text.partition(".")
    n = int(size) if size.isascii() and size.isdigit() and len(size) <= 3 else 0
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        packed = b""
    if not dot or not 1 <= n <= DRAWN or len(packed) != -(-n * n // 8):
        raise ValueError(f"drawn must be a size from 1 to {DRAWN}, a dot and the cells in base64, not {text[:40]!r}")
    bits = "".join(f"{byte:08b}" for byte in packed)
    return tuple(tuple(bit == "1" for bit in bits[row * n : (row + 1) * n]) for row in range(n))
