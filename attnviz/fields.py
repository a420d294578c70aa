"""What the numbers and choices of Experiment, View and Lab may be, and the checks that say so."""

import re
from numbers import Integral, Real
from typing import Any

from attnviz.limits import LIMITS
from attnviz.tokenizers import TOKENIZERS

STEPS = (
    "query",
    "key",
    "value",
    "scores",
    "scaled",
    "masked",
    "weights",
    "output",
)  # core.arithmetic's, without torch

CHOICES: dict[str, tuple[str, ...]] = {
    "tokenizer": TOKENIZERS,
    "scale": ("sqrt", "d_k", "none"),
    "mask": ("none", "causal", "window", "prefix", "drawn"),
    "positions": ("none", "sinusoidal", "learned", "rope_half", "rope_interleaved", "alibi"),
    "step": STEPS,
    "lang": ("en", "zh"),
    "letters": ("bsu", "bij", "bts"),
    # of a Lab
    "section": (
        *("step", "scale", "softmax", "masks", "parameters", "value"),
        *("lookup", "tables", "order", "matrices"),
        *("split", "shared", "cross", "average"),
        *("shuffle", "terms", "rotation"),
        *("lines", "beyond", "silenced", "beside"),
    ),
    "axis": ("u", "s"),
    "hidden_value": ("-inf", "-10", "-1", "0"),
    "hidden_when": ("before", "after"),
    "value_is": ("v", "k", "x", "i"),
    "shared_by": ("mean", "first"),
    "knocked": ("edge", "token"),
    "task": ("repeat", "reverse", "sort", "copy", "text"),
    "places": ("none", "learned", "sinusoidal", "rope_half", "alibi"),
    "beside": ("none", "layers", "places"),
    "part": ("encoder", "decoder", "cross"),
    "statistic": ("previous", "next", "first", "itself", "same", "induction", "separator", "entropy", "distance"),
    "map_scale": ("auto", "linear", "sqrt", "log", "rows"),
    "example": ("none", "right", "scale", "axis", "swapped", "late", "sigmoid", "maps"),
    "axes": ("auto", "plain", "h", "b", "l", "bh", "lh", "lbh", "behind", "merged"),
    "given_mask": ("file", "none", "causal"),
    "rotary": ("none", "half", "interleaved"),
}

# A number, or the name of a page, as text in a link. ASCII only: int() and float() also read "١" and "1_0".
WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE | re.ASCII)
PAGE = re.compile(r"[a-z][a-z0-9_-]{0,31}")


def is_whole(name: str) -> bool:
    """Say whether the number `name` is a whole one: whole limits, whole number."""
    return isinstance(LIMITS[name].default, int)


def check_number(name: str, value: Any) -> int | float:
    """Return `value` as a plain int or float; ValueError when it is of another type or outside LIMITS[name].

    >>> check_number("d_model", 65)
    Traceback (most recent call last):
    ValueError: d_model must be a whole number from 1 to 64, not 65
    """
    limit = LIMITS[name]
    kind: Any = Integral if is_whole(name) else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not limit.low <= value <= limit.high:
        noun = "a whole number" if is_whole(name) else "a number"
        raise ValueError(f"{name} must be {noun} from {limit.low} to {limit.high}, not {shown(value)}")
    return int(value) if is_whole(name) else float(value)


def check_choice(name: str, value: Any) -> str:
    """Return `value`; ValueError when it is not one of CHOICES[name].

    >>> check_choice("mask", "causel")
    Traceback (most recent call last):
    ValueError: mask must be one of none, causal, window, prefix, drawn, not 'causel'
    """
    if not isinstance(value, str) or value not in CHOICES[name]:
        raise ValueError(f"{name} must be one of {', '.join(CHOICES[name])}, not {shown(value)}")
    return value


def shown(value: Any) -> str:
    """Return a short repr of whatever came, for an error; its type when it has no repr."""
    try:
        text = repr(value)
    except Exception:  # a whole number of 5,000 digits has none, a stranger's object may have a broken one
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:59] + "…"
