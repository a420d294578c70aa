"""A mask that somebody brings, of however few axes, brought to five; and what is said of arrays that do not fit."""

from __future__ import annotations

from itertools import combinations

from torch import Tensor

_SENTENCES = {
    "incomplete": "arrays: expected weights, or queries with keys, got neither",
    "axes": "{name}: expected {expected} axes, got shape {got}",
    "features": "key: expected as many features as the queries have, {query}, got {key}",
    "keys": "value: expected one for each of {key} keys, got {value}",
    "heads": "key: expected a number of heads that divides {query} and is that of the values, got {key} and {value}",
    "leading": "{name}: expected {expected} layers and sequences, got {got}",
    "merged": "{name}: expected features that {heads} heads share evenly, got {got}",
    "finite": "{name}: expected finite numbers, got {n} that are NaN or infinite",
    "shape": "{name}: expected shape {expected}, or its heads merged or averaged, got {got}",
    "values": "value: expected values beside an output, got none",
    "mask": "mask: expected a shape that broadcasts to (s, u) = {expected}, got {got}",
}
MISFITS = tuple(_SENTENCES)


class Misfit(ValueError):
    """Arrays that cannot be read together; code is one of MISFITS, values are what its sentence names.

    >>> str(Misfit("keys", key=3, value=4))
    'value: expected one for each of 3 keys, got 4'
    """

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(_SENTENCES[code].format(**values))
        self.code = code
        self.values = values


def read_mask(mask: Tensor | None, sizes: tuple[int, ...]) -> Tensor | None:
    """Give a mask five axes, as it broadcasts to sizes (l, b, h, s, u); bool where its numbers are 0 and 1.

    Of two axes it is (s, u), else (b, u), the padding of a batch; of more, the first of layers, sequences and heads
    that fit. Raises Misfit.

    >>> import torch
    >>> read_mask(torch.tensor([[1.0, 1.0, 0.0]]), (1, 1, 2, 4, 3)).shape
    torch.Size([1, 1, 1, 1, 3])
    """
    if mask is None:
        return None
    if mask.is_floating_point() and bool(((mask == 0) | (mask == 1)).all()) and bool(mask.any()):
        mask = mask.bool()  # nobody adds 1 to scores: 1 says that the token is there
    for shape in _shapes(tuple(mask.shape), sizes[1]):
        if all(n in (1, size) for n, size in zip(shape, sizes, strict=True)):
            return mask.reshape(shape)
    raise Misfit("mask", expected=tuple(sizes[-2:]), got=tuple(mask.shape))


def _shapes(shape: tuple[int, ...], batch: int) -> list[tuple[int, ...]]:
    """The five axes that an array of fewer may have, the likeliest first."""
    *leading, s, u = shape
    found = []
    for places in ((), (1,), (2,), (0,), *combinations((1, 2, 0), 2), (0, 1, 2)):
        if len(places) == len(leading):
            whole = [1, 1, 1, s, u]
            for place, n in zip(sorted(places), leading, strict=True):
                whole[place] = n
            found.append(tuple(whole))
    if len(shape) == 2 and s == batch:
        found.append((1, s, 1, 1, u))
    return found
