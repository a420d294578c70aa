"""Query, key, value: what the parts of the page share, and the part on three tables from one X."""

from __future__ import annotations

import math

import streamlit as st
from torch import Tensor

from attnviz.figures.maps import Axis, Map
from attnviz.figures.panels import AXES, matrix
from attnviz.figures.text import SUBSCRIPTS, cut, markdown, number, visible
from attnviz.figures.titles import SYMBOLS, key_value_head, role
from attnviz.labs.roles import largest_difference
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme, windows
from attnviz.ui.compute import Computed
from attnviz.ui.questions import Question, ask, progress

HUES = {"w_q": "s", "query": "s", "w_k": "u", "key": "u", "w_v": "d", "value": "d", "output": "d"}


@labs.live
def show_tables(computed: Computed) -> None:
    """Draw the part on "in self-attention Q = K = V"."""
    progress(9)
    windows(computed)
    query, key, value = (table(computed, name) for name in ("query", "key", "value"))
    place = ask(
        Question(
            9,
            _("**“In self-attention Q = K = V”?** One reads this often. What is true of it?"),
            {
                "same": _("Q, K and V are three names of the same table"),
                "keys": _("Q and K are the same table, and only V is another"),
                "source": _("they have the same source X, but three matrices make three tables of it"),
            },
            right="source",
        )
    )
    if place is not None:
        words = _(
            "All three read the same X. But W_Q, W_K and W_V differ, and so do the tables: Q and K by up to {keys}, "
            "Q and V by up to {values}. The saying comes from calls such as attn(x, x, x): the three arguments are "
            "equal, and the three matrices stand inside."
        )
        values = labs.ran("query_to_value", largest_difference, query, value)
        if values is None:
            words = _(
                "All three read the same X. But W_Q, W_K and W_V differ, and so do the tables: Q and K by up to "
                "{keys}, while V has d_v = {d_v} columns where Q has d_k = {d_k}, so that it cannot even be compared. "
                "The saying comes from calls such as attn(x, x, x): the three arguments are equal, and the three "
                "matrices stand inside."
            )
        keys = labs.ran("query_to_key", largest_difference, query, key) or 0.0
        place.markdown(
            words.format(keys=number(keys, 4), values=number(values or 0.0, 4), d_v=value.shape[1], d_k=query.shape[1])
        )
    drawn = [drawn_as(computed, name) for name in ("x", "query", "key", "value")]
    labs.connect(computed, [labs.maps(computed, "maps-tables", drawn)])


def length(computed: Computed) -> int:
    """Return how many tokens the chosen sequence has, without its padding."""
    return computed.run.lengths[computed.view.b]


def words_of(computed: Computed) -> tuple[str, ...]:
    """Return the tokens of the chosen sequence, without its padding."""
    return computed.run.tokens[computed.view.b][: length(computed)]


def table(computed: Computed, name: str) -> Tensor:
    """Return a matrix of the chosen sequence and head by its name in figures.panels, without rows of padding."""
    view, n = computed.view, length(computed)
    values = matrix(computed.run, name, view.b, view.h)
    rows, columns = AXES[name]
    return values[: n if rows in "su" else None, : n if columns in "su" else None]


def drawn_as(computed: Computed, name: str) -> Map:
    """Return X, the weights, Q, K or V as a map."""
    rows, columns = (Axis(letter, words_of(computed) if letter in "su" else ()) for letter in AXES[name])
    made = titled(computed, name, SYMBOLS[name], HUES.get(name, ""), table(computed, name), rows, columns)
    if name in ("key", "value"):
        return made._replace(title=made.title + key_value_head(computed.experiment, computed.view.h))
    return made


def titled(
    computed: Computed,
    name: str,
    symbol: str,
    hue: str,
    values: Tensor,
    rows: Axis,
    columns: Axis,
    scale: str = "signed",
) -> Map:
    """Return a map whose title is a symbol in the hue of a letter, and the shape in the letters' own."""
    theme, letters = current_theme(), computed.view.letters
    shape = ", ".join(
        f"<span style='color:{theme.letters.get(axis.letter, theme.ink)}'>{relabel(axis.letter, letters)}</span>={size}"
        for axis, size in zip((rows, columns), values.shape, strict=True)
    )
    title = (
        f"<b style='color:{theme.letters.get(hue, theme.ink)}'>{symbol}</b>"
        f" <span style='color:{theme.quiet};font-size:11px'>({shape})</span>"
    )
    return Map(name, title, values, rows, columns, scale)


def chosen(computed: Computed) -> tuple[int, int]:
    """Return the chosen tokens s and u, moved out of the padding."""
    last = length(computed) - 1
    return min(computed.view.s, last), min(computed.view.u, last)


def choose(computed: Computed, *fields: str) -> None:
    """Offer the chosen tokens by number, which a click on a map sets as well."""
    words, at = words_of(computed), dict(zip("su", chosen(computed), strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
        for field in fields:
            key = f"pick:{field}"
            st.session_state[key] = at[field] + 1  # on screen, tokens count from 1
            st.number_input(
                f"{role(field)} {relabel(field, computed.view.letters)} = {quoted(words, at[field])}",
                1,
                len(words),
                None,
                key=key,
                on_change=state.look_at,
                args=(field, key),
                width=240,
            )


def quoted(words: tuple[str, ...], i: int) -> str:
    """Quote a token in Markdown, with its number where it is not the only one of its kind."""
    place = str(i + 1).translate(SUBSCRIPTS) if words.count(words[i]) > 1 else ""
    return f"“{markdown(cut(visible(words[i]), 120))}”{place}"


def rounded(value: float) -> str:
    """Print what is left of a difference by rounding: one digit and its power of ten."""
    return f"{value:.1g}" if math.isfinite(value) else number(value, 0)
