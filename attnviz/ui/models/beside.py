"""Two heads side by side, or one head on two texts, with the difference of their maps."""

from __future__ import annotations

from typing import Any

import streamlit as st
from torch import Tensor

from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, number
from attnviz.limits import TEXTS
from attnviz.locale import _
from attnviz.models.reading import Reading
from attnviz.ui import labs, notices, state
from attnviz.ui.compute import Computed
from attnviz.ui.controls import LIVE
from attnviz.ui.models import waiting
from attnviz.ui.models.chosen import Chosen, Shown, box, names, titled
from attnviz.ui.models.head import windows


def show(chosen: Chosen, computed: Computed) -> Shown:
    """Choose the other head and the other text, and draw both maps and their difference."""
    lab = state.view().lab
    layer = min(lab.other_layer, len(chosen.part.layers) - 1)
    head = min(lab.other_head, chosen.part.layers[layer].query.shape[0] - 1)
    notices.show_moved(other_layer=layer, other_head=head)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        box(_("Other layer"), "other_layer", layer, len(chosen.part.layers))
        box(_("Other head"), "other_head", head, chosen.part.layers[layer].query.shape[0])
        st.text_input(
            _("Another text (empty: the same)"),
            max_chars=TEXTS["context"],
            live=LIVE,
            autocomplete="off",
            **state.of_lab("context"),
        )
    reading = _other(chosen, lab.context)
    part = reading.part(chosen.part.kind)
    mine = chosen.read.trace(chosen.head).weights[0]  # (s, u)
    theirs = part.layers[layer].trace(head).weights[0]
    charts = _draw(chosen, computed, reading, (layer, head), mine, theirs)
    return Shown(charts, computed, chosen.keys)


def _other(chosen: Chosen, text: str) -> Reading:
    if not text.strip():
        return chosen.reading
    return waiting.reading_of(waiting.job(chosen.job.wanted._replace(text=text), "beside"))


def _draw(
    chosen: Chosen, computed: Computed, reading: Reading, other: tuple[int, int], mine: Tensor, theirs: Tensor
) -> list[dict[str, Any]]:
    words = _("layer {layer}, head {head}")
    titles = [
        f"<b>a</b> {html(words.format(layer=layer + 1, head=head + 1))}"
        for layer, head in ((chosen.layer, chosen.head), other)
    ]
    s, u = Axis("s", chosen.queries), Axis("u", chosen.keys)
    part, markers = reading.part(chosen.part.kind), state.view().lab.markers
    rows = Axis("s", names(reading, part.queries, markers=markers))
    columns = Axis("u", names(reading, part.keys, markers=markers))
    maps = [
        Map("weights", titles[0], mine, s, u, scale="share"),
        Map("other", titles[1], theirs, rows, columns, scale="share"),
    ]
    if mine.shape == theirs.shape:
        gap = theirs - mine
        maps.append(Map("difference", titled("Δ", _("second − first")), gap, s, u))
        most = int(gap.abs().argmax())
        row, column = divmod(most, gap.shape[1])
        st.markdown(
            _("Largest difference: {value}, in row {row}, column {column}.").format(
                value=number(float(gap.flatten()[most]), 4), row=row + 1, column=column + 1
            )
        )
    else:
        st.caption(
            _("The texts have {n} and {m} tokens: their maps have no difference, cell by cell.").format(
                n=mine.shape[0], m=theirs.shape[0]
            )
        )
    return [labs.maps(windows(chosen.queries, chosen.keys, computed), "maps-beside", maps)]
