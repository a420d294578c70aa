"""NumPy's .npy and .npz as tensors, read without NumPy: never an object array, never more than a limit unpacked.

Source: NumPy's format description (numpy.lib.format), versions 1 to 3.
"""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import zipfile
import zlib

import torch
from torch import Tensor

from attnviz.limits import FILE_TENSORS, FILE_TOKENS, FILE_UNPACKED_BYTES
from attnviz.models.files_refused import FileRefused

MAGIC = b"\x93NUMPY"
_BROKEN = (ValueError, SyntaxError, LookupError, TypeError, struct.error, RecursionError, MemoryError)
_DTYPES = {
    "f2": torch.float16, "f4": torch.float32, "f8": torch.float64, "b1": torch.bool,
    "V2": torch.bfloat16,  # as ml_dtypes writes it, which has no name of its own in NumPy
    "i1": torch.int8, "i2": torch.int16, "i4": torch.int32, "i8": torch.int64, "u1": torch.uint8,
}  # fmt: skip


def read_npy(data: bytes, file: str, name: str = "array") -> Tensor:
    """Read the one array of a .npy file. Raises FileRefused for what breaks off or holds no numbers.

    >>> header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}".ljust(117) + b"\\n"
    >>> read_npy(MAGIC + b"\\x01\\x00" + struct.pack("<H", 118) + header + struct.pack("<2f", 1.0, 2.0), "a.npy")
    tensor([1., 2.])
    """
    start, descr, fortran, shape = _header(data, file)
    if not isinstance(descr, str) or "O" in descr:
        raise FileRefused("objects", file=file, name=name)
    dtype = _DTYPES.get(descr[1:])
    if dtype is None:
        raise FileRefused("numbers", file=file, name=name, got=descr)
    n_bytes = math.prod(shape) * dtype.itemsize
    if len(data) - start != n_bytes:
        raise FileRefused("corrupt", file=file, why=f"{name} needs {n_bytes} bytes, and {len(data) - start} are there")
    if not n_bytes:
        return torch.empty(shape, dtype=dtype)
    raw = torch.frombuffer(bytearray(data[start:]), dtype=torch.uint8).reshape(-1, dtype.itemsize)
    if descr[0] == ">" and dtype.itemsize > 1:
        raw = raw.flip(1).contiguous()
    flat = raw.view(dtype).flatten()
    return flat.reshape(shape[::-1]).permute(*reversed(range(len(shape)))) if fortran else flat.reshape(shape)


def _header(data: bytes, file: str) -> tuple[int, object, bool, tuple[int, ...]]:
    """Where the numbers begin, what they are, in which order, and their shape."""
    try:
        wide = data[6] > 1
        (length,) = struct.unpack_from("<I" if wide else "<H", data, 8)
        start = (12 if wide else 10) + length
        if length > 10_000 or start > len(data):
            raise ValueError("its header is longer than the file or than headers are")
        header = ast.literal_eval(data[start - length : start].decode("latin-1").strip())
        descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
        if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("its shape is none")
    except _BROKEN as error:
        raise FileRefused("corrupt", file=file, why=error) from None
    return start, descr, fortran, shape


def _words(data: bytes, file: str) -> tuple[str, ...] | None:
    """The strings of an array of one axis, as np.array(["the", "cat"]) saves them; None of anything else."""
    start, descr, _fortran, shape = _header(data, file)
    if not isinstance(descr, str) or not re.fullmatch("[<>]U[1-9][0-9]{0,4}", descr) or len(shape) != 1:
        return None
    size = 4 * int(descr[2:])
    if len(data) - start != shape[0] * size:
        return None
    code = "utf-32-le" if descr[0] == "<" else "utf-32-be"
    ends = range(start, min(len(data), start + size * FILE_TOKENS), size)
    return tuple(data[at : at + size].decode(code, "replace").rstrip("\0") for at in ends)


def read_npz(data: bytes, file: str) -> tuple[dict[str, Tensor], tuple[str, ...] | None]:
    """Read every array of a .npz file by its name, and its tokens: the first array of strings of one axis.

    Raises FileRefused for what read_npy refuses, and for bombs.

    >>> read_npz(b"PK", "a.npz")
    Traceback (most recent call last):
    attnviz.models.files_refused.FileRefused: a.npz: it breaks off or is mixed up: File is not a zip file
    """
    found: dict[str, Tensor] = {}
    tokens: tuple[str, ...] | None = None
    room = FILE_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = check_zip(archive, file)
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name == member.filename:
                    continue
                with archive.open(member) as packed:
                    array = packed.read(room + 1)  # what is said of its size may be untrue
                room -= len(array)
                if room < 0:
                    raise FileRefused("unpacked", file=file, most=FILE_UNPACKED_BYTES, got="more")
                if not array.startswith(MAGIC):
                    raise FileRefused("corrupt", file=file, why=f"{name} is no array")
                words = _words(array, file)
                if words is not None:
                    tokens = tokens or words
                else:
                    found[name] = read_npy(array, file, name)
    except FileRefused:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise FileRefused("corrupt", file=file, why=error) from None  # ValueError: offsets and names that are none
    return found, tokens


def check_zip(archive: zipfile.ZipFile, file: str) -> list[zipfile.ZipInfo]:
    """List what a zip holds. Raises FileRefused where that is too much once unpacked, or too many.

    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     check_zip(archive, "a.npz")
    []
    """
    members = archive.infolist()
    size = sum(member.file_size for member in members)
    if size > FILE_UNPACKED_BYTES:
        raise FileRefused("unpacked", file=file, most=FILE_UNPACKED_BYTES, got=size)
    if len(members) > 4 * FILE_TENSORS:  # torch keeps a few small entries beside its tensors
        raise FileRefused("many", file=file, most=FILE_TENSORS, got=len(members))
    return members
