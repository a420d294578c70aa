"""The parts of the page about what a weight proves: what is chosen, the maps, and what is knocked out."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.core.statistics import contribution
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, markdown, number
from attnviz.labs.proof import along, by_weight, knock_out, movement
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import Charts
from attnviz.ui.compute import Computed


class Head(NamedTuple):
    """The head that is shown, of the chosen sequence without its padding, and the edge that is chosen."""

    words: tuple[str, ...]
    masked: Tensor  # (s, u)
    weights: Tensor  # (s, u)
    value: Tensor  # (u, d)
    output: Tensor  # (s, d)
    added: Tensor  # (s, u) a ||v||
    along: Tensor  # (s, u) of it, what points along the output
    moved: Tensor  # (s, u) how far the output of s moves without the edge
    s: int
    u: int
    seen: Tensor  # (u,) the keys that row s may see, those of the highest weight first


def head(computed: Computed) -> Head:
    """Compute what the page shows."""
    view, trace = computed.view, computed.run.trace
    assert trace is not None
    b, h, n = view.b, view.h, computed.run.lengths[view.b]
    masked, weights = trace.masked[b, h, :n, :n], trace.weights[b, h, :n, :n]
    value = trace.value[b, h * trace.value.shape[1] // trace.query.shape[1], :n]
    s, u = min(view.s, n - 1), min(view.u, n - 1)
    return Head(
        computed.run.tokens[b][:n],
        masked,
        weights,
        value,
        trace.output[b, h, :n],
        labs.ran("added", contribution, weights, value),
        labs.ran("aligned", along, weights, value),
        labs.ran("moved", movement, masked, value),
        s,
        u,
        labs.ran("keys_seen", by_weight, masked, weights, s),
    )


def choose(head: Head) -> None:
    """Let the reader choose the edge."""
    letters = {letter: relabel(letter, state.view().letters) for letter in "su"}
    names = {"s": _("query token"), "u": _("key token")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for letter, at in (("s", head.s), ("u", head.u)):
            st.session_state[f"edge:{letter}"] = at + 1
            st.number_input(
                f"{names[letter]} {letters[letter]} = {markdown(head.words[at])}",
                1,
                len(head.words),
                None,
                width=220,
                key=f"edge:{letter}",
                on_change=state.look_at,
                args=(letter, f"edge:{letter}"),
            )


def choose_knocked() -> None:
    """Let the reader choose what is knocked out."""
    letters = {letter: relabel(letter, state.view().letters) for letter in "su"}
    st.segmented_control(
        _("Knock out"),
        ("edge", "token"),
        required=True,
        format_func={
            "edge": _("the edge {s}, {u}").format(**letters),
            "token": _("the token {u}").format(**letters),
        }.__getitem__,
        **state.of_lab("knocked", worded=True),
    )


def maps(computed: Computed, head: Head) -> Charts:
    """Draw the weights, what they add to the output, and how far it moves without each."""
    tokens = (Axis("s", head.words), Axis("u", head.words))
    return [
        labs.maps(
            computed,
            "maps-proof",
            [
                Map("weights", _titled("a", _("weight")), head.weights, *tokens, scale="share"),
                Map("added", _titled("a ‖v‖", _("what it adds")), head.added, *tokens, scale="amount"),
                Map("moved", _titled("‖o − o′‖", _("moved without it")), head.moved, *tokens, scale="amount"),
            ],
            bars={"amount": _("length, in units of the values")},
        )
    ]


def knocked(computed: Computed, head: Head) -> Charts:
    """Knock out the chosen edge or token, and draw what is left."""
    what = computed.view.lab.knocked
    after = labs.ran("knocked", knock_out, head.masked, head.value, head.s, head.u, what)
    place = {
        "s": f"{relabel('s', computed.view.letters)} = {head.s + 1} “{markdown(head.words[head.s])}”",
        "u": f"{relabel('u', computed.view.letters)} = {head.u + 1} “{markdown(head.words[head.u])}”",
        "weight": number(float(head.weights[head.s, head.u]), 4),
        "by": number(float(after.moved[head.s]), 4),
        "length": number(float(head.output[head.s].norm()), 4),
        "most": number(float(after.moved.max()), 4),
        "row": int(after.moved.argmax()) + 1,
        "token": markdown(head.words[int(after.moved.argmax())]),
        "mean": number(float(after.moved.mean()), 4),
    }
    if what == "token":
        words = _(
            "**Without the token {u}** every row shares out anew what it gave it. The outputs move by {mean} on "
            "average, and most in row {row} “{token}”: by {most}. Row {s} moves by {by}, as without the edge alone: in "
            "one layer a token has no other way to a row."
        )
    elif bool(head.masked[head.s, head.u].isneginf()):
        words = _("**The edge from {s} to {u}** is hidden by the mask already: nothing moves.")
    elif len(head.seen) == 1:
        words = _(
            "**Without the edge from {s} to {u}** no weight is left: it is the only key that this row may see, so that "
            "all its scores are −∞ and its weights 0. The output, {length} long, becomes 0."
        )
    else:
        words = _(
            "**Without the edge from {s} to {u}** its weight {weight} goes to the other keys of the row. The output, "
            "{length} long, moves by {by}; no other row moves."
        )
    st.markdown(words.format(**place))
    rows = slice(head.s, head.s + 1) if what == "edge" else slice(None)  # those that may have moved
    s, u, d = Axis("s", head.words[rows]), Axis("u", head.words), Axis("d")
    chart = labs.maps(
        computed,
        "maps-knocked",
        [
            Map("weights_before", _titled("a", _("before")), head.weights[rows], s, u, scale="share"),
            Map("weights_after", _titled("a′", _("after")), after.weights[rows], s, u, scale="share"),
            Map("output_before", _titled("O", _("before")), head.output[rows], s, d),
            Map("output_after", _titled("O′", _("after")), after.output[rows], s, d),
        ],
    )
    if what == "edge":
        for panel in chart["panels"]:
            panel["start"][0] = head.s  # the one row is this one
    return [chart]


def _titled(symbol: str, words: str) -> str:
    return f"<b>{symbol}</b> {html(words)}"
