"""Multi-head: the part on cross-attention, in which one text reads another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from attnviz.core.attention import AttentionTrace
from attnviz.experiment import EDITS, Experiment, Run
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, number
from attnviz.labs.heads import cross
from attnviz.letters import relabel
from attnviz.limits import TEXTS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed, kept
from attnviz.ui.controls import LIVE
from attnviz.ui.labs.heads import tokens
from attnviz.ui.labs.roles import choose, chosen, quoted, words_of
from attnviz.ui.questions import Question, ask, progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(21)
    e, view, words = computed.experiment, computed.view, words_of(computed)
    run = kept("context", _second(e, view.lab.context))
    read = run.tokens[0]
    trace = _attend(e, computed.run, run, view.b, len(words))
    h, s = view.h, chosen(computed)[0]
    row = trace.weights[h, s]
    _ask(words, read)
    _type(e)
    choose(computed, "s")
    best = int(row.nan_to_num(-1).argmax())
    st.markdown(
        _("Row {s} = {token} shares out its attention over the second text: most, **{most}**, goes to {best}.").format(
            s=relabel("s", view.letters),
            token=quoted(words, s),
            most=number(float(row[best]), 4),
            best=quoted(read, best),
        )
    )
    drawn = _windows(computed, len(words), len(read))
    charts = [labs.maps(drawn, "maps-cross", _maps(computed, trace, words, read))]
    if e.mask != "none" or e.positions == "alibi":
        st.caption(_("The second text is all there when it is read: the mask above, and ALiBi, stay out."))
    if {"q", "k", "v"} & e.edits.keys():
        st.caption(_("Typed queries, keys and values stay out: all three are made anew from the two texts."))
    labs.connect(computed, charts, selected={"name": "weights", "row": s, "col": best}, key_tokens=read)


def _second(e: Experiment, typed: str) -> Experiment:
    """The experiment of the second text, of which X is wanted: all else is as small as can be."""
    text = " ".join((typed if typed.strip() else _("a black cat sleeps")).splitlines())
    small: dict[str, Any] = dict.fromkeys(EDITS) | {"d_k": 1, "d_v": 1, "n_heads": 1, "n_kv_heads": None}
    return replace(e, text=text, mask="none", max_tokens=None, **small)


def _attend(e: Experiment, run: Run, second: Run, b: int, n: int) -> AttentionTrace:
    """Let the n tokens of sequence b read the second text."""
    return labs.ran(
        "crossed",
        cross,
        run.x[b, :n],
        second.x[0],
        w_q=run.w_q,
        w_k=run.w_k,
        w_v=run.w_v,
        n_heads=e.n_heads,
        n_kv_heads=e.n_kv_heads or e.n_heads,
        scale=run.scale,
        rotary=run.rotary,
    )


def _ask(words: tuple[str, ...], read: tuple[str, ...]) -> None:
    n, m = len(words), len(read)
    place = ask(
        Question(
            21,
            _(
                "**Where do Q, K and V come from in cross-attention?** Your text of {yours} reads a second text of "
                "{others}, as a translation reads its source."
            ).format(yours=tokens(n), others=tokens(m)),
            {
                "v": _("Q and K from your text, V from the second"),
                "q": _("Q from the second text, K and V from yours"),
                "kv": _("Q from your text, K and V from the second"),
            },
            right="kv",
        )
    )
    if place is None:
        return
    said = _(
        "Who reads asks: Q has a row for each token of your text. What is read is compared and passed on: K and V have "
        "a row for each token of the second. So the map is {n} by {m}, and each row of the output is a mean of the "
        "second text's values."
    )
    if n != m:
        said += " " + _("With V from your own text a V would not even fit: a row of a has {m} weights, V {n} rows.")
    else:
        said += " " + _("It is square only because the two texts are equally long: add a word to one.")
    place.markdown(said.format(n=n, m=m))


def _type(e: Experiment) -> None:
    st.text_input(
        _("Second text, which is read"),
        max_chars=TEXTS["context"],
        live=LIVE,
        placeholder=_("a black cat sleeps"),
        autocomplete="off",
        **state.of_lab("context"),
    )


def _maps(computed: Computed, trace: AttentionTrace, words: tuple[str, ...], read: tuple[str, ...]) -> list[Map]:
    h, hues = computed.view.h, current_theme().letters
    kv = h * trace.key.shape[0] // trace.query.shape[0]
    s, u = Axis("s", words), Axis("u", read)
    first, second = html(_("your text")), html(_("second text"))
    return [
        Map("query", f"<b style='color:{hues['s']}'>Q</b> {first}", trace.query[h], s, Axis("k")),
        Map("key", f"<b style='color:{hues['u']}'>K</b> {second}", trace.key[kv], u, Axis("k")),
        Map("value", f"<b style='color:{hues['d']}'>V</b> {second}", trace.value[kv], u, Axis("d")),
        Map("weights", "<b>a</b>", trace.weights[h], s, u, scale="share", sums="rows"),
        Map("output", f"<b style='color:{hues['d']}'>O</b> {first}", trace.output[h], s, Axis("d")),
    ]


def _windows(computed: Computed, n: int, m: int) -> Computed:
    """Offer which tokens of two long texts are drawn, each of its own length, and return the view with them."""
    starts: dict[str, Any] = {}
    if max(n, m) > TOKENS_SHOWN:
        words = _("Of a long text the maps show {shown} tokens at a time; every number is of the whole text.")
        st.caption(words.format(shown=TOKENS_SHOWN))
    with st.container(horizontal=True):
        for field, words, size in (("from_s", _("First query shown"), n), ("from_u", _("First key shown"), m)):
            last = max(0, size - TOKENS_SHOWN)
            starts[field] = min(getattr(state.view(), field), last)
            if last:
                key = f"first:{field}"
                st.session_state[key] = starts[field] + 1  # on screen, tokens count from 1
                st.slider(words, 1, last + 1, key=key, on_change=state.look_at, args=(field, key))
    return computed._replace(view=replace(computed.view, **starts))
