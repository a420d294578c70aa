"""One parameter of a link: what its text stands for, or why it cannot be taken."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any, NamedTuple

from attnviz.drawing import read_drawing
from attnviz.edit_text import read_edits
from attnviz.experiment import View
from attnviz.fields import CHOICES, NUMBER, PAGE, WHOLE, is_whole
from attnviz.lab import Lab, check_reveal
from attnviz.limits import LIMITS, LINK_BYTES, NOTICE_CHARS, QUESTIONS, TEXT_CHARS, TEXTS
from attnviz.tokenizers import clean

_SWITCHES = {f.name for f in (*fields(View), *fields(Lab)) if isinstance(f.default, bool)}


class Notice(NamedTuple):
    """One thing in a link that was not taken as it stood.

    code is one of
        "out_of_range", "unknown", "malformed", "not_finite": the default stands in; good cells of edits stay
        "repeated": the last value counts
        "replaced": the text holds U+FFFD, which stands for what no link can carry
        "too_long": of the text the beginning is kept, of edits nothing
        "without": the link says itself that it leaves `name` out, "text", "edits" or "labs"
        "no_such_name": `name` is no parameter; value is the one that it is like, or ""
        "no_cell": value is how many edited cells of matrix `name` lie outside it; they are kept
    name is the parameter, value what came, both cut to NOTICE_CHARS.
    """

    code: str
    name: str
    value: str


class NotTakenError(ValueError):
    """The code of a Notice."""


def take(name: str, value: str, notices: list[Notice]) -> dict[str, Any]:
    """The field or fields that one parameter sets; NotTakenError when it cannot."""
    if name == "text":
        text = clean(value)
        if len(text) > TEXT_CHARS:
            notices.append(Notice("too_long", name, text[:NOTICE_CHARS]))
        if "\ufffd" in text:
            notices.append(Notice("replaced", name, text[:NOTICE_CHARS]))
        return {name: text[:TEXT_CHARS]}
    if name == "edits":
        if len(value) > LINK_BYTES:
            raise NotTakenError("too_long")
        edits, refused = read_edits(value)
        first = dict(reversed(refused))  # one notice of a kind is enough
        notices.extend(Notice(code, name, item[:NOTICE_CHARS]) for code, item in first.items())
        return dict(edits)
    if name == "without":
        notices.extend(Notice(name, what, "") for what in ("text", "edits", "labs") if what in value.split(","))
        return {}
    if name in LIMITS:
        return {name: _number(name, value)}
    if name in TEXTS:
        text = clean(value)
        if len(text) > TEXTS[name]:
            raise NotTakenError("too_long")
        return {name: text}
    if name == "drawn":
        try:
            read_drawing(value)
        except ValueError:
            raise NotTakenError("malformed") from None
        return {name: value}
    if name == "reveal":
        if not re.fullmatch("[0-9]{1,2}(,[0-9]{1,2})*", value):
            raise NotTakenError("malformed")
        numbers = [int(number) for number in value.split(",")]
        if not all(1 <= number <= QUESTIONS for number in numbers):
            raise NotTakenError("out_of_range")
        return {name: check_reveal(numbers)}
    if name in _SWITCHES:
        if value not in ("0", "1"):
            raise NotTakenError("malformed")
        return {name: value == "1"}
    if value not in CHOICES[name] if name in CHOICES else not PAGE.fullmatch(value):
        raise NotTakenError("unknown")
    return {name: value}


def _number(name: str, text: str) -> int | float:
    if not (WHOLE if is_whole(name) else NUMBER).fullmatch(text):
        raise NotTakenError("malformed")
    value = float(text)  # not int yet: Python refuses to read thousands of digits as one
    if not math.isfinite(value):
        raise NotTakenError("out_of_range" if is_whole(name) else "not_finite")
    if not LIMITS[name].low <= value <= LIMITS[name].high:
        raise NotTakenError("out_of_range")
    return int(value) if is_whole(name) else value


def plain(value: Any) -> str | None:
    """A parameter's value as text; None for what is no text, number or switch."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, int):
        return str(value) if value.bit_length() < 1000 else None
    return str(value) if isinstance(value, str | float) else None
