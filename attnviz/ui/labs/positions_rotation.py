"""Positions: the part that asks which features RoPE turns together, and what a score then depends on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
import torch
from torch import Tensor

from attnviz.core.positions import half_from_interleaved
from attnviz.figures.charts import Scale, Series, lines
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import cut, html
from attnviz.labs.positions import ROTATIONS
from attnviz.labs.positions_inside import Curve, Layouts, by_distance, layouts
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import board, headings, labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.labs import positions
from attnviz.ui.labs.positions import small
from attnviz.ui.questions import Question, ask, progress

if TYPE_CHECKING:
    import pandas as pd

PLACES = 32  # at which one query and one key are put
CURVES = {"rope_half": "curve_of_halves", "rope_interleaved": "curve_of_pairs"}  # what programs call them


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(18)
    query, key = _queries(computed)
    d_k = query.shape[1]
    if d_k % 2:
        _ask(computed, None, {})
        if not computed.experiment.positions.startswith("rope"):  # else the page has said so
            st.info(_("RoPE turns features in pairs, and d_k = {d_k} is odd: nothing can be rotated.").format(d_k=d_k))
        st.button(_("Set d_k to {d_k}").format(d_k=d_k + 1), key="even", on_click=_make_even, args=(d_k + 1,))
        labs.connect(computed, [])
        return
    found = labs.ran("rotated", layouts, query, key)
    s, u = (min(getattr(computed.view, letter), len(query) - 1) for letter in "su")
    curves = {
        kind: labs.ran(CURVES[kind], by_distance, query[s], key[u], PLACES, rotary)
        for kind, rotary in ROTATIONS.items()
    }
    _ask(computed, found, curves)
    board.windows(computed)
    charts = [_vectors(computed, query, found), _scores(computed, found)]
    headings.title(_("One query and one key at every two of {n} places").format(n=PLACES))
    positions.pick(computed)
    _curve(computed, curves, float(labs.ran("not_rotated", torch.dot, query[s], key[u])))
    labs.connect(computed, charts, selected={"name": "scores_half", "row": s, "col": u})


def _queries(computed: Computed) -> tuple[Tensor, Tensor]:
    """The queries and keys of the shown head before rotation: (s, k) each."""
    run, view, n = computed.run, computed.view, positions.length(computed)
    assert run.projected_query is not None and run.projected_key is not None
    kv = view.h * run.projected_key.shape[1] // run.projected_query.shape[1]
    return run.projected_query[view.b, view.h, :n], run.projected_key[view.b, kv, :n]


def _make_even(d_k: int) -> None:
    state.change(replace(state.experiment(), d_k=d_k))


def _distance(computed: Computed) -> str:
    s, u = (relabel(letter, computed.view.letters) for letter in "su")
    return f"{s} − {u}"


def _ask(computed: Computed, found: Layouts | None, curves: dict[str, Curve]) -> None:
    place = ask(
        Question(
            18,
            _(
                "**What does RoPE rotate, halves or pairs?** Some code turns feature i with i + d_k/2, some 2i − 1 "
                "with 2i. Which is right?"
            ).replace("d_k", r"d\_k"),
            {
                "paper": _("2i − 1 with 2i, as in the paper; the other is a bug"),
                "alike": _("both: the scores are the same, whichever code is used"),
                "order": _("both, if the columns of W_Q and W_K stand in the order that fits"),
            },
            right="order",
        )
    )
    if place is None:
        return
    if found is None:
        place.markdown(_("Both turn d_k/2 pairs by the same angles. Make d_k even, and see it on your own tokens."))
        return
    d_k, spread = found.half.shape[1], max(curve.spread for curve in curves.values())
    distance = _(
        "In either, the score of one query and one key depends on {distance} alone: at equal {distance} among {n} "
        "places it varies by {spread} at most."
    ).format(distance=_distance(computed), n=PLACES, spread=small(spread))
    if len(found.half) == 1:
        place.markdown(
            _("Your one token stands at place 0, where nothing is rotated: type a second word.") + " " + distance
        )
        return
    if d_k == 2:
        place.markdown(_("With d_k = 2 there is one pair, and the layouts are one: make d_k 4.") + " " + distance)
        return
    place.markdown(
        _(
            "Both turn d_k/2 pairs by the same angles; they differ in which features make a pair. The same q and k "
            "come out as other vectors (by up to {vectors}) with **other scores (by up to {scores})**. Put the "
            "features in the order {order} first, and halves give the scores of pairs: largest difference "
            "**{permuted}**. So weights trained in one layout run in the other without an error, and wrong, until "
            "their columns are moved."
        ).format(
            vectors=small(found.vectors_apart),
            scores=small(found.scores_apart),
            order=_order(d_k),
            permuted=small(found.permuted_apart),
        )
        + " "
        + distance
    )


def _order(d_k: int) -> str:
    return cut(", ".join(str(i + 1) for i in half_from_interleaved(d_k).tolist()), 150)


def _vectors(computed: Computed, query: Tensor, found: Layouts) -> dict[str, Any]:
    s, k = Axis("s", positions.words_of(computed)), Axis("k")
    drawn = {
        "query": (_("not rotated"), query),
        "half": (_("halves"), found.half),
        "interleaved": (_("pairs"), found.interleaved),
    }
    made = [Map(name, f"<b>q</b> {html(title)}", values, s, k) for name, (title, values) in drawn.items()]
    return labs.maps(computed, "maps-vectors", made)


def _scores(computed: Computed, found: Layouts) -> dict[str, Any]:
    words = positions.words_of(computed)
    tokens = (Axis("s", words), Axis("u", words))
    drawn = {
        "scores_half": (_("halves"), found.scores_half),
        "scores_interleaved": (_("pairs"), found.scores_interleaved),
        "scores_permuted": (_("halves, features moved"), found.scores_permuted),
    }
    made = [Map(name, f"<b>S</b> {html(title)}", values, *tokens) for name, (title, values) in drawn.items()]
    return labs.maps(computed, "maps-layouts", made)


def _curve(computed: Computed, curves: dict[str, Curve], bare: float) -> None:
    names = {"rope_half": _("halves"), "rope_interleaved": _("pairs")}
    hues = {"rope_half": "s", "rope_interleaved": "u"}
    series = [
        Series(names[name], curve.distances.tolist(), curve.scores.tolist(), hues[name])
        for name, curve in curves.items()
    ]
    ends = [1 - PLACES, PLACES - 1]
    series.append(Series(_("not rotated"), ends, [bare, bare], "m", dash="dash"))
    x, y = Scale(_distance(computed), low=ends[0], high=ends[1]), Scale(_("score"))
    spread = max(curve.spread for curve in curves.values())
    alt = _(
        "The score of one query and one key against the distance of their places, of which there are {n}, in both "
        "layouts and not rotated."
    ).format(n=PLACES)
    labs.chart(
        "curve-distance",
        lines(series, x, y, current_theme(), size=(720, 300)),
        alt,
        partial(_table, curves, names, bare),
    )
    st.caption(
        _(
            "Each point stands for all places of that distance, whose scores differ by {spread} at most. At distance "
            "0 nothing is left of the rotation."
        ).format(spread=small(spread))
    )


def _table(curves: dict[str, Curve], names: dict[str, str], bare: float) -> pd.DataFrame:
    import pandas as pd

    index = next(iter(curves.values())).distances.tolist()
    columns = {names[name]: curve.scores.numpy() for name, curve in curves.items()}
    return pd.DataFrame({**columns, _("not rotated"): bare}, index=pd.Index(index, name=_("distance")))
