"""Seeded numbers: tokens become X, names become weights, the same on every machine.

torch's float32 normal draws differ between CPU kernels; its float64 draws do not. So every vector is drawn in
float64 and then cast, by a generator of its own, seeded from what the vector is for. A token thus has one
vector wherever it stands, whatever other tokens there are.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from attnviz.core.shapes import check_count

_NAME = 64  # letters of a name up to which its numbers are kept: one name may be a text of half a megabyte
_BLOCK = 16  # torch draws float64 normals in blocks of 16, and in another order when there are fewer


def _draw(kind: str, name: str, seed: int, n: int) -> Tensor:
    """n standard normal float64 numbers that belong to (kind, name, seed)."""
    return (_drawn if len(name) <= _NAME else _drawn.__wrapped__)(kind, name, seed, n)


@lru_cache(maxsize=8192)  # 4 MB of what is drawn again with every key that is typed; nobody writes into it
def _drawn(kind: str, name: str, seed: int, n: int) -> Tensor:
    """n standard normal float64 numbers that belong to (kind, name, seed).

    Whole blocks are drawn and cut, so that a longer vector begins with the shorter one: a d_model raised from
    8 to 9 adds a feature and leaves the others as they were.
    """
    # JSON keeps ("a", "b c") and ("a b", "c") apart, and can write a lone surrogate, which UTF-8 cannot.
    digest = hashlib.sha256(json.dumps([kind, name, int(seed)]).encode("ascii")).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))  # 32 bits are all it uses
    n_blocks = -(-n // _BLOCK)
    return torch.randn(n_blocks * _BLOCK, dtype=torch.float64, generator=generator)[:n]


def token_vector(token: str, d_model: int, seed: int) -> Tensor:
    """The vector of a token, standard normal: float32 (m=d_model,), the same wherever the token stands.

    Raises ValueError for a d_model below 1.

    >>> [round(value, 4) for value in token_vector("cat", 3, seed=0).tolist()]
    [-1.6522, 0.0953, -0.2918]
    """
    return _draw("token", token, seed, check_count("d_model", d_model, low=1)).to(torch.float32)  # (m,)


def position_vector(s: int, d_model: int, seed: int) -> Tensor:
    """The vector of position s, standard normal: float32 (m=d_model,), the same however long the text is.

    Raises ValueError for a negative s or a d_model below 1.

    >>> position_vector(7, 3, seed=0).shape
    torch.Size([3])
    """
    s, d_model = check_count("s", s), check_count("d_model", d_model, low=1)
    return _draw("position", str(s), seed, d_model).to(torch.float32)  # (m,)


def embed(tokens: Sequence[str], d_model: int, seed: int) -> Tensor:
    """The vectors of a sequence of tokens, one a row: float32 (s, m=d_model).

    Raises ValueError for a d_model below 1.

    >>> x = embed(["the", "cat", "the"], 4, seed=0)
    >>> x.shape, torch.equal(x[0], x[2])
    (torch.Size([3, 4]), True)
    """
    vectors = {token: token_vector(token, d_model, seed) for token in dict.fromkeys(tokens)}
    if not vectors:
        return torch.empty(0, check_count("d_model", d_model, low=1))  # (0, m)
    return torch.stack([vectors[token] for token in tokens])  # (s, m)


def weight(name: str, rows: int, cols: int, seed: int) -> Tensor:
    """The weight called `name`, normal with standard deviation 1/sqrt(rows): float32 (rows, cols).

    So scaled, x @ weight is about as large as x. A column is drawn for itself: more columns leave the others
    alone. Raises ValueError for sizes below 1.

    >>> weight("w_q", 2, 3, seed=0).shape
    torch.Size([2, 3])
    """
    rows, cols = check_count("rows", rows, low=1), check_count("cols", cols, low=1)
    columns = [_draw("weight", f"{name} {col}", seed, rows) for col in range(cols)]
    return (torch.stack(columns, dim=1) / math.sqrt(rows)).to(torch.float32)  # (rows, cols)
