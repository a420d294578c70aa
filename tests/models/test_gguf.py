"""GGUF files written here by the format's description are read, number by number; broken ones are refused."""

import random
import struct
from pathlib import Path
from typing import Any

import pytest
import torch

from attnviz.models.gguf import Gguf


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def written(tensors: list[tuple[str, tuple[int, ...], int, bytes]], entries: bytes = b"", n_entries: int = 0) -> bytes:
    """A file of version 3; the shapes have the fastest axis first."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), n_entries) + entries
    start, body = 0, b""
    for name, shape, kind, data in tensors:
        head += string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, start)
        padded = data + bytes(-len(data) % 32)
        body, start = body + padded, start + len(padded)
    return head + bytes(-len(head) % 32) + body


def opened(tmp_path: Path, data: bytes) -> Gguf:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    return Gguf(path)


def test_metadata_of_every_kind(tmp_path: Path) -> None:
    values: list[tuple[str, bytes, Any]] = [
        ("a", struct.pack("<IB", 0, 7), 7),
        ("b", struct.pack("<Ii", 5, -7), -7),
        ("c", struct.pack("<If", 6, 0.5), 0.5),
        ("d", struct.pack("<I?", 7, True), True),
        ("e", struct.pack("<I", 8) + string("猫 x"), "猫 x"),
        ("f", struct.pack("<IIQ3I", 9, 4, 3, 1, 2, 3), [1, 2, 3]),
        ("g", struct.pack("<IIQ", 9, 8, 2) + string("x") + string(""), ["x", ""]),
        ("h", struct.pack("<Id", 12, 0.25), 0.25),
    ]
    entries = b"".join(string(name) + data for name, data, _ in values)
    file = opened(tmp_path, written([], entries, len(values)))
    assert file.metadata == {name: value for name, _, value in values}
    assert file.names == ()


def test_plain_numbers_and_their_shape(tmp_path: Path) -> None:
    data = struct.pack("<6f", *range(6))
    file = opened(tmp_path, written([("first", (1,), 0, data[:4]), ("x", (3, 2), 0, data)]))
    assert file.names == ("first", "x")
    assert file.tensor("x").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_eight_bit_blocks(tmp_path: Path) -> None:
    draw = random.Random(0)
    blocks = [(draw.choice([0.5, -2.0, 0.125]), [draw.randint(-128, 127) for _ in range(32)]) for _ in range(4)]
    data = b"".join(struct.pack("<e32b", d, *q) for d, q in blocks)
    found = opened(tmp_path, written([("x", (64, 2), 8, data)])).tensor("x")
    assert found.shape == (2, 64)
    assert found.flatten().tolist() == [d * each for d, q in blocks for each in q]


def test_four_bit_blocks(tmp_path: Path) -> None:
    """Of a byte the low half is number i, the high half number i + 16."""
    draw = random.Random(1)
    blocks = [(0.5, -1.0, [draw.randint(0, 15) for _ in range(32)]), (0.25, 3.0, list(range(16)) * 2)]
    data = b"".join(
        struct.pack("<ee16B", d, m, *(low | high << 4 for low, high in zip(q[:16], q[16:], strict=True)))
        for d, m, q in blocks
    )
    found = opened(tmp_path, written([("x", (64,), 3, data)])).tensor("x")
    assert found.dtype == torch.float32
    assert found.tolist() == [d * each + m for d, m, q in blocks for each in q]


def test_a_tensor_is_a_copy(tmp_path: Path) -> None:
    file = opened(tmp_path, written([("x", (2,), 0, struct.pack("<2f", 1, 2))]))
    file.tensor("x").zero_()
    assert file.tensor("x").tolist() == [1, 2]


def test_a_tensor_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^name: expected a tensor of the file, got 'y'$"):
        opened(tmp_path, written([("x", (2,), 0, bytes(8))])).tensor("y")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "got an empty one"),
        (b"PK\x03\x04" + bytes(40), "got one that begins with"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "expected a GGUF file of version 2 or 3"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60), "expected at most 10000000 entries"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", 2**50), "breaks off"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + string("a") + struct.pack("<I", 99), "mixed up"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + string("a") + struct.pack("<IIQ", 9, 4, 2**40), "mixed up"),
        (written([("x", (32,), 2, bytes(18))]), "expected numbers of kind F32, Q8_0, Q4_1, got kind 2 in tensor x"),
        (written([("x", (32,), 8, bytes(34))])[:-40], "ends within tensor x"),
        (written([("x", (32,), 0, bytes(128))])[:30], "breaks off"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^path: ") as refused:
        opened(tmp_path, data)
    assert sentence in str(refused.value)
