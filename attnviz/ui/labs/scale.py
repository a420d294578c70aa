"""The scale section: rows of scores drawn at random against d_k, and the reader's own row under each scaling."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.text import markdown, number
from attnviz.labs.scale import SCALINGS, SIZES, Rows, averages, factors, n_rows, own
from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.ui import headings, labs, small_table, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs.scale_charts import COLOURS, Setting, curves, histograms, scalings
from attnviz.ui.labs.softmax_row import choose_row
from attnviz.ui.questions import Question, ask, progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the section."""
    experiment, lab = computed.experiment, computed.view.lab
    n_keys = max(2, computed.run.lengths[computed.view.b])  # one key alone has the weight 1, whatever its score
    setting = Setting(n_keys, lab.draws, experiment.seed, experiment.temperature, experiment.scale)
    mine = _own(computed)
    progress(3)
    _ask(setting)
    _draws(setting)
    _legend(setting)
    at = SCALINGS.index(setting.scale)
    curves(setting, experiment.d_k, Rows(*(values[at] for values in mine)))
    _own_row(computed, mine)
    _one_d_k(computed, setting)
    labs.connect(computed, [])


def _ask(setting: Setting) -> None:
    place = ask(
        Question(
            3,
            _("**Why divide the scores by √d_k, and not by d_k, or not at all?**"),
            {
                "sum": _("so that the weights of a row sum to 1"),
                "spread": _("so that scores spread alike whatever d_k is"),
                "length": _("so that queries and keys have length 1, as in a cosine"),
                "float": _("so that float32 does not run out of digits"),
            },
            right="spread",
        )
    )
    if place is None:
        return
    many = (setting.n_keys, setting.draws, setting.seed)
    made = labs.ran("untempered", averages, *many)  # the claim is about no other temperature
    none, sqrt, d_k = range(len(SCALINGS))
    last, middle = len(SIZES) - 1, 1
    words = _(
        "A score is a sum of d_k products of either sign, so that most of it cancels: it spreads like √d_k, not like "
        "d_k. At d_k = {most} the scores drawn below have a standard deviation of {spread} (√{most} = {root}); divided "
        "by √d_k it is {spread_sqrt}, and near 1 at every d_k."
    )
    place.markdown(
        words.format(
            most=SIZES[last],
            root=number(SIZES[last] ** 0.5, 1),
            spread=number(float(made.spread[none, last]), 2),
            spread_sqrt=number(float(made.spread[sqrt, last]), 2),
        )
    )
    words = _(
        "Not divided, a middle row there gives {largest} to one of its {n} keys, and the gradient of its softmax is "
        "{gradient}: it has chosen before it has learned. Divided by d_k, its largest weight is {largest_d_k}, almost "
        "an even {even}, whatever the tokens are. Divided by √d_k, it is {largest_sqrt}, with a gradient of "
        "{gradient_sqrt}."
    )
    place.markdown(
        words.format(
            n=setting.n_keys,
            largest=number(float(made.largest[middle, none, last]), 4),
            gradient=number(float(made.gradient[middle, none, last]), 4),
            largest_d_k=number(float(made.largest[middle, d_k, last]), 4),
            even=number(1 / setting.n_keys, 4),
            largest_sqrt=number(float(made.largest[middle, sqrt, last]), 4),
            gradient_sqrt=number(float(made.gradient[middle, sqrt, last]), 4),
        )
    )


def _draws(setting: Setting) -> None:
    words = _(
        "{rows} rows of {n} scores, as many as your sequence has tokens. Queries and keys are drawn at random, each "
        "feature with mean 0 and standard deviation 1."
    )
    if setting.temperature != 1:
        words += " " + _("All scores are divided by the temperature {temperature} as well.")
    limit = LIMITS["draws"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(_("Rows drawn"), limit.low, limit.high, None, limit.step, width=160, **state.of_lab("draws"))
        n = n_rows(setting.n_keys, setting.draws)
        st.caption(words.format(rows=n, n=setting.n_keys, temperature=f"{setting.temperature:g}"))


def _legend(setting: Setting) -> None:
    parts = []
    for scaling, words in scalings().items():
        chosen = scaling == setting.scale
        line = f":{COLOURS[scaling]}[{'━━' if chosen else '╍╍'}] "
        parts.append(
            line + (_("**{scaling}** (chosen)").format(scaling=markdown(words)) if chosen else markdown(words))
        )
    parts.append(f":{COLOURS['own']}[◆] " + _("your own row, by the chosen scale"))
    parts.append(_("Lines are the middle row, the band holds 80% of the rows."))
    st.markdown(" &emsp; ".join(parts))


@labs.part("draw_d_k")
def _one_d_k(computed: Computed, setting: Setting) -> None:
    d_k = computed.view.lab.draw_d_k
    bound = state.of_lab("draw_d_k")
    st.session_state[bound["key"]] = d_k  # a link may bring one between the powers of two, which is then offered too
    st.select_slider(_("d_k of the histograms"), sorted({*SIZES, d_k}), width=300, **bound)
    histograms(setting, d_k)


def _own(computed: Computed) -> Rows:
    """What each scaling makes of the reader's row: each (scaling,)."""
    run, view, experiment = computed.run, computed.view, computed.experiment
    assert run.trace is not None
    seen = None if run.seen is None else run.seen[view.b, 0, view.s]  # (u,)
    bias = None if run.bias is None else run.bias[view.h, view.s]  # (u,)
    scores = run.trace.scores[view.b, view.h, view.s]  # (u,)
    given = {"seen": seen, "bias": bias, "temperature": experiment.temperature}
    return labs.ran("your_row", own, scores, experiment.d_k, **given)


def _own_row(computed: Computed, mine: Rows) -> None:
    experiment = computed.experiment
    chosen = list(scalings()).index(experiment.scale)
    names = list(scalings().values())
    names[chosen] = _("{scaling} (chosen)").format(scaling=names[chosen])
    columns = {
        _("factor"): labs.ran("scale_factors", factors, experiment.d_k, experiment.temperature),
        _("standard deviation"): mine.spread,
        _("largest weight"): mine.largest,
        _("entropy in nats"): mine.entropy,
        _("gradient of the softmax"): mine.gradient,
    }
    printed = {name: [number(value, 4) for value in values.tolist()] for name, values in columns.items()}
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=220):
            headings.title(_("Your own row, d_k = {d_k}").format(d_k=experiment.d_k))
            choose_row(computed)
        small_table.show({_("Scale"): names, **printed}, chosen=chosen)
