"""One row of the softmax section as bars: scores, exponentials, weights, and where the plain formula fails."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.text import MINUS, cut, markdown, number, visible
from attnviz.figures.titles import role
from attnviz.labs.softmax import Row, failure, row
from attnviz.letters import relabel
from attnviz.limits import LIMITS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import headings, labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed

if TYPE_CHECKING:
    import pandas as pd

NARROW, WIDE = 288, 592  # pixels of a chart: four stand in a line of 1200, or two
FEW = 12  # keys whose names a narrow chart has room for
PRINTED = 32  # pixels that a bar's number needs
LEAST = 0.1  # the largest weight whose axis still runs to 1: lower bars would be too low to compare
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Bars(NamedTuple):
    """One of the charts: what its bars are."""

    key: str
    name: str
    head: str  # with the numbers of this row
    values: Tensor  # (u,)
    hue: str
    high: float | None = None  # where its axis ends, from 0
    digits: int = 3


def show(computed: Computed, trace: AttentionTrace) -> None:
    """Draw the row."""
    view = computed.view
    parts = labs.ran("one_row", row, trace.masked[view.b, view.h, view.s], view.lab.shift)
    headings.title(_("One row, from scores x to weights"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose_row(computed)
        limit = LIMITS["shift"]
        words = _("Add to every score x")
        st.number_input(words, limit.low, limit.high, None, limit.step, width=220, **state.of_lab("shift"))
    if said := _failure(parts):
        st.warning(said)
    charts = _charts(parts)
    with st.container(horizontal=True, gap="small"):
        for pair in (charts[:2], charts[2:]):  # so that what does not stand in one line stands two by two
            with st.container(horizontal=True, gap="small", width=WIDE):
                for one in pair:
                    _draw(computed, parts, one)


def choose_row(computed: Computed) -> None:
    """Let the reader choose the query token s by keyboard; a click on a map does the same."""
    view, tokens = computed.view, computed.run.tokens[computed.view.b]
    words = f"{role('s')} {relabel('s', view.letters)} = {markdown(cut(visible(tokens[view.s]), 100))}"
    st.session_state["at:s"] = view.s + 1  # on screen, tokens count from 1
    st.number_input(words, 1, len(tokens), None, key="at:s", on_change=state.look_at, args=("s", "at:s"), width=220)


def short(value: float, digits: int = 3) -> str:
    """Print a number in so many digits, with a power of ten where it is very large or small.

    >>> short(0.32424), short(-1.5), short(1.66e38), short(float("inf"))
    ('0.324', '−1.5', '1.66·10³⁸', '∞')
    """
    if not math.isfinite(value) or value == 0:
        return number(value, 0)
    if 1e-3 <= abs(value) < 10**digits:
        return f"{value:.{digits}g}".replace("-", MINUS)
    mantissa, exponent = f"{value:.{digits - 1}e}".replace("-", MINUS, int(value < 0)).split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def _charts(parts: Row) -> list[Bars]:
    less = _("exp(x − largest)")
    if math.isfinite(parts.highest):
        less = f"exp(x {MINUS if parts.highest >= 0 else '+'} {number(abs(parts.highest), 4)})"
    plain, whole = parts.plain_total, float(parts.weights.sum())
    most = 1 if float(parts.weights.max()) >= LEAST else None
    return [
        Bars("row-scores", _("score x"), _("score x"), parts.scores, "s", digits=3 if abs(parts.highest) < 50 else 5),
        Bars(
            "row-plain",
            "exp(x)",
            f"`exp(x)` &emsp; Σ = {short(plain, 5)}",
            parts.plain_exponentials,
            "m",
            digits=3 if 1e-3 <= plain < 1e4 else 1,
        ),
        Bars("row-safe", less, f"`{less}` &emsp; Σ = {number(parts.total, 4)}", parts.exponentials, "k", 1),
        Bars("row-weights", _("weight"), _("weight") + f" &emsp; Σ = {number(whole, 4)}", parts.weights, "u", most),
    ]


def _draw(computed: Computed, parts: Row, one: Bars) -> None:
    view, tokens = computed.view, computed.run.tokens[computed.view.b]
    first = max(0, min(view.from_u, len(tokens) - TOKENS_SHOWN))
    words, shown = tokens[first:][:TOKENS_SHOWN], one.values[first:][:TOKENS_SHOWN]
    width = NARROW if len(words) <= FEW else WIDE
    finite = shown.where(shown.isfinite(), 0.0)
    high = one.high or (None if bool(finite.any()) else 1)
    y = Scale("") if high is None else Scale("", low=0, high=1.12 * high)
    spec = bars(
        [Series(one.name, range(len(words)), finite.tolist(), one.hue)],
        Scale("", words=words),
        y,
        current_theme(),
        size=(width, 200),
    )
    spec["layout"]["margin"] |= {"l": 44, "t": 10}
    # A bar cannot show what is infinite or NaN: its number stands in its place.
    roomy = (width - 60) / len(words) >= PRINTED
    texts = [short(value, one.digits) if roomy or not math.isfinite(value) else "" for value in shown.tolist()]
    spec["data"][0] |= {
        "text": texts,
        "texttemplate": "%{text}",
        "textposition": "outside",
        "cliponaxis": False,
        "textangle": 0,
        "textfont": {"size": 10},
    }
    alt = _("{name} of each key token of the row; largest {value}.").format(
        name=one.name, value=short(float(one.values.max()), 4)
    )
    with st.container(width=width, gap=None):
        st.markdown(one.head)
        labs.chart(one.key, spec, alt, partial(_table, parts, tokens))


def _table(parts: Row, words: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        _("score x"): parts.scores,
        "exp(x)": parts.plain_exponentials,
        "exp(x) / Σ": parts.plain_weights,
        _("exp(x − largest)"): parts.exponentials,
        _("weight"): parts.weights,
    }
    index = [f"{i + 1} {visible(word)}" for i, word in enumerate(words)]
    return pd.DataFrame({name: values.tolist() for name, values in columns.items()}, index=index)


def _failure(parts: Row) -> str:
    """Say where the plain formula exp(x) / Σ exp(x) fails, and what torch does there; "" where it does not."""
    code = failure(parts)
    alone = {
        "hidden": _(
            "Every score of this row is −∞, and every exp(x) is 0: 0 / 0 gives NaN, and so does −∞ − (−∞) once the "
            "largest is subtracted. Attention sets the weights of such a row to 0."
        ),
        "infinite": _("A score of this row is ∞ or NaN: neither formula can share that out, and every weight is NaN."),
    }
    if code in alone or not code:
        return alone.get(code, "")
    words = {
        "overflow": _("exp({highest}) is more than float32 can hold: exp(x) / Σ exp(x) divides ∞ by ∞ and gives NaN."),
        "sum": _(
            "Each exp(x) fits into float32, but not their sum: exp(x) / Σ exp(x) divides by ∞, and every weight is 0."
        ),
        "underflow": _(
            "Even exp({highest}) is less than float32 can hold: exp(x) / Σ exp(x) divides 0 by 0 and gives NaN."
        ),
        "digits": _(
            "exp({highest}) is so small that float32 keeps few of its digits: exp(x) / Σ exp(x) is wrong by up to "
            "{error}."
        ),
    }[code]
    safe = _(
        "torch subtracts the largest score first. That changes no weight, since it divides above and below by the same "
        "exp({highest}), and the largest exponential is then 1."
    )
    highest = number(parts.highest, 2)
    wrong = number(parts.plain_error, 4)
    return words.format(highest=highest, error=wrong) + " " + safe.format(highest=highest)
