"""What the axes of somebody's arrays are: each is brought to five, (l, b, h, s, ·), whatever stood before the tokens.

Letters: l layer, b sequence of the batch, h head, s query, u key token, k feature of a query or key, d of a value.
An axis that an array lacks is of size 1, but for the heads of merged vectors, which lie side by side in the last axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.diagnosis_claims import read_output, read_weights
from attnviz.models.files_mask import Misfit, read_mask

_LEADING = {"plain": "", "h": "h", "b": "b", "l": "l", "bh": "bh", "lh": "lh", "lbh": "lbh", "behind": "bh"}
_BY_AXES = {2: ("plain",), 3: ("h", "b", "l"), 4: ("bh", "lh"), 5: ("lbh",)}
_MERGED = {2: "", 3: "b", 4: "lb"}  # what stands before (s, h*k)
AXES = (*_LEADING, "merged")


class Brought(NamedTuple):
    """Somebody's arrays, each of five axes, or None: there are weights, or queries with keys, or all of them."""

    query: Tensor | None  # (l, b, h, s, k)
    key: Tensor | None  # (l, b, h_kv, u, k)
    value: Tensor | None  # (l, b, h_kv, u, d)
    mask: Tensor | None  # bool or floating, broadcasts to (l, b, h, s, u)
    weights: Tensor | None  # (l, b, h, s, u); h is 1 where the heads were averaged
    output: Tensor | None  # (l, b, h, s, d), or (l, b, 1, s, h*d) where they lie side by side
    axes: str  # as what it was read, of AXES

    @property
    def main(self) -> Tensor:
        """The array that says how many layers, sequences and heads there are."""
        found = self.weights if self.query is None else self.query
        assert found is not None
        return found

    @property
    def n_key(self) -> int:
        """How many key tokens there are."""
        return self.main.shape[-1] if self.key is None else self.key.shape[-2]


def readings(arrays: Mapping[str, Tensor], *, layered: bool = False) -> tuple[str, ...]:
    """The ways to read the axes of arrays by role, the likeliest first; none without queries or weights.

    layered: the first axis is known to be the layers.

    >>> import torch
    >>> readings({"weights": torch.zeros(2, 4, 4)})
    ('h', 'b', 'l')
    >>> readings({"query": torch.zeros(1, 6, 2, 8), "weights": torch.zeros(1, 2, 6, 6)})[0]
    'behind'
    """
    if layered:
        ways = readings(arrays)
        return tuple(sorted(ways, key=lambda axes: not axes.startswith("l")))  # of the others, the order stays
    query, weights = arrays.get("query"), arrays.get("weights")
    if query is None:
        return () if weights is None else _BY_AXES[weights.ndim]
    found = list(_BY_AXES[query.ndim])
    more = (["behind"] if query.ndim == 4 else []) + (["merged"] if query.ndim in _MERGED else [])
    if weights is not None and weights.ndim == query.ndim + 1:
        return ("merged", *found, *(each for each in more if each != "merged"))
    if weights is not None and query.ndim == weights.ndim == 4:
        b, n, h = query.shape[:3]
        if n != h and tuple(weights.shape[:3]) == (b, h, n):
            return ("behind", *found, "merged")
    return (*found, *more)


def bring(arrays: Mapping[str, Tensor], axes: str = "auto", heads: int = 0) -> Brought:
    """Read arrays by role as attention; heads: of merged vectors, 0 for as many as the weights have.

    A way of reading that these arrays do not have falls back to the likeliest. Raises Misfit, a ValueError with a
    code, where there is neither weights nor queries with keys, and where shapes do not go together.

    >>> import torch
    >>> bring({"weights": torch.zeros(3, 4, 4)}, "l").weights.shape
    torch.Size([3, 1, 1, 4, 4])
    """
    ways = readings(arrays)
    if not ways or (arrays.get("query") is None) != (arrays.get("key") is None):
        raise Misfit("incomplete")
    axes = axes if axes in ways else ways[0]
    weights, query = arrays.get("weights"), arrays.get("query")
    vectors: dict[str, Tensor] = {}
    if query is not None:
        vectors = _alike({name: arrays[name] for name in ("query", "key", "value") if name in arrays})
        vectors = _split(vectors, _n_heads(query, weights, heads)) if axes == "merged" else _moved(vectors, axes)
        _check(vectors)
    leading = _MERGED[query.ndim] + "h" if axes == "merged" and query is not None else _LEADING[axes]
    main = vectors.get("query")
    found = {name: _five(name, _floating(arrays[name]), leading) for name in ("weights", "output") if name in arrays}
    main = found["weights"] if main is None else main
    for name, x in found.items():
        _same(name, x, main)
    if vectors:
        _check_claims(found, vectors)
    n_key = vectors["key"].shape[-2] if vectors else main.shape[-1]
    mask = read_mask(arrays.get("mask"), (*main.shape[:-1], n_key))
    query, key, value = (vectors.get(name) for name in ("query", "key", "value"))
    return Brought(query, key, value, mask, found.get("weights"), found.get("output"), axes)


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.float()


