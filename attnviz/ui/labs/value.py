"""What V is for: the weights stay, and another table is mixed by them."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.maps import Axis
from attnviz.figures.text import number
from attnviz.figures.titles import SYMBOLS
from attnviz.labs.roles import largest_difference, mixed, value_table
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import windows
from attnviz.ui.compute import Computed
from attnviz.ui.labs import roles
from attnviz.ui.questions import Question, ask, progress

SYMBOL = {"v": "V", "k": "V := K", "x": "V := X", "i": "V := I"}
LETTER = {"v": "d", "k": "k", "x": "m", "i": "u"}


@labs.live
def show(computed: Computed) -> None:
    """Draw the section."""
    progress(8)
    windows(computed)
    words = roles.words_of(computed)
    weights, value, key, x = (roles.table(computed, name) for name in ("weights", "value", "key", "x"))
    place = ask(
        Question(
            8,
            _(
                "**What is V for?** Q and K alone make the weights a. Put the identity matrix I in the place of V: "
                "what is the output?"
            ),
            {
                "same": _("the same as before, because the weights decide it"),
                "x": _("the tokens' own vectors, because I changes nothing"),
                "weights": _("the weights themselves"),
            },
            right="weights",
        )
    )
    if place is not None:
        identity = labs.ran("identity", value_table, "i", value=value, key=key, x=x)
        of_identity = labs.ran("of_identity", mixed, weights, identity)
        s, u = roles.chosen(computed)
        place.markdown(
            _(
                "O = a V, and a does not look at V: it is the same in all four cases. With V := I the output is a "
                "itself (largest difference {gap}): {reader} gives {read} the share {share}, and only that share comes "
                "out. V is what is passed on for it: {d_v} numbers of each token, learned apart from what queries and "
                "keys compare."
            ).format(
                gap=roles.rounded(labs.ran("gap", largest_difference, of_identity, weights) or 0.0),
                reader=roles.quoted(words, s),
                read=roles.quoted(words, u),
                share=number(float(weights[s, u]), 4),
                d_v=value.shape[1],
            )
        )
    _mix(computed)


@labs.part("value_is", connects=True)
def _mix(computed: Computed) -> None:
    lab, words = computed.view.lab, roles.words_of(computed)
    weights, value, key, x = (roles.table(computed, name) for name in ("weights", "value", "key", "x"))
    labels = {"v": "V = X W_V", "k": "V := K", "x": "V := X", "i": _("V := I, the identity")}
    st.segmented_control(
        _("What is mixed"),
        list(labels),
        required=True,
        format_func=labels.__getitem__,
        **state.of_lab("value_is", worded=True),
    )
    table = labs.ran("table", value_table, lab.value_is, value=value, key=key, x=x)
    output = labs.ran("output", mixed, weights, table)
    rows, read = Axis("s", words), Axis("u", words)
    # The identity has a column for each key token, and so has what it makes of the weights.
    features = read if lab.value_is == "i" else Axis(LETTER[lab.value_is])
    scale = "share" if lab.value_is == "i" else "signed"
    hue = {"k": "u", "v": "d"}.get(lab.value_is, "")
    maps = [
        roles.titled(computed, "weights", SYMBOLS["weights"], "", weights, rows, read, "share"),
        roles.titled(computed, "table", SYMBOL[lab.value_is], hue, table, read, features, scale),
        roles.titled(computed, "output", "O = a V", "d", output, rows, features, scale),
    ]
    s, u = roles.chosen(computed)
    charts = [labs.maps(computed, "maps-value", maps)]
    labs.connect(computed, charts, selected={"name": "weights", "row": s, "col": u}, in_part=True)
