"""The parameters section: what every step costs, by the length of the sentence and by the number of heads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.figures.charts import Scale, Series, lines
from attnviz.labs.sizes import LENGTHS, Sizes, compared, growth, split
from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.ui import labs, small_table, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.questions import Question, ask, progress

if TYPE_CHECKING:
    import pandas as pd


@labs.live
def show(computed: Computed) -> None:
    """Draw the section."""
    e = computed.experiment
    named = {"d_model": e.d_model, "d_k": e.d_k, "d_v": e.d_v, "n_heads": e.n_heads}
    sizes = labs.ran("sizes", Sizes, **named, n_kv_heads=e.n_kv_heads or e.n_heads)
    n = computed.run.lengths[computed.view.b]
    progress(1, 2)
    _length(sizes, n, computed.view.lab.length)
    _heads(sizes, n)
    labs.connect(computed, [])


def _length(sizes: Sizes, n: int, length: int) -> None:
    place = ask(
        Question(
            1,
            _(
                "**Do the parameters grow with the sentence?** W_Q is learned. Your sentence has {n} tokens; another "
                "may have 1,000."
            )
            .replace("W_Q", r"W\_Q")
            .format(n=n),
            {
                "grow": _("yes: each token needs its own numbers"),
                "square": _("yes: there is one for each pair of tokens"),
                "same": _("no: all tokens go through the same numbers"),
            },
            right="same",
        )
    )
    if place is not None:
        query, *_others = labs.ran(f"costs_at_{n}", compared, sizes, n)
        *_more_steps, more, more_dense = labs.ran("costs_at_1000", compared, sizes, 1000)
        place.markdown(
            _(
                "W_Q has d_model × heads × d_k = {m} × {h} × {k} = **{w_q}** numbers, whatever the length: with 1,000 "
                "tokens all three matrices still have {same}, as now. What grows is the map, from {cells} to "
                "{more} cells, and the work. A dense layer over the flattened sentence would learn {dense} numbers for "
                "1,000 tokens."
            )
            .replace("W_Q", r"W\_Q")
            .replace("d_model", r"d\_model")
            .replace("d_k", r"d\_k")
            .format(
                m=sizes.d_model,
                h=sizes.n_heads,
                k=sizes.d_k,
                w_q=f"{query.parameters:,}",
                same=f"{more.parameters:,}",
                cells=f"{sizes.n_heads * n * n:,}",
                more=f"{sizes.n_heads * 1000 * 1000:,}",
                dense=f"{more_dense.parameters:,}",
            )
        )
    limit = LIMITS["length"]
    st.slider(_("Length of the sentence, in tokens"), int(limit.low), int(limit.high), **state.of_lab("length"))
    _table(sizes, n, length)
    with st.container(horizontal=True, gap="medium"):
        for kind, words in (
            ("parameters", _("parameters")),
            ("multiplications", _("multiplications")),
            ("bytes", _("bytes of all results")),
        ):
            _chart(kind, words, sizes)


def _table(sizes: Sizes, n: int, length: int) -> None:
    names = _steps()
    now, then = (labs.ran(f"costs_at_{at}", compared, sizes, at) for at in (n, length))
    rows = list(zip(now, then, strict=True))
    small_table.show(
        {
            _("step"): [names[a.step] for a, _b in rows],
            _("parameters"): _column([a.parameters for a, _b in rows]),
            _("at {n} tokens").format(n=f"{length:,}"): _column([b.parameters for _a, b in rows]),
            _("multiplications"): _column([a.multiplications for a, _b in rows]),
            _("at {n} tokens").format(n=f"{length:,}") + " ": _column([b.multiplications for _a, b in rows]),
            _("bytes"): _column([a.bytes for a, _b in rows]),
            _("at {n} tokens").format(n=f"{length:,}") + "  ": _column([b.bytes for _a, b in rows]),
        }
    )


def _column(numbers: Sequence[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]


def _steps() -> dict[str, str]:
    return {
        "query": "Q = X W\\_Q",
        "key": "K = X W\\_K",
        "value": "V = X W\\_V",
        "scores": "S = Q Kᵀ",
        "scaled": _("scaled"),
        "weights": _("softmax"),
        "output": "O = a V",
        "total": _("attention, all steps"),
        "dense": _("a dense layer over the sentence instead"),
    }


def _chart(kind: str, name: str, sizes: Sizes) -> None:
    grown = labs.ran(f"{kind}_by_length", growth, sizes, kind)
    series = [
        Series(_("attention"), LENGTHS, grown.attention, "k"),
        Series(_("dense layer"), LENGTHS, grown.dense, "h", "dash"),
    ]
    spec = lines(series, Scale(_("tokens"), log=True), Scale(name, log=True), current_theme(), size=(380, 280))
    alt = _("{name} against the length of the sentence: attention {low} to {high}, a dense layer {most}.").format(
        name=name, low=f"{series[0].y[0]:,}", high=f"{series[0].y[-1]:,}", most=f"{series[1].y[-1]:,}"
    )
    labs.chart(f"{kind}-chart", spec, alt, partial(_frame, series))


def _frame(series: list[Series]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({one.name: list(one.y) for one in series}, index=pd.Index(LENGTHS, name=_("tokens")))


def _heads(sizes: Sizes, n: int) -> None:
    width, wide = sizes.n_heads * sizes.d_k, sizes.n_heads * sizes.d_v
    place = ask(
        Question(
            2,
            _(
                "**More heads, more parameters?** All heads together have h × d_k = {width} features. The same layer "
                "is cut into more heads."
            )
            .replace("d_k", r"d\_k")
            .format(width=width),
            {
                "same": _("no: the same matrix is cut into more pieces"),
                "more": _("yes: each head brings its own W_Q, W_K and W_V").replace("_", r"\_"),
                "less": _("fewer: narrow heads need less"),
            },
            right="same",
        )
    )
    if place is None:
        return
    heads = [h for h in (1, 2, 4, 8, 16) if width % h == 0 and wide % h == 0]
    cuts = [labs.ran(f"cut_into_{h}", split, sizes, h) for h in heads]
    made = [labs.ran(f"costs_of_{cut.n_heads}_heads", compared, cut, n) for cut in cuts]
    with place:
        st.markdown(
            _(
                "W_Q is d_model × (h × d_k): cut into 1 head or {h}, it has {w_q} numbers, and Q K^T takes {times} "
                "multiplications in all. What grows with the heads is the number of maps, each of {n} × {n} weights. "
                "(The control Heads above keeps d_k, the features of one head, and so makes the layer wider.)"
            )
            .replace("W_Q", r"W\_Q")
            .replace("d_model", r"d\_model")
            .replace("d_k", r"d\_k")
            .replace("Q K^T", "Q Kᵀ")
            .format(
                h=cuts[-1].n_heads, w_q=f"{made[-1][0].parameters:,}", times=f"{made[-1][3].multiplications:,}", n=n
            )
        )
        small_table.show(
            {
                _("heads"): [str(cut.n_heads) for cut in cuts],
                "d_k": [str(cut.d_k) for cut in cuts],
                _("parameters of {names}").format(names="W_Q, W_K, W_V"): [
                    f"{all_steps.parameters:,}" for *_steps, all_steps, _dense in made
                ],
                _("multiplications of Q Kᵀ"): [f"{one[3].multiplications:,}" for one in made],
                _("weights of all maps"): [f"{cut.n_heads * n * n:,}" for cut in cuts],
            }
        )
