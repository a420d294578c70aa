"""One head as people know it from papers: lines between two columns of tokens, and a text coloured by one row."""

from __future__ import annotations

import html as escaping
from functools import partial
from typing import NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.figures import pairs
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, markdown, number, visible
from attnviz.figures.titles import role
from attnviz.letters import relabel
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.models.words import group_weights, words
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.chart import Specified
from attnviz.ui.compute import Computed
from attnviz.ui.models.chosen import Chosen, Shown, stand_in, token_boxes
from attnviz.ui.models.head import windows


class Grouped(NamedTuple):
    """A map of pieces, or of words."""

    weights: Tensor  # (s, u)
    queries: tuple[str, ...]
    keys: tuple[str, ...]


def grouped(chosen: Chosen, weights: Tensor) -> Grouped:
    """Return a map (s, u) as it is, or of words where the reader asks for them."""
    if not state.view().lab.grouped:
        return Grouped(weights, chosen.queries, chosen.keys)
    rows = words(chosen.part.queries, _texts(chosen))
    columns = words(chosen.part.keys, _texts(chosen))
    made = group_weights(weights, [word.tokens for word in rows], [word.tokens for word in columns])
    return Grouped(made, tuple(word.shown for word in rows), tuple(word.shown for word in columns))


def _texts(chosen: Chosen) -> tuple[str, ...]:
    """The texts as tokens count them: a decoder's own tokens are of the second."""
    texts = chosen.reading.texts
    return texts if len(texts) > 1 else (*texts, "")


def say_words() -> None:
    """Say what the numbers of words are."""
    if state.view().lab.grouped:
        st.caption(_("Words: a word's pieces are summed over key columns and averaged over query rows."))


def show(chosen: Chosen, computed: Computed) -> Shown:
    """Draw the map, the lines and the text."""
    say_words()
    made = grouped(chosen, chosen.read.trace(chosen.head).weights[0])
    now = windows(made.queries, made.keys, stand_in(made.queries, made.keys))
    s = now.view.s
    token_boxes(now, made.keys, "s")
    one = Map(
        "weights", "<b>a</b>", made.weights, Axis("s", made.queries), Axis("u", made.keys), scale="share", sums="rows"
    )
    with st.container(horizontal=True, gap="medium"):
        charts = [labs.maps(now, "maps-lines", [one], width=760)]
        _lines(made, now)
    _coloured(made, s)
    return Shown(charts, now, made.keys)


def _lines(made: Grouped, now: Computed) -> None:
    view = now.view
    rows = slice(view.from_s, view.from_s + TOKENS_SHOWN)
    columns = slice(view.from_u, view.from_u + TOKENS_SHOWN)
    drawn = made.weights[rows, columns].contiguous().numpy()
    inside = view.s - view.from_s if view.from_s <= view.s < view.from_s + len(drawn) else None
    letters = [f"{role(letter)} {relabel(letter, view.letters)}" for letter in "su"]
    spec = pairs.specify(
        drawn,
        made.queries[rows],
        made.keys[columns],
        current_theme(),
        row=inside,
        titles=(letters[0], letters[1]),
    )
    alt = _("Lines from each query token on the left to the keys on the right that it reads, the darker the more.")
    width = spec["layout"]["width"]
    with st.container(key="maps-pairs", width=width):
        st.plotly_chart(Specified(spec), width=width, theme=None, key="chart-maps-pairs", config=labs.PLAIN, alt=alt)
        st.caption(_("Weights below {least} have no line.").format(least=pairs.LEAST))
    whole = Map("lines", html(alt), made.weights, Axis("s", made.queries), Axis("u", made.keys))
    labs.tables("pairs", [(alt, partial(labs.frame, whole))])


def _coloured(made: Grouped, s: int) -> None:
    """The whole text, each token on a ground of the weight that the chosen row gives it."""
    row, colour = made.weights[s], current_theme().share[-1][1]
    best = int(row.argmax())
    st.markdown(
        _(
            "What {token} attends to, most to {best} with {weight}; the ground is as strong as the square root of a "
            "weight:"
        ).format(
            token=f"“{markdown(made.queries[s])}”",
            best=f"“{markdown(made.keys[best])}”",
            weight=number(float(row[best]), 4),
        )
    )
    spans = []
    for word, weight in zip(made.keys, row.tolist(), strict=True):
        share = max(0.0, min(1.0, weight)) ** 0.5
        ink = ";color:#fff" if share > 0.5 else ""
        ground = f"color-mix(in srgb, {colour} {100 * share:.0f}%, transparent)"
        style = f"background:{ground}{ink};padding:2px 4px;border-radius:3px;white-space:pre"
        spans.append(f'<span style="{style}" title="{weight:.4f}">{escaping.escape(visible(word))}</span>')
    with st.container(key="coloured_text"):
        st.html(f'<div style="line-height:1.9">{" ".join(spans)}</div>')
