"""Query, key, value: the half of the part on W_Q and W_K that asks why there are two, if only their product matters."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.core.counts import projection_parameters
from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.maps import Axis
from attnviz.figures.text import number
from attnviz.labs.roles import Product, product
from attnviz.limits import LIMITS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import labs, state, widgets
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.labs import roles
from attnviz.ui.questions import Question, ask

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = (512, 64)  # d_model and d_k of one head in Vaswani et al. 2017


def show(computed: Computed) -> list[dict[str, Any]]:
    """Ask question 7 and draw what it needs; return its maps."""
    x, w_q, w_k = (roles.table(computed, name) for name in ("x", "w_q", "w_k"))
    made, (m, k) = labs.ran("joint", product, x, w_q, w_k), w_q.shape
    place = ask(
        Question(
            7,
            _(
                "**Why two matrices?** S = Q Kᵀ = X (W_Q W_Kᵀ) Xᵀ: only the product W_Q W_Kᵀ matters. "
                "Why not learn that one matrix?"
            ),
            {
                "direction": _("one matrix would make the scores symmetric"),
                "thin": _("two thin ones are fewer numbers, and give each token a key that can be kept"),
                "other": _("one matrix would give other scores than Q Kᵀ"),
            },
            right="thin",
        )
    )
    if place is not None:
        place.markdown(_reveal_product(made, m, k))
    limit = LIMITS["d_k"]
    st.session_state["try:d_k"] = computed.experiment.d_k
    st.number_input(
        _("d_k, features of a query or key"),
        int(limit.low),
        int(limit.high),
        None,
        int(limit.step),
        key="try:d_k",
        on_change=_take_d_k,
        width=260,
    )
    charts = []
    if max(m, k) <= TOKENS_SHOWN:  # of larger ones the singular values say what matters
        features, narrow = Axis("m"), Axis("k")
        maps = [
            roles.titled(computed, "w_q", "W<sub>Q</sub>", "s", w_q, features, narrow),
            roles.titled(computed, "w_k", "W<sub>K</sub>ᵀ", "u", w_k.mT, narrow, features),
            roles.titled(computed, "product", "W<sub>Q</sub> W<sub>K</sub>ᵀ", "", made.product, features, features),
        ]
        charts.append(labs.maps(computed, "maps-product", maps))
    _singular(made, m)
    return charts


def _reveal_product(made: Product, m: int, k: int) -> str:
    big, head = PUBLISHED
    return _(
        "The scores are the same, but for rounding: {most} at most. W_Q and W_K hold 2 × {m} × {k} = **{factored}** "
        "numbers, one matrix {m} × {m} = **{whole}**: two are fewer while d_k is under half of d_model. At the "
        "published sizes, {big} and {head}, it is {few} against {many}. The price is the rank: {rank} of the {m} "
        "singular values are not 0, never more than d_k. And apart from Q, each token's key is made once and kept."
    ).format(
        most=roles.rounded(made.most),
        m=m,
        k=k,
        factored=f"{made.factored:,}",
        whole=f"{made.whole:,}",
        big=big,
        head=head,
        few=f"{2 * projection_parameters(big, 1, head):,}",
        many=f"{projection_parameters(big, 1, big):,}",
        rank=made.rank,
    )


def _singular(made: Product, m: int) -> None:
    places = tuple(str(i + 1) for i in range(m))
    values = made.singular.tolist()
    spec = bars(
        [Series(_("singular value"), range(m) if m <= TOKENS_SHOWN else range(1, m + 1), values, "k")],
        Scale(_("singular value of W_Q W_Kᵀ, by size"), words=places if m <= TOKENS_SHOWN else ()),
        Scale(_("size")),
        current_theme(),
        size=(max(320, min(700, 48 * m + 90)), 240),
    )
    alt = _("The {m} singular values of W_Q W_Kᵀ: {rank} are not 0, the largest is {most}.").format(
        m=m, rank=made.rank, most=number(values[0], 4)
    )
    labs.chart("singular", spec, alt, partial(_singular_table, values))


def _singular_table(values: list[float]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({_("singular value"): values}, index=[str(i + 1) for i in range(len(values))])


def _take_d_k() -> None:
    d_k = widgets.sent("try:d_k")
    if d_k is not None:
        state.change(replace(state.experiment(), d_k=d_k))