def _alike(vectors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Bring vectors to the widest of their dtypes, in which they can be multiplied."""
    floating = {name: _floating(x) for name, x in vectors.items()}
    dtype = reduce(torch.promote_types, (x.dtype for x in floating.values()))
    return {name: x.to(dtype) for name, x in floating.items()}


def _n_heads(query: Tensor, weights: Tensor | None, asked: int) -> int:
    return weights.shape[-3] if weights is not None and weights.ndim == query.ndim + 1 else max(1, asked)


def _five(name: str, x: Tensor, leading: str) -> Tensor:
    """Put axes of size 1 where an array has none; one fewer than expected is the heads'."""
    if x.ndim - 2 == len(leading) - 1 and "h" in leading:
        leading = leading.replace("h", "")
    if x.ndim - 2 != len(leading):
        raise Misfit("axes", name=name, got=tuple(x.shape), expected=len(leading) + 2)
    sizes = dict(zip(leading, x.shape, strict=False))
    return x.reshape(*(sizes.get(letter, 1) for letter in "lbh"), *x.shape[-2:])


def _moved(vectors: dict[str, Tensor], axes: str) -> dict[str, Tensor]:
    if axes == "behind":
        for name, x in vectors.items():
            if x.ndim != 4:
                raise Misfit("axes", name=name, got=tuple(x.shape), expected=4)
        vectors = {name: x.transpose(1, 2) for name, x in vectors.items()}
    return {name: _five(name, x, _LEADING[axes]) for name, x in vectors.items()}


def _split(vectors: dict[str, Tensor], heads: int) -> dict[str, Tensor]:
    """Give merged vectors (..., n, h*k) their heads: (l, b, h, n, k), of keys and values as many as there are."""
    leading = _MERGED[vectors["query"].ndim]
    found: dict[str, Tensor] = {}
    features = vectors["query"].shape[-1]
    d_k = features // heads
    for name, x in vectors.items():
        if x.ndim != len(leading) + 2:
            raise Misfit("axes", name=name, got=tuple(x.shape), expected=len(leading) + 2)
        n = heads
        if name == "key":
            n = x.shape[-1] // max(1, d_k)
        elif name == "value" and "key" in found:
            n = found["key"].shape[-3]
        if not d_k or features % heads or not n or x.shape[-1] % n:
            raise Misfit("merged", name=name, got=x.shape[-1], heads=n)
        split = x.unflatten(-1, (n, -1)).transpose(-3, -2)  # (..., h, n, k)
        sizes = dict(zip(leading, x.shape, strict=False))
        found[name] = split.reshape(*(sizes.get(letter, 1) for letter in "lb"), *split.shape[-3:])
    return found


def _check(vectors: dict[str, Tensor]) -> None:
    query, key = vectors["query"], vectors["key"]
    value = vectors.get("value", key)
    if query.shape[-1] != key.shape[-1]:
        raise Misfit("features", query=query.shape[-1], key=key.shape[-1])
    if key.shape[-2] != value.shape[-2]:
        raise Misfit("keys", key=key.shape[-2], value=value.shape[-2])
    if query.shape[-3] % key.shape[-3] or key.shape[-3] != value.shape[-3]:
        raise Misfit("heads", query=query.shape[-3], key=key.shape[-3], value=value.shape[-3])
    for name, x in vectors.items():
        _same(name, x, query)
        if n := int((~x.isfinite()).sum()):
            raise Misfit("finite", name=name, n=n)


def _check_claims(found: Mapping[str, Tensor], vectors: Mapping[str, Tensor]) -> None:
    """Weights and output must be those of the queries, in any layout that diagnose reads."""
    b, h, s = vectors["query"].shape[1:4]
    shape = (b, h, s, vectors["key"].shape[-2])
    for name, x in found.items():
        if name == "output":
            if "value" not in vectors:
                raise Misfit("values")
            shape = (*shape[:3], vectors["value"].shape[-1])
        claimed = as_claimed(x[0], h)
        try:
            (read_weights if name == "weights" else read_output)(claimed, shape)
        except ValueError:
            raise Misfit("shape", name=name, expected=shape, got=tuple(claimed.shape)) from None


def _same(name: str, x: Tensor, main: Tensor) -> None:
    """Layers and sequences must be as many everywhere."""
    if x.shape[:2] != main.shape[:2]:
        raise Misfit("leading", name=name, got=tuple(x.shape[:2]), expected=tuple(main.shape[:2]))


def as_claimed(x: Tensor, n_heads: int) -> Tensor:
    """Weights or output of one layer as diagnose takes them, (b, h, s, ·): without the axis of heads where it is none.

    >>> import torch
    >>> as_claimed(torch.zeros(2, 1, 4, 4), 3).shape
    torch.Size([2, 4, 4])
    """
    return x.squeeze(-3) if x.shape[-3] == 1 < n_heads else x
