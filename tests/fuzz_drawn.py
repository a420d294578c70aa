"""What tests/fuzz.py tries: links, equations and files, good, nearly good and hostile, drawn at random."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from attnviz.fields import CHOICES
from attnviz.limits import LIMITS, TEXTS
from attnviz.models.files import KINDS
from tests.hostile import HOSTILE

LETTERS = "abcdef 01.,;:=~%&?#/\\+-<>\"'`*_$[](){}\n\t\r\0é猫🙂مx\u0301\u200d\u202e\ufeff\ud83d\udfff\U0010ffff"


def word(draw: random.Random, most: int = 12) -> str:
    """Some letters, or something hostile."""
    if draw.random() < 0.2:
        return draw.choice(HOSTILE)
    return "".join(draw.choices(LETTERS, k=draw.randint(0, most)))


def query(draw: random.Random) -> str:
    """A link: names that there are, with values that fit, nearly fit, or do not."""
    names = [*LIMITS, *CHOICES, *TEXTS, "text", "edits", "drawn", "reveal", "page", "without", "difference", word(draw)]
    pairs = []
    for _ in range(draw.randint(0, 8)):
        name = draw.choice(names)
        values = [word(draw), str(draw.randint(-3, 600)), str(draw.uniform(-9, 9)), "nan", "1e999", "9" * 400]
        values += CHOICES.get(name, ())
        values += [f"{draw.choice('xqkv')}~{draw.randint(0, 9)}.{draw.randint(0, 9)}_{draw.uniform(-9, 9):.3g}"]
        pairs.append(f"{name}={draw.choice(values)}")
    return draw.choice(("", "?", "/scores?", "http://x/")) + draw.choice("&&&;").join(pairs)


def equation(draw: random.Random) -> tuple[str, str]:
    """An equation and sizes: letters where they belong, or anywhere."""
    if draw.random() < 0.3:
        return word(draw, 30), word(draw, 20)
    parts = ["".join(draw.choices("bskumdhBZ", k=draw.randint(0, 4))) for _ in range(draw.randint(1, 4))]
    parts = [part + draw.choice(("", "", "", "...", ".", "é")) for part in parts]
    shape = ", ".join(
        f"{draw.choice('bskum')}={draw.choice((0, 1, 2, 3, 99, 10**9))}" for _ in range(draw.randint(0, 3))
    )
    output = "".join(draw.choices("bskumd", k=draw.randint(0, 4)))
    return ",".join(parts) + draw.choice(("", "->" + output, "->", "→" + output)), draw.choice((shape, word(draw)))


def whole_file(draw: random.Random) -> bytes:
    """A file as somebody's library writes it."""
    x = np.random.default_rng(draw.randrange(9)).random((2, 3, 3), dtype=np.float32)
    x = draw.choice((x, x.astype(np.float16), x > 0.5, x.astype(np.int64), x[..., :0], np.full_like(x, np.nan)))
    held, kind = io.BytesIO(), draw.choice(("npy", "npz", "safetensors", "pt", "zip", "csv", "json"))
    if kind == "npy":
        np.save(held, x)
    elif kind == "npz":
        np.savez(held, q=x, tokens=np.array(["a", "b", "c"]))
    elif kind == "safetensors":
        return save({"attn": torch.from_numpy(x.copy())})
    elif kind == "pt":
        torch.save({"q": torch.from_numpy(x.copy()), "n": 1}, held)
    elif kind == "zip":
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(draw.choice(("a.npy", "../a.npy", "data.pkl")), bytes(draw.choice((0, 10, 100_000))))
    elif kind == "csv":
        return "\n".join(
            ",".join(draw.choice(("1", "-2.5", "nan", "x", "")) for _ in range(3)) for _ in range(3)
        ).encode()
    else:
        value: Any = x[0].tolist() if draw.random() < 0.5 else {"a": [[1, [2]]], "tokens": [word(draw), 3]}
        return json.dumps(value).encode()
    return held.getvalue()


def file(draw: random.Random) -> tuple[str, bytes]:
    """A file, whole or broken, by a name that may not be its own."""
    data = bytearray(whole_file(draw))
    for _ in range(draw.choice((0, 1, 1, 2, 8))):
        at = draw.randrange(len(data) + 1)
        what = draw.randrange(4)
        if what == 0:
            data = data[:at]
        elif what == 1:
            data[at:at] = draw.choice((b"{", b"[" * 3000, b"9" * 30, b"\xff" * 8, b"\x80\x02c", draw.randbytes(9)))
        elif data:
            data[at % len(data)] = draw.choice((0, 255, data[at % len(data)] ^ (1 << draw.randrange(8)), 57))
    return (word(draw) if draw.random() < 0.3 else "a") + draw.choice(KINDS), bytes(data)
