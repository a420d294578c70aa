"""Tokens and numbers as people see them: a token is data, whatever it looks like, and shows literally."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from attnviz.limits import NAME_CHARS

MINUS = "−"  # U+2212, as on Plotly's axes (in cells it prints a hyphen)
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_EXACT = Context(prec=400)  # digits enough for any float
_SPACES = {"\n": "⏎", "\r": "␍", "\t": "⇥", " ": "␣"}
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# A zero-width space, put inside what Streamlit's Markdown would turn into an arrow, a dash or a sign, or into a link:
# it makes links of addresses after it has read the escapes.
_LIGATURE = re.compile(r"(?<=[-<>=])(?=\\?[-<>=])|(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)


def visible(token: str) -> str:
    """Return the token with whatever cannot be seen made visible: spaces, control and format characters.

    A joiner inside an emoji or a word does its work and stays; a token of nothing else names its code.

    >>> visible("a b"), visible(" "), visible("\\n"), visible("\\x00"), visible("\\u200b")
    ('a b', '␣', '⏎', '␀', 'U+200B')
    """
    return _seen(token) if len(token) <= 64 else _made_visible(token)


def _made_visible(token: str) -> str:
    if not token.strip():
        token = "".join(_SPACES.get(c, c) for c in token)
    if all(unicodedata.category(c) in ("Cf", "Zs", "Mn", "Me") for c in token):
        return " ".join(f"U+{ord(c):04X}" for c in token) or "∅"
    return "".join(_visible_character(c) for c in token)


_seen = lru_cache(maxsize=4096)(_made_visible)  # a page asks for each of its tokens many times


def _visible_character(c: str) -> str:
    if c in "\n\r\t":
        return _SPACES[c]
    if ord(c) < 32:
        return chr(0x2400 + ord(c))
    if ord(c) == 127:
        return "␡"
    # Direction overrides would turn round whatever stands beside the token.
    if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        return f"U+{ord(c):04X}"
    return c


def width(text: str) -> float:
    """Return about how many pixels `text` takes at 11 px: East Asian wide characters count double.

    >>> width("cat"), width("猫")
    (19.5, 11.5)
    """
    return sum(_character_width(c) for c in text)


@lru_cache(maxsize=4096)
def _character_width(c: str) -> float:
    if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn"):
        return 0.0
    return 11.5 if unicodedata.east_asian_width(c) in ("W", "F") else 6.5


def cut(text: str, pixels: float) -> str:
    """Return `text`, cut with an ellipsis where it is wider than `pixels`.

    >>> cut("attention", 100), cut("attention", 40)
    ('attention', 'atten…')
    """
    if width(text) <= pixels:
        return text
    taken, used = "", width("…")
    for c in text:
        used += _character_width(c)
        if used > pixels:
            break
        taken += c
    return taken + "…"


def html(text: str) -> str:
    """Escape text for Plotly's labels, where `</s>` or an empty string would collapse the whole plot.

    `#` last: Streamlit rewrites `#000001` and its neighbours in a figure as colours of the theme.

    >>> html("</s> #1")
    '&lt;/s&gt; &#35;1'
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("#", "&#35;")
    return escaped or " "


def bold(words: str) -> str:
    """Return words as a title in Plotly's markup.

    >>> bold("a < b")
    '<b>a &lt; b</b>'
    """
    return f"<b>{html(words)}</b>"


def label(token: str, pixels: float = 72) -> str:
    """Return a token as a tick label: visible, no wider than `pixels`, escaped."""
    return html(cut(visible(token[:NAME_CHARS]), pixels))


def markdown(text: str) -> str:
    r"""Escape text for Streamlit's Markdown, so that `*`, `$x$` and `:red[x]` show as typed.

    >>> markdown("*a* $x$ :red[x]")
    '\\*a\\* \\$x\\$ \\:red\\[x\\]'
    """
    return _PUNCTUATION.sub(r"\\\1", _LIGATURE.sub("\u200b", visible(text))) if text else ""


def number(value: float, digits: int) -> str:
    """Print a number with `digits` decimals, rounded exactly as Plotly rounds it in a cell.

    Ties go away from zero, on the exact value, and a rounded zero has no sign.

    >>> number(0.125, 2), number(-0.125, 2), number(-0.001, 2), number(float("-inf"), 2)
    ('0.13', '−0.13', '0.00', '−∞')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else MINUS + "∞"
    step = Decimal(1).scaleb(-digits)
    rounded = abs(Decimal(value)).quantize(step, rounding=ROUND_HALF_UP, context=_EXACT)
    return (MINUS if value < 0 and rounded else "") + f"{rounded:f}"


def short(value: float, room: int) -> str:
    """Print a number in `room` characters: with two decimals, fewer, or by its power of ten; "" where none fits.

    Rounded as number() rounds. The sign is a hyphen, as Plotly prints it in a cell.

    >>> short(0.125, 6), short(12345.6, 6), short(11_960_000, 6), short(-9.99e6, 5), short(-3e38, 4)
    ('0.13', '12346', '1.2e7', '-1e7', '')
    """
    for decimals in (2, 1, 0):
        if len(printed := number(value, decimals).replace(MINUS, "-")) <= room:
            return printed
    for decimals in (1, 0):
        power = Decimal(value).adjusted()
        mantissa = Decimal(value).scaleb(-power, context=_EXACT)
        step = Decimal(1).scaleb(-decimals)
        rounded = mantissa.quantize(step, rounding=ROUND_HALF_UP, context=_EXACT)
        if abs(rounded) >= 10:  # 9.99e6 is 1.0e7
            rounded, power = (rounded / 10).quantize(step), power + 1
        if len(printed := f"{rounded:f}e{power}") <= room:
            return printed
    return ""


def decimals(value: float) -> int:
    """Return with how many decimals a share is printed: 4, or as many as show two digits of a smaller one.

    Of a long text each token gets little, and what is little is not nothing. 12 at the most.

    >>> number(0.5, decimals(0.5)), number(4.86e-5, decimals(4.86e-5)), decimals(0.0), decimals(1e-30)
    ('0.5000', '0.000049', 4, 12)
    """
    if not value or not math.isfinite(value) or abs(value) >= 1e-3:
        return 4
    return min(1 - math.floor(math.log10(abs(value))), 12)
