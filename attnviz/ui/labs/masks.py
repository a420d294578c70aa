"""The masks section: the painter, and what becomes of a hidden score, before the softmax or after it."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st
import torch

from attnviz.fields import CHOICES
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import MINUS, number
from attnviz.labs.masks import Hidden, hide, leak, leaks_of, renormalised
from attnviz.labs.positions import largest
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import board, labs, painter, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs import masks_torch
from attnviz.ui.labs.masks_study import Study, begin, bold, share
from attnviz.ui.questions import Question, ask, progress

OF_TOKENS = ("scores", "weights", "before", "after", "again", "plain", "safe", "meant", "turned")  # maps of (s, u)


@labs.live
def show(computed: Computed) -> None:
    """Draw the section."""
    progress(11, 12, 13, 14)
    letters = computed.view.letters
    st.markdown(
        _(
            "A mask says which key each query may read. Click a cell to hide it or to show it again: row {s} is the "
            "token that reads, column {u} the one that is read. Your mask goes into the link and to every page."
        ).format(s=relabel("s", letters), u=relabel("u", letters))
    )
    board.windows(computed)
    charts = [painter.show(computed)]
    study = begin(computed)
    if study.stands_in and bool(study.mask.all()):
        st.caption(_("One token alone has nobody to hide from: add a word to the text."))
    elif study.stands_in:
        st.caption(_("Your mask hides nothing yet: until it does, the causal mask stands in below."))
    _ask_value(study)
    charts += [*_value(computed, study), *_when(computed, study), *masks_torch.show(computed, study)]
    s, u = painter.cursor(computed)
    labs.connect(computed, charts, selected={"name": painter.GRID, "row": s, "col": u}, on_cell=_clicked)


def _clicked(cell: dict[str, Any]) -> None:
    if cell["name"] == painter.GRID:
        painter.clicked(cell)
    elif cell["name"] in OF_TOKENS:
        state.look(s=int(cell["row"]), u=int(cell["col"]))


def _ask_value(study: Study) -> None:
    place = ask(
        Question(
            11,
            _("**Why −∞ and not 0 in a mask?** Somebody hides a key by setting its score to 0. What happens?"),
            {
                "hidden": _("the key is hidden: a score of 0 is a weight of 0"),
                "leaks": _("the key keeps a weight, for exp(0) is 1"),
                "sum": _("the row no longer sums to 1"),
            },
            right="leaks",
        )
    )
    if place is not None:
        place.markdown(_why_infinite(study))
        place.markdown(_leaks(study))


@labs.part("hidden_value")
def _value(computed: Computed, study: Study) -> list[dict[str, Any]]:
    lab = computed.view.lab
    after = lab.hidden_when == "after"
    with st.container(horizontal=True, gap="medium"):
        st.segmented_control(
            _("The mask acts"),
            CHOICES["hidden_when"],
            required=True,
            format_func={"before": _("before the softmax"), "after": _("after the softmax")}.__getitem__,
            **labs.whole(state.of_lab("hidden_when", worded=True)),
        )
        st.segmented_control(
            _("A hidden score becomes"),
            CHOICES["hidden_value"],
            required=True,
            format_func=_minus,
            disabled=after,
            help=_("After the softmax there are no scores any more: hidden weights are multiplied by 0."),
            **state.of_lab("hidden_value"),
        )
    value = float(lab.hidden_value)
    found = labs.ran("with_mask", hide, study.scaled, study.value, study.mask, hidden=value, after=after)
    titles = ("S", _("a, times the mask")) if after else (_("S, masked"), "a")
    chart = labs.maps(
        computed,
        "block-hidden",
        [
            Map("scores", bold(titles[0]), found.scores, study.rows, study.keys),
            Map("weights", bold(titles[1]), found.weights, study.rows, study.keys, scale="share", sums="rows"),
            Map("output", "<b>O = a V</b>", found.output, study.rows, Axis("d")),
        ],
    )
    st.markdown(_what_leaks(study, found))
    return [chart]


def _what_leaks(study: Study, found: Hidden) -> str:
    leaks = leak(found.weights, study.mask)
    if leaks is None:
        return ""
    labs.made("leaked", leaks, leak, found.weights, study.mask)
    sums = labs.ran("row_sums", torch.sum, found.weights, -1)
    words = [
        _("What leaks: hidden cells hold {total} of {whole} of all attention.").format(
            total=f"**{share(leaks.total)}**", whole=number(float(sums.sum()), 4)
        )
    ]
    if leaks.largest > 0:
        words.append(
            _("The largest of their weights is {most}, which {s} gives to {u}.").format(
                most=f"**{share(leaks.largest)}**", s=study.reader(leaks.s), u=study.read(leaks.u)
            )
        )
    words.append(
        _("Rows sum to {low} at least and {high} at most.").format(
            low=number(float(sums.min()), 4), high=number(float(sums.max()), 4)
        )
    )
    return " ".join(words)


def _why_infinite(study: Study) -> str:
    words = _("A score of 0 is a score like any other: exp(0) = 1, and the key takes part in the softmax.")
    weights = labs.ran("with_zero", hide, study.scaled, study.value, study.mask, hidden=0.0).weights
    leaks = labs.ran("leaked_with_zero", leak, weights, study.mask)
    if leaks is not None and leaks.above is not None:
        s, hidden, seen = leaks.above
        words += " " + _(
            "With 0, your {s} gives {more} to {hidden}, which is hidden, and only {less} to {seen}, which it may see."
        ).format(
            s=study.reader(s),
            hidden=study.read(hidden),
            seen=study.read(seen),
            more=share(float(weights[s, hidden])),
            less=share(float(weights[s, seen])),
        )
    return words + " " + _("−1 and −10 leak less; only −∞ leaves exactly 0, whatever the other scores are.")


def _leaks(study: Study) -> str:
    """A table in Markdown: what leaks with each value."""
    heads = (_("hidden score"), _("largest weight on a hidden key"), _("all hidden keys together, out of {n}"))
    lines = ["|".join(heads), "---:|---:|---:"]
    codes = CHOICES["hidden_value"]
    found = labs.ran("leaks", leaks_of, study.scaled, study.value, study.mask, [*map(float, codes)])
    for code, leaks in zip(codes, found, strict=True):
        most, total = (leaks.largest, leaks.total) if leaks else (0.0, 0.0)
        lines.append(f"{_minus(code)}|{share(most)}|{share(total)}")
    return "\n".join(lines).format(n=len(study.mask))


def _when(computed: Computed, study: Study) -> list[dict[str, Any]]:
    place = ask(
        Question(
            12,
            _(
                "**Why not multiply by the mask after softmax?** It is simpler: softmax as ever, and then hidden "
                "weights are set to 0. What is wrong with the weights that remain?"
            ),
            {
                "sums": _("the rows no longer sum to 1, each by another amount"),
                "same": _("nothing: they are those of −∞ before the softmax"),
                "leak": _("hidden keys still keep a little weight"),
            },
            right="sums",
        )
    )
    if place is None:
        return []
    before = labs.ran("before_softmax", hide, study.scaled, study.value, study.mask).weights
    after = labs.ran("after_softmax", hide, study.scaled, study.value, study.mask, after=True).weights
    again = labs.ran("shared_out_anew", renormalised, after)
    sums = labs.ran("sums_after", torch.sum, after, -1)
    s = int(sums.nan_to_num(math.inf).argmin())
    place.markdown(
        _(
            "The softmax has shared out each row before the mask comes, to hidden keys as well, and the mask then "
            "throws their shares away: {s} had given {lost} to hidden keys, so that its row sums to {low}. Divide "
            "each row by its sum, and the weights of −∞ before the softmax come out again (largest difference: "
            "{difference})."
        ).format(
            s=study.reader(s),
            lost=number(1 - float(sums[s]), 4),
            low=number(float(sums[s]), 4),
            difference=share(labs.ran("apart", largest, before, again)),
        )
    )
    with place:
        look: dict[str, Any] = {"scale": "share", "sums": "rows"}
        return [
            labs.maps(
                computed,
                "block-after",
                [
                    Map("before", bold(_("−∞ before")), before, study.rows, study.keys, **look),
                    Map("after", bold(_("times the mask after")), after, study.rows, study.keys, **look),
                    Map("again", bold(_("after, each row ÷ its sum")), again, study.rows, study.keys, **look),
                ],
                width=1160,
            )
        ]


def _minus(code: str) -> str:
    return code.replace("inf", "∞").replace("-", MINUS)
