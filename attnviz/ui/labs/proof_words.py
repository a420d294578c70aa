"""The question of what a weight proves, its answer from the chosen row, and what others found."""

from __future__ import annotations

import streamlit as st
import torch

from attnviz.figures.text import markdown, number
from attnviz.labs.proof import misled, rank_correlation
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import headings, labs, state
from attnviz.ui.labs.proof import Head
from attnviz.ui.questions import Question, ask


def question(head: Head) -> None:
    """Ask what a weight proves."""
    place = ask(
        Question(
            24,
            _(
                "**Does a high weight mean an important token?** A row gives one key its highest weight. "
                "Is that the key without which its output would change most?"
            ),
            {
                "always": _("yes: the output is the sum of the values by their weights"),
                "never": _("no: weights say nothing about the output"),
                "value": _("not by itself: it depends on the value as well"),
            },
            right="value",
        )
    )
    if place is None:
        return
    place.markdown(
        _(
            "Without a key of weight a and value v, the output o moves by a / (1 − a) · ‖v − o‖: it depends on the "
            "weight, and on how far the value lies from the output."
        )
        + " "
        + _row(head)
    )


def _row(head: Head) -> str:
    """Say what the chosen row shows."""
    s, letter = head.s, relabel("s", state.view().letters)
    if len(head.seen) < 2:
        return alone(head) + " " + _("Choose a row that sees more.")
    first, most = int(head.seen[0]), int(head.moved[s].argmax())
    wrong = labs.ran("misleads", misled, head.weights, head.moved)  # (s,)
    if bool(wrong[s]):
        words = _(
            "In row {letter} = {s} the highest weight is {weight}, on “{first}”: without it the output moves by {by}. "
            "Without “{most}”, of weight {other}, it moves more: by {furthest}."
        )
    else:
        words = _(
            "In row {letter} = {s} the two agree: the highest weight is {weight}, on “{first}”, and without it the "
            "output moves most, by {by}."
        )
    weights = labs.ran("weights_seen", torch.take, head.weights[s], head.seen)
    moved = labs.ran("moved_seen", torch.take, head.moved[s], head.seen)
    rho = labs.ran("correlation", rank_correlation, weights, moved)
    words += " " + _(
        "Over its {keys} keys, weight and movement have a rank correlation of {rho}. In {wrong} of the {n} rows of "
        "this head the highest weight is not the largest movement."
    )
    return words.format(
        letter=letter,
        s=s + 1,
        weight=number(float(head.weights[s, first]), 4),
        first=markdown(head.words[first]),
        by=number(float(head.moved[s, first]), 4),
        most=markdown(head.words[most]),
        other=number(float(head.weights[s, most]), 4),
        furthest=number(float(head.moved[s, most]), 4),
        keys=len(head.seen),
        rho=_("none (no order to compare)") if rho is None else number(rho, 2),
        wrong=int(wrong.sum()),
        n=len(head.words),
    )


def alone(head: Head) -> str:
    """Say what a row is that may see one key, or none."""
    place = {"letter": relabel("s", state.view().letters), "s": head.s + 1}
    if len(head.seen):
        return _(
            "Row {letter} = {s} may see one key only: its weight is 1 whatever it means, and without it no weight is "
            "left and the output is 0."
        ).format(**place)
    return _("Row {letter} = {s} may see no key: its weights are 0 and so is its output.").format(**place)


def note() -> None:
    """Say what others found, and what this page cannot show."""
    headings.title(_("What others found"))
    st.markdown(
        "\n".join(
            "- " + line
            for line in (
                _(
                    "Jain & Wallace 2019, *Attention is not Explanation*: in recurrent text classifiers, weights "
                    "agreed little with gradients, and quite other weights could give the same prediction."
                ),
                _(
                    "Serrano & Smith 2019, *Is Attention Interpretable?*: they set weights to 0; the highest ones were "
                    "often not those on which the decision hung."
                ),
                _(
                    "Wiegreffe & Pinter 2019, *Attention is not not Explanation*: it depends on what an explanation "
                    "has to do. Learned weights can be useful, and one can test whether they are."
                ),
                _(
                    "Kobayashi et al. 2020, *Attention is Not Only a Weight*: in BERT, tokens such as [SEP] get high "
                    "weights on short values, so that a ‖v‖ tells more than a."
                ),
            )
        )
    )
    st.caption(
        _(
            "Here is one head of one layer, of random weights unless you edit them. A trained model goes on: later "
            "layers and other heads may undo a movement or enlarge it, and it was not trained with an edge missing."
        )
    )
