"""Edited cells as a short text, for a link, and back."""

import re
from collections.abc import Mapping

from attnviz.edits import EDITS, Cells, Index, can_exist, to_float32
from attnviz.fields import NUMBER

_INDEX = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5}){0,2}")


def write_edits(edits: Mapping[str, Cells]) -> str:
    """Write cells as `name~index_value_value~index_value~name~...`: no link encoder changes these letters.

    The index is that of the first value; further values are the cells after it in the same row.

    >>> write_edits({"w_q": (((0, 1), 2.5), ((0, 2), -1.0), ((3, 0), 1e-5)), "x": (((0, 0, 0), 4.0),)})
    'w_q~0.1_2.5_-1~3.0_1e-5~x~0.0.0_4'
    """
    parts = []
    for name, cells in edits.items():
        parts.append(name)
        following: Index = ()
        for index, value in cells:
            if index == following:
                parts[-1] += "_" + write_number(value)
            else:
                parts.append(".".join(map(str, index)) + "_" + write_number(value))
            following = (*index[:-1], index[-1] + 1)
    return "~".join(parts)


def write_number(value: float) -> str:
    """Write a float32 value in the fewest digits that read back as the same float32.

    >>> write_number(0.10000000149011612), write_number(-3.0), write_number(1e20)
    ('0.1', '-3', '1e20')
    """
    text = ""
    for digits in (6, 7, 8, 9):  # six digits always survive, nine always suffice
        text = f"{value:.{digits}g}"
        if to_float32(float(text)) == to_float32(value):
            break
    return text.replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def read_edits(text: str) -> tuple[dict[str, Cells], list[tuple[str, str]]]:
    """Read what write_edits wrote: the edits, and a (code, item) for each item that could not be taken.

    Codes: "unknown" (no such field), "malformed", "not_finite" and "out_of_range" (no such cell at any size).

    >>> read_edits("w_q~0.1_2.5_-1~3.0_nan")
    ({'w_q': (((0, 1), 2.5), ((0, 2), -1.0))}, [('not_finite', '3.0_nan')])
    """
    found: dict[str, dict[Index, float]] = {}
    refused = []
    name = None
    for item in text.split("~") if text else ():
        if "_" not in item or item[:1].isalpha():  # the name of a field
            name = item if item in EDITS else None
            code = "" if name else "unknown"
        else:
            code = _read_run(name, item, found.setdefault(name, {})) if name else ""
        if code:
            refused.append((code, item))
    return {name: tuple(sorted(found[name].items())) for name in EDITS if found.get(name)}, refused


def _read_run(name: str, item: str, cells: dict[Index, float]) -> str:
    """Put what can be of one `index_value_value...` into `cells`; return the code of the last trouble."""
    first, *values = item.split("_")
    if not _INDEX.fullmatch(first):
        return "malformed"
    *row, column = map(int, first.split("."))
    code = ""
    for i, value in enumerate(values):
        index = (*row, column + i)
        if not can_exist(name, index):
            return "out_of_range"
        if not NUMBER.fullmatch(value):
            code = "malformed"
        elif (number := to_float32(float(value))) is None:
            code = "not_finite"
        else:
            cells[index] = number
    return code
