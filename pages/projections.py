"""Projections: X to Q, K and V, and why their parameters do not grow with the sentence."""

import streamlit as st

from attnviz.core.attention import project
from attnviz.core.counts import dense_parameters, projection_parameters
from attnviz.core.heads import split_heads
from attnviz.figures.layout import names
from attnviz.locale import _
from attnviz.ui import page, source

computed = page.begin(
    _(
        "Each token's vector, a row of X, is multiplied by three matrices and becomes a query, a key and a value. "
        "One X, three matrices, three different tables."
    )
)
charts = page.board(computed, "projections")
page.cell(computed, charts, ("query", "key", "value"))

experiment = computed.experiment
m, k, d, h = experiment.d_model, experiment.d_k, experiment.d_v, experiment.n_heads
h_kv, n = experiment.n_kv_heads or h, len(computed.run.tokens[0])

st.subheader(_("Do the parameters grow with the sentence?"), anchor=False)
st.markdown(
    _(
        "No: W_Q has {m} × {h} × {k} = **{n}** numbers (d_model × heads × d_k), and every token goes through the same "
        "ones. A dense layer over the flattened sentence would learn a weight for every pair of positions; "
        "its parameters grow with the square of the length."
    )
    .replace("W_Q", r"W\_Q")
    .replace("d_model", r"d\_model")
    .replace("d_k", r"d\_k")
    .format(m=m, h=h, k=k, n=f"{projection_parameters(m, h, k):,}")
)
lengths = sorted({n, 2 * n, 10, 100, 1000})
st.table(
    {
        _("tokens"): [f"{length:,}" + (_(" (now)") if length == n else "") for length in lengths],
        r"W\_Q": [f"{projection_parameters(m, h, k):,}"] * len(lengths),
        r"W\_K": [f"{projection_parameters(m, h_kv, k):,}"] * len(lengths),
        r"W\_V": [f"{projection_parameters(m, h_kv, d):,}"] * len(lengths),
        _("dense layer instead of W_Q").replace("_", r"\_"): [
            f"{dense_parameters(length, m, h, k):,}" for length in lengths
        ],
    },
    border="horizontal",
    width="content",
    hide_index=True,
)

page.numbers(computed, *names("projections"))
source.show(project, split_heads)
