"""The softmax section: the axis, one row from scores to weights, and dropout."""

from __future__ import annotations

from typing import Any

import streamlit as st
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import SUBSCRIPTS, cut, html, markdown, number, visible
from attnviz.figures.titles import masked_symbol, scale_symbol
from attnviz.labs.roles import mixed
from attnviz.labs.softmax import dropped, over_axis, row_sums
from attnviz.letters import relabel
from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.ui import board, labs, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs import softmax_row
from attnviz.ui.questions import Question, ask, progress

NAMED = 3  # values that a sentence names


@labs.live
def show(computed: Computed) -> None:
    """Draw the section."""
    view, trace = computed.view, computed.run.trace
    assert trace is not None
    progress(4, 15)
    _ask_axis(computed, trace)
    charts = _axis(computed)
    softmax_row.show(computed, trace)
    _ask_sums(computed, trace.weights[view.b, view.h])
    charts += _dropout(computed)
    labs.connect(computed, charts, selected={"name": "weights", "row": view.s, "col": view.u})


@labs.part("axis", "training")
def _axis(computed: Computed) -> list[dict[str, Any]]:
    view, words, trace = computed.view, computed.run.tokens[computed.view.b], computed.run.trace
    assert trace is not None
    masked = trace.masked[view.b, view.h]
    s, u = (relabel(letter, view.letters) for letter in "su")
    axes = {"u": _("keys {u} (each row)").format(u=u), "s": _("queries {s} (each column)").format(s=s)}
    st.segmented_control(
        _("Softmax over"),
        tuple(axes),
        required=True,
        format_func=axes.__getitem__,
        **state.of_lab("axis", worded=True),
    )
    weights = labs.ran("weights", over_axis, masked, view.lab.axis)
    value = trace.value[view.b, view.h * trace.value.shape[1] // trace.query.shape[1]]
    tokens = (Axis("s", words), Axis("u", words))
    symbol = scale_symbol(computed.experiment) + masked_symbol(computed.run)
    board.windows(computed)
    made = labs.maps(
        computed,
        "maps-axis",
        [
            Map("masked", f"<b>{symbol}</b>", masked, *tokens),
            Map("weights", "<b>a</b>", weights, *tokens, scale="share", sums="both"),
            Map("output", "<b>O = a V</b>", labs.ran("output", mixed, weights, value), tokens[0], Axis("d")),
        ],
    )
    _say_mixed(computed, weights[view.s])
    return [made]


def _ask_axis(computed: Computed, trace: AttentionTrace) -> None:
    view, length = computed.view, computed.run.lengths[computed.view.b]
    s, u = (relabel(letter, view.letters) for letter in "su")
    place = ask(
        Question(
            4,
            _(
                "**Softmax over which axis?** Row {s} of the scores is the token that reads, column {u} the one read."
            ).format(s=s, u=u),
            {
                "s": _("over the queries {s}, so that each column sums to 1").format(s=s),
                "u": _("over the keys {u}, so that each row sums to 1").format(u=u),
                "su": _("over the whole map, so that all weights together sum to 1"),
            },
            right="u",
        )
    )
    if place is None:
        return
    over_queries = labs.ran("over_queries", over_axis, trace.masked[view.b, view.h], "s")
    low, high = labs.ran("sums_over_queries", row_sums, over_queries, trace.weights[view.b, view.h], length)
    if length == 1:
        words = _("With one token there is one score, and its weight is 1 either way: type a second word.")
    else:
        words = _(
            "Each query token shares out its own attention, so its row must sum to 1. Softmax over {s} makes the "
            "columns sum to 1 instead: your rows then sum to anything from {low} to {high}, and a row of the output "
            "is no mean of the values any more. Both run without an error, so look at the sums."
        )
    place.markdown(words.format(s=s, low=number(low, 4), high=number(high, 4)))


def _say_mixed(computed: Computed, weights: Tensor) -> None:
    """Say what the chosen row of the output takes of the values, by weights (u,)."""
    view, tokens = computed.view, computed.run.tokens[computed.view.b]
    total = float(weights.sum())
    if not abs(total) < float("inf"):
        return
    order = [i for i in weights.argsort(descending=True, stable=True).tolist() if weights[i] > 0]
    parts = [
        f"{number(float(weights[i]), 2)} V{str(i + 1).translate(SUBSCRIPTS)} “{markdown(cut(visible(tokens[i]), 120))}”"
        for i in order[:NAMED]
    ]
    if not order:
        words = _("Row {n} of the output, “{token}”, takes nothing: it is 0.")
    elif abs(total - 1) < 1e-3:
        words = _(
            "Row {n} of the output, “{token}”, takes {parts}; in all {total}, so that it is a mean of the values."
        )
    else:
        words = _(
            "Row {n} of the output, “{token}”, takes {parts}; in all {total}, so that it is no mean of the values."
        )
    st.markdown(
        words.format(
            n=view.s + 1,
            token=markdown(cut(visible(tokens[view.s]), 120)),
            parts=" + ".join([*parts, "…"] if len(order) > NAMED else parts),
            total=number(total, 4),
        )
    )


@labs.part("axis", "training")
def _dropout(computed: Computed) -> list[dict[str, Any]]:
    view, lab, words = computed.view, computed.view.lab, computed.run.tokens[computed.view.b]
    assert computed.run.trace is not None
    weights: Tensor = computed.run.trace.weights[view.b, view.h]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        limit = LIMITS["dropout"]
        bound = labs.whole(state.of_lab("dropout"))  # the answer above has it too
        st.slider(_("Dropout p"), limit.low, limit.high, step=limit.step, width=260, **bound)
        st.toggle(_("Training (off: evaluation)"), **state.of_lab("training"))
    how = {"training": lab.training, "seed": computed.experiment.seed}
    kept = labs.ran("after_dropout", dropped, weights, lab.dropout, **how)
    tokens = (Axis("s", words), Axis("u", words))
    before = Map("before", "<b>a</b>", weights, *tokens, scale="share", sums="rows")
    title = html(_("a after dropout"))  # outside the f-string, where a catalogue's reader would not find it
    after = Map("dropped", f"<b>{title}</b>", kept, *tokens, scale="amount", sums="rows")
    made = labs.maps(computed, "maps-dropout", [before, after], bars={"amount": _("weight after dropout")})
    _say_mixed(computed, kept[view.s])
    return [made]


def _ask_sums(computed: Computed, weights: Tensor) -> None:
    p, length = computed.view.lab.dropout, computed.run.lengths[computed.view.b]
    place = ask(
        Question(
            15,
            _("**Why don't my weights sum to 1?** You print the weights of a layer in training: no row sums to 1."),
            {
                "rounding": _("softmax rounds in float32"),
                "mask": _("the mask takes some weights away"),
                "dropout": _("dropout comes after the softmax"),
            },
            right="dropout",
        )
    )
    if place is None:
        return
    kept = labs.ran("in_training", dropped, weights, p, training=True, seed=computed.experiment.seed)
    low, high = labs.ran("sums_in_training", row_sums, kept, weights, length)
    whole = weights.sum(-1)  # (s,)
    rounding = (whole - whole.round()).abs().nan_to_num(0).max()
    words = _(
        "In training dropout sets a share p of the weights to 0 and divides the rest by 1 − p, so that a row sums to 1 "
        "only on average: with p = {p} your rows sum to anything from {low} to {high}. In evaluation it does nothing. "
        "Rounding is no reason, it moves your sums by {error} at most; nor is a mask, which comes before the softmax, "
        "so that the keys left share the whole 1."
    )
    if p == 0:
        words = _("Dropout is the reason, but at p = 0 it drops nothing: raise p below and look at the sums.")
    place.markdown(
        words.format(
            p=f"{p:g}",
            low=number(low, 4),
            high=number(high, 4),
            error=number(float(rounding), 7),
        )
    )
