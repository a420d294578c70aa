"""Heads and edges that are knocked out, as a link writes them: "d1.0" a head, "d1.0:5-2" an edge of it, "d1" a layer.

The letter is that of the part, all numbers count from 0, and a comma stands between two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnviz.limits import HEADS_SILENCED
from attnviz.models.knockouts import Knockout
from attnviz.models.reading import Part

_KINDS = {"e": "encoder", "d": "decoder", "c": "cross"}
_ONE = re.compile(r"([edc])([0-9]{1,3})(?:\.([0-9]{1,3})(?::([0-9]{1,4})-([0-9]{1,4}))?)?")


def read(text: str, parts: Sequence[Part]) -> tuple[tuple[Knockout, ...], int]:
    """Return the knock-outs that a text names and that fit these parts, and how many others it names.

    >>> read("nonsense,d9", ())
    ((), 2)
    """
    sizes = {part.kind: part for part in parts}
    found: tuple[Knockout, ...] = ()
    n_taken = 0
    asked = [one.strip() for one in text.split(",") if one.strip()]
    for one in asked:
        match = _ONE.fullmatch(one)
        if match is None:
            continue
        numbers = [None if number is None else int(number) for number in match.groups()[1:]]
        knockout = Knockout(_KINDS[match[1]], numbers[0] or 0, *numbers[1:])
        part = sizes.get(knockout.kind)
        if part is None or not _fits(knockout, part) or is_held(found, knockout):
            continue
        if len(added := add(found, knockout)) <= HEADS_SILENCED:
            found, n_taken = added, n_taken + 1
    return found, len(asked) - n_taken


def add(held: Sequence[Knockout], one: Knockout) -> tuple[Knockout, ...]:
    """Return the knock-outs with one more, without those that change nothing beside it: a layer holds its heads.

    >>> write(add([Knockout("decoder", 1, 0), Knockout("decoder", 2, 0)], Knockout("decoder", 1)))
    'd2.0,d1'
    """
    if is_held(held, one):
        return tuple(held)
    return (*(other for other in held if not is_held([one], other)), one)


def is_held(held: Sequence[Knockout], one: Knockout) -> bool:
    """Say whether what is knocked out holds this too: it itself, its head, or its whole layer.

    >>> is_held([Knockout("decoder", 1)], Knockout("decoder", 1, 0, 3, 2))
    True
    """
    return any(other in (one, one._replace(s=None, u=None), Knockout(one.kind, one.layer)) for other in held)


def write(knockouts: Sequence[Knockout]) -> str:
    """Return the text of some knock-outs.

    >>> write([Knockout("decoder", 1, 0), Knockout("encoder", 2, 3, 5, 4), Knockout("cross", 0)])
    'd1.0,e2.3:5-4,c0'
    """
    return ",".join(
        f"{one.kind[0]}{one.layer}"
        + ("" if one.head is None else f".{one.head}")
        + ("" if one.s is None else f":{one.s}-{one.u}")
        for one in knockouts
    )


def _fits(one: Knockout, part: Part) -> bool:
    if one.layer >= len(part.layers):
        return False
    sizes = (part.layers[one.layer].query.shape[0], len(part.queries), len(part.keys))
    return all(at is None or at < size for at, size in zip(one[2:], sizes, strict=True))
