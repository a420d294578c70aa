"""Files of tensors that people bring: .npy, .npz, .safetensors, .pt, .pth, .csv, .json. Numbers only, in memory only.

Nothing in a file is ever run, nothing is written to disk, and what is too large is refused before it is unpacked.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from torch import Tensor

from attnviz.limits import FILE_BYTES, FILE_DIMS, FILE_TENSORS, FILE_TEXT_BYTES, FILE_TOKENS, FILE_UNPACKED_BYTES
from attnviz.models.files_layers import Named as Named
from attnviz.models.files_layers import together
from attnviz.models.files_numpy import MAGIC, check_zip, read_npy, read_npz
from attnviz.models.files_refused import FileRefused
from attnviz.models.files_roles import guess
from attnviz.models.files_text import read_csv, read_json

KINDS = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".csv", ".json")


class Tensors(NamedTuple):
    """What a file holds: arrays of 2 to 5 axes, tokens, or both; and the names of what is left out."""

    arrays: tuple[Named, ...]
    tokens: tuple[str, ...] | None
    left_out: tuple[str, ...]


def read_path(path: Path) -> Tensors:
    """Read a file of this machine, as read_file does; its size is looked at before it is opened.

    >>> read_path(Path("no/such.npy"))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no/such.npy'
    """
    size = path.stat().st_size
    if size > FILE_BYTES:
        raise FileRefused("size", file=path.name, most=FILE_BYTES, got=size)
    return read_file(path.name, path.read_bytes())


def read_file(file: str, data: bytes) -> Tensors:
    """Read the arrays of a file, of the kind that its name ends with: each named, with a guess of what it is.

    A list of arrays of one shape, as the attentions of a model's layers, becomes one array with the layers first;
    so do arrays that are named by their number.
    Raises FileRefused, a ValueError with a code, for every file that cannot be read.

    >>> read = read_file("mine.json", b'{"attn": [[0.5, 0.5], [0.25, 0.75]], "tokens": ["the", "cat"]}')
    >>> [(each.name, tuple(each.tensor.shape), each.role) for each in read.arrays], read.tokens
    ([('attn', (2, 2), 'weights')], ('the', 'cat'))
    >>> read_file("mine.csv", b"1,0\\n1")
    Traceback (most recent call last):
    attnviz.models.files_refused.FileRefused: mine.csv: the table has rows of different lengths: 2, in line 2 1
    """
    file = PurePath(file).name or "file"
    kind = PurePath(file).suffix.lower()
    _check(file, kind, data)
    tokens = None
    if kind == ".npy":
        found = {PurePath(file).stem: read_npy(data, file)}
    elif kind == ".npz":
        found, tokens = read_npz(data, file)
    elif kind == ".safetensors":
        found = _safetensors(data, file)
    elif kind in (".pt", ".pth"):
        found = _torch(data, file)
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileRefused("corrupt", file=file, why=error) from None
        if kind == ".csv":
            table, tokens = read_csv(text, file)
            found = {PurePath(file).stem: table}
        else:
            found, tokens = read_json(text, file)
    return _chosen(found, tokens, file)


def _check(file: str, kind: str, data: bytes) -> None:
    """Refuse what is too large, empty, of no known kind, or of another kind than its name says."""
    if kind not in KINDS:
        raise FileRefused("kind", file=file, kinds=", ".join(KINDS))
    most = FILE_TEXT_BYTES if kind in (".csv", ".json") else FILE_BYTES
    if len(data) > most:
        raise FileRefused("size", file=file, most=most, got=len(data))
    if not data.strip():
        raise FileRefused("empty", file=file)
    content = _content(data)
    if content == "pickle":
        raise FileRefused("pickle", file=file)
    fits = {".npy": "npy", ".npz": "zip", ".pt": "zip", ".pth": "zip", ".safetensors": "safetensors"}.get(kind, "text")
    if content is not None and content != fits:
        raise FileRefused("renamed", file=file, content=content)
    if content is None and fits != "text":
        raise FileRefused("corrupt", file=file, why=f"it does not begin as a {kind} file does")


def _content(data: bytes) -> str | None:
    """What the first bytes say it is; None where they say nothing."""
    if data.startswith(MAGIC):
        return "npy"
    if data.startswith(b"PK"):
        return "zip"
    if len(data) > 8 and data[8:9] == b"{" and struct.unpack_from("<Q", data)[0] <= FILE_BYTES:
        return "safetensors"
    return "pickle" if data[0] == 0x80 and data[1:2] in b"\x02\x03\x04\x05" else None


def _safetensors(data: bytes, file: str) -> dict[str, Tensor]:
    try:
        return load_safetensors(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise FileRefused("corrupt", file=file, why=error) from None


def _torch(data: bytes, file: str) -> dict[str, Tensor]:
    """What torch.save wrote, read by torch with weights_only: tensors, numbers and containers of these."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = check_zip(archive, file)
        if not any(member.filename.endswith("data.pkl") for member in members):
            raise FileRefused("renamed", file=file, content="a zip that torch.save did not write")
        read = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except zipfile.BadZipFile as error:
        raise FileRefused("corrupt", file=file, why=error) from None
    except pickle.UnpicklingError as error:
        raise FileRefused("code", file=file, why=_why(error)) from None
    except FileRefused:
        raise
    except Exception as error:  # a file made to break torch's reader may raise anything
        raise FileRefused("corrupt", file=file, why=_why(error)) from None
    return dict(_flattened(read, ""))


