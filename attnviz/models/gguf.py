"""GGUF files, in which llama.cpp keeps models: their metadata, and their tensors as float32.

Only what the format's third version has in every file, and three kinds of numbers: F32, Q8_0 and Q4_1. Source: the
format's description in the ggml project (docs/gguf.md) and its block layouts (ggml-common.h).
"""

from __future__ import annotations

import math
import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 32  # numbers of a quantised block
# By its number in the file: the name of a kind, the numbers of a block, and its bytes.
_KINDS = {0: ("F32", 1, 4), 8: ("Q8_0", _BLOCK, 34), 3: ("Q4_1", _BLOCK, 20)}
_MOST = 10_000_000  # entries of anything that a sound file has


class _Place(NamedTuple):
    """Where in the file a tensor lies."""

    shape: tuple[int, ...]
    kind: int
    start: int


class Gguf:
    """An open GGUF file; the tensors are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Read the metadata. Raises ValueError for a file that is no GGUF, ends early, or has other numbers."""
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                raise ValueError("path: expected a GGUF file, got an empty one")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._at = 0
        try:
            self.metadata, self._places = self._read()
        except (struct.error, IndexError, UnicodeDecodeError, KeyError) as error:
            raise ValueError(
                f"path: expected a whole GGUF file, got one that breaks off or is mixed up: {error}"
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors' names."""
        return tuple(self._places)

    def tensor(self, name: str) -> Tensor:
        """A tensor as float32, a copy: a matrix is (outputs, inputs), as torch.nn.Linear keeps it.

        Q8_0 is d * q of 32 whole numbers; Q4_1 is d * q + m of 32 from 0 to 15, of which a byte holds q_i and
        q_(i+16). Raises ValueError for a name that the file lacks.
        """
        if name not in self._places:
            raise ValueError(f"name: expected a tensor of the file, got {name!r}")
        shape, kind, start = self._places[name]
        _, per_block, n_bytes = _KINDS[kind]
        n_blocks = math.prod(shape) // per_block
        raw = torch.frombuffer(self._bytes, dtype=torch.uint8, count=n_blocks * n_bytes, offset=start)
        return _UNPACKED[kind](raw.reshape(n_blocks, n_bytes)).reshape(shape)

    def _read(self) -> tuple[dict[str, Any], dict[str, _Place]]:
        magic, version, n_tensors, n_entries = self._take("<4sIQQ")
        if magic != _MAGIC or version not in _VERSIONS:
            raise ValueError(
                f"path: expected a GGUF file of version 2 or 3, got one that begins with {magic!r} {version}"
            )
        if max(n_tensors, n_entries) > _MOST:
            raise ValueError(f"path: expected at most {_MOST} entries, got {max(n_tensors, n_entries)}")
        metadata = {}
        for _ in range(n_entries):
            key = self._string()
            metadata[key] = self._value(self._take("<I")[0])
        found = [self._place() for _ in range(n_tensors)]
        alignment = metadata.get("general.alignment", 32)
        begin = -(-self._at // alignment) * alignment
        places = {name: place._replace(start=begin + place.start) for name, place in found}
        for name, place in places.items():
            _, per_block, n_bytes = _KINDS[place.kind]
            if place.start + math.prod(place.shape) // per_block * n_bytes > len(self._bytes):
                raise ValueError(f"path: expected a whole GGUF file, got one that ends within tensor {name}")
        return metadata, places

    def _take(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize(layout)
        found = struct.unpack_from(layout, self._bytes, self._at)
        self._at += size
        return found

    def _string(self) -> str:
        (size,) = self._take("<Q")
        found = self._bytes[self._at : self._at + size]
        if len(found) < size:
            raise IndexError("within a string")
        self._at += size
        return found.decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._take("<" + _NUMBERS[kind])[0]
        of, size = self._take("<IQ")
        if size > _MOST:
            raise IndexError(f"an array of {size} entries")
        if of in _NUMBERS:
            return list(self._take(f"<{size}{_NUMBERS[of]}"))
        return [self._value(of) for _ in range(size)]

    def _place(self) -> tuple[str, _Place]:
        name = self._string()
        (n_axes,) = self._take("<I")
        shape = tuple(reversed(self._take(f"<{n_axes}Q")))  # the file has the fastest axis first
        kind, start = self._take("<IQ")
        if kind not in _KINDS:
            known = ", ".join(each for each, _, _ in _KINDS.values())
            raise ValueError(f"path: expected numbers of kind {known}, got kind {kind} in tensor {name}")
        return name, _Place(shape, kind, start)


def _from_f32(raw: Tensor) -> Tensor:
    return raw.view(torch.float32).clone()


def _from_q8_0(raw: Tensor) -> Tensor:
    d = raw[:, :2].contiguous().view(torch.float16).float()  # (blocks, 1)
    return raw[:, 2:].contiguous().view(torch.int8).float() * d


def _from_q4_1(raw: Tensor) -> Tensor:
    d, m = raw[:, :4].contiguous().view(torch.float16).float().split(1, dim=1)  # (blocks, 1) each
    packed = raw[:, 4:]
    q = torch.cat([packed & 15, packed >> 4], dim=1).float()  # (blocks, 32)
    return q.mul_(d).add_(m)


_UNPACKED = {0: _from_f32, 8: _from_q8_0, 3: _from_q4_1}
