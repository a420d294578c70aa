"""Query, key, value: the part on what they are at all. A look-up table that temperature turns soft."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.figures.charts import Scale, Series, lines
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import number
from attnviz.labs.lookup import Curve, Lookup, look_up, weight_curve, weights_by_formula, weights_by_torch
from attnviz.limits import LIMITS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.labs import roles
from attnviz.ui.questions import Question, ask, progress

if TYPE_CHECKING:
    import pandas as pd

# Temperatures to choose from, even steps of a logarithm, so that cold and hot ends are both within reach.
STEPS = (*(float(f"{n}e{power}") for power in (-2, -1, 0, 1) for n in (1, 1.5, 2, 3, 5, 7)), 100.0)


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(10)
    place = _ask()
    roles.choose(computed, "s")
    _look(computed, place)


@labs.part("lookup", connects=True)
def _look(computed: Computed, place: DeltaGenerator | None) -> None:
    words = roles.words_of(computed)
    names = tuple(dict.fromkeys(words))  # the rows of the table: each token once
    row, t = names.index(words[roles.chosen(computed)[0]]), computed.view.lab.lookup
    found = labs.ran("looked_up", look_up, len(names), row, t)
    _temperature(t)
    st.markdown(
        _(
            "At temperature **{t}** the row of {token} gets the weight **{weight}**. The output is **{output}**: "
            "that row holds {value}, and all rows together have the mean {mean}."
        ).format(
            t=f"{t:g}",
            token=roles.quoted(names, row),
            weight=number(float(found.weights[0, row]), 4),
            output=number(float(found.output), 4),
            value=row + 1,
            mean=f"{float(found.values.mean()):g}",
        )
    )
    if 2 * (row + 1) == len(names) + 1 and len(names) > 1:
        st.caption(_("This row holds the mean itself: ask for another one to see the output move."))
    first = max(0, min(row - TOKENS_SHOWN // 2, len(names) - TOKENS_SHOWN))
    drawn = slice(first, first + TOKENS_SHOWN)
    if len(names) > TOKENS_SHOWN:
        st.caption(
            _("{n} different tokens: {shown} rows of the table are drawn, and every number is of all of them.").format(
                n=len(names), shown=TOKENS_SHOWN
            )
        )
    with st.container(horizontal=True, gap="medium"):
        charts = [_table(computed, found, names, row, drawn)]
        _curve(len(names), t)
    if place is not None:
        place.markdown(_answer(names, row, t, found))
    labs.connect(
        computed,
        charts,
        selected={"name": "keys", "row": row - first, "col": row - first},
        key_tokens=names[drawn],
        on_cell=partial(_look_up, words, names[drawn]),
        in_part=True,
    )


def _ask() -> DeltaGenerator | None:
    return ask(
        Question(
            10,
            _(
                "**What are query, key and value at all?** Keys name the rows of a table, values are what the rows "
                "hold, and a query asks for a key. What comes out?"
            ),
            {
                "exact": _("the value of the row whose key is the query, and nothing of any other row"),
                "key": _("the key that fits the query best"),
                "mix": _("values of all rows, each by how well its key fits; the colder, the more of the best one"),
            },
            right="mix",
        )
    )


def _answer(names: tuple[str, ...], row: int, t: float, found: Lookup) -> str:
    low, high = LIMITS["lookup"].low, LIMITS["lookup"].high
    cold = labs.ran("cold", look_up, len(names), row, low)
    hot = labs.ran("hot", look_up, len(names), row, high)
    return _(
        "A dictionary returns one row or none; attention returns a mix. At temperature {low} the output is {cold}, "
        "where the row holds {value}: an exact look-up. At {high} it is {hot}, close to {mean}, the mean of all "
        "rows. At your {t} it is {output}, with the weight {weight} on the row asked for. In a layer, keys "
        "are no one-hot rows: W_Q and W_K are learned, and decide what fits."
    ).format(
        low=f"{low:g}",
        high=f"{high:g}",
        cold=number(float(cold.output), 4),
        hot=number(float(hot.output), 4),
        value=row + 1,
        mean=f"{float(found.values.mean()):g}",
        t=f"{t:g}",
        output=number(float(found.output), 4),
        weight=number(float(found.weights[0, row]), 4),
    )


def _temperature(t: float) -> None:
    options = sorted({*STEPS, t})  # a link may hold any number
    bound = state.of_lab("lookup")
    st.session_state[bound["key"]] = t
    st.select_slider(_("Temperature"), options, format_func=lambda step: f"{step:g}", width=420, **bound)


def _table(computed: Computed, found: Lookup, names: Sequence[str], row: int, drawn: slice) -> dict[str, Any]:
    shown = tuple(names[drawn])
    rows, columns, one = Axis("u", shown), Axis("k", shown, _("one-hot")), Axis("", (names[row],))
    small = [
        ("query", "q", "s", found.query[:, drawn], one, columns, "share"),
        ("keys", "K", "u", found.keys[drawn, drawn], rows, columns, "share"),
        ("weights", "a", "", found.weights[0, drawn, None], rows, Axis("", (names[row],)), "share"),
        ("values", "V", "d", found.values[drawn], rows, Axis("d"), "amount"),
        ("output", "o", "d", found.output, one, Axis("d"), "amount"),
    ]
    theme = current_theme()
    maps = [
        Map(name, f"<b style='color:{theme.letters.get(hue, theme.ink)}'>{symbol}</b>", values, across, down, scale)
        for name, symbol, hue, values, across, down, scale in small
    ]
    return labs.maps(computed, "maps-lookup", maps, bars={"share": _("q, K and a, 0 to 1"), "amount": _("V and o")})


def _curve(n: int, t: float) -> None:
    low, high = LIMITS["lookup"].low, LIMITS["lookup"].high
    fine = [low * (high / low) ** (i / 78) for i in range(79)]
    points = fine[::2]
    by_torch = weights_by_torch(n, points).tolist()
    series = [
        Series("1 / (1 + (n − 1) exp(−1/T))", fine, weights_by_formula(n, fine).tolist(), "k"),
        Series("torch.softmax", points, by_torch, "u", dash="dot"),
        Series(_("1/n, the mean"), [low, high], [1 / n, 1 / n], "m", dash="dash"),
        Series(_("now"), [t], weights_by_torch(n, [t]).tolist(), "s"),
    ]
    spec = lines(
        series,
        Scale(_("temperature T"), log=True, low=low, high=high),
        Scale(_("weight of the row asked for"), low=0, high=1.05),
        current_theme(),
        size=(520, 300),
    )
    alt = _("The weight of the row asked for falls from {cold} at temperature {low} to {hot} at {high}.").format(
        cold=number(by_torch[0], 4), hot=number(by_torch[-1], 4), low=f"{low:g}", high=f"{high:g}"
    )
    labs.chart("curve", spec, alt, partial(_curve_table, labs.ran("curve", weight_curve, n, STEPS)))


def _curve_table(curve: Curve) -> pd.DataFrame:
    import pandas as pd

    columns = {
        _("temperature T"): curve.temperatures.tolist(),
        _("by the formula"): curve.by_formula.tolist(),
        _("by torch"): curve.by_torch.tolist(),
    }
    return pd.DataFrame(columns)


def _look_up(words: tuple[str, ...], shown: Sequence[str], cell: dict[str, Any]) -> None:
    """Ask for the row of the table that was clicked."""
    at = cell["col"] if cell["name"] == "query" else cell["row"]
    if cell["name"] != "output":
        state.look(s=words.index(shown[int(at)]))