def _why(error: Exception) -> str:
    """The part of torch's message that says what was met, without its advice to run it all the same."""
    text = str(error)
    _, found, rest = text.partition("WeightsUnpickler error: ")
    return (rest if found else text).strip().partition("\n")[0][:200] or type(error).__name__


def _flattened(value: object, name: str) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of nested containers, with the way to it as its name; equal ones of a list as one."""
    if isinstance(value, Tensor):
        yield name or "array", value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flattened(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        tensors = [each for each in value if isinstance(each, Tensor) and each.layout == torch.strided]
        alike = len(value) > 1 and len(tensors) == len(value) and len({(x.shape, x.dtype) for x in tensors}) == 1
        if alike and sum(x.numel() * x.element_size() for x in tensors) <= FILE_UNPACKED_BYTES:
            yield name or "array", torch.stack(tensors)
            return
        for i, each in enumerate(value):
            yield from _flattened(each, f"{name}.{i}" if name else str(i))


def _chosen(found: Mapping[str, Tensor], tokens: tuple[str, ...] | None, file: str) -> Tensors:
    """The arrays that can be drawn or diagnosed, plain and with their roles."""
    if len(found) > FILE_TENSORS:
        raise FileRefused("many", file=file, most=FILE_TENSORS, got=len(found))
    low, high = FILE_DIMS
    arrays, left_out, size = [], [], 0
    for name, x in found.items():
        if x.layout != torch.strided or x.is_quantized or x.is_complex() or x.is_meta:
            raise FileRefused("numbers", file=file, name=name, got=f"{x.dtype}, {x.layout}")
        if not low <= x.ndim <= high or not x.numel():
            left_out.append(name)
            if x.ndim == 1 and not x.is_floating_point() and guess(name, x) == "tokens":
                tokens = tokens or tuple(map(str, x[:FILE_TOKENS].tolist()))
            continue
        role = guess(name, x)
        if x.is_floating_point() and x.element_size() == 1:
            raise FileRefused("numbers", file=file, name=name, got=x.dtype)
        size += x.numel() * max(x.element_size(), 4)  # a view of few numbers may claim to be of many
        if size > FILE_UNPACKED_BYTES:
            raise FileRefused("unpacked", file=file, most=FILE_UNPACKED_BYTES, got=size)
        if not x.is_floating_point() and x.dtype != torch.bool:
            x = x.bool() if role == "mask" and bool(((x == 0) | (x == 1)).all()) else x.float()
        arrays.append(Named(name, x.detach().contiguous(), role))
    if not found and not tokens:
        raise FileRefused("none", file=file)
    if not arrays and not tokens:
        shapes = ", ".join(str(tuple(x.shape)) for x in list(found.values())[:5])
        raise FileRefused("nothing", file=file, low=low, high=high, got=shapes)
    return Tensors(together(arrays), tokens, tuple(left_out))
