"""Multi-head: the part on averaging the maps of heads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from attnviz.core.statistics import effective_tokens, entropy
from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, number
from attnviz.labs.heads import Opposite, averaged, opposite
from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.ui import board, headings, labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.labs.heads import note
from attnviz.ui.labs.heads_layer import Heads, of, trace
from attnviz.ui.labs.roles import choose, chosen, quoted, words_of
from attnviz.ui.questions import Question, ask, progress

if TYPE_CHECKING:
    import pandas as pd

SHARP = 200.0  # so sharp that float32 knows no weight but 0 and 1


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(23)
    heads = of(computed)
    layer, s = trace(computed, heads), chosen(computed)[0]
    place = _ask(heads)
    note(computed, heads)
    board.windows(computed)
    charts = [_two(computed, layer.masked[heads.h], place), _all(computed, heads, layer.weights, s)]
    labs.connect(computed, charts, selected={"name": "mean", "row": s, "col": computed.view.u})


def _ask(heads: Heads) -> DeltaGenerator | None:
    n_heads = heads.experiment.n_heads
    return ask(
        Question(
            23,
            _("**May I average the heads?** {n} heads are {n} maps; a plot of their mean would be just one.").format(
                n=n_heads
            ),
            {
                "sum": _("yes: each row of the mean still sums to 1, so it is a map like the others"),
                "flat": _("no: heads that read opposite tokens average to a flat map that no head has"),
                "noise": _("yes: what the heads have in common stays, and the rest is noise"),
            },
            right="flat",
        )
    )


def _answer(words: tuple[str, ...], two: Opposite, s: int) -> str:
    """Return the answer from row s of the two heads and their mean, in Markdown."""
    n_seen = int((two.mean[s] > 0).sum())
    rows = labs.ran("opposed_rows", torch.stack, two)[:, s]  # (3, u)
    effects = [number(tokens, 2) for tokens in labs.ran("opposed_tokens", effective_tokens, rows).tolist()]
    nats = [number(value, 4) for value in labs.ran("opposed_nats", entropy, rows).tolist()]
    sharp = labs.ran("sharp", opposite, torch.tensor([[1.0, 0.0]]), SHARP)
    said = _(
        "Heads A and B are made of your scores: A prefers the half of a row's keys with the higher ones, B the other "
        "half. In row {token} A reads {a} tokens in effect (e to its entropy {nats_a}), B {b} ({nats_b}), and their "
        "mean {mean} ({nats_mean}): each of its {n} weights is {flat}, as if nothing were preferred. Its rows sum to "
        "1, so nothing looks wrong. Of two keys, as sharp as can be: {first} and {second} average to {half}."
    )
    if n_seen < 2:
        said = _(
            "Row {token} sees fewer than two keys, so that there is nothing to prefer: choose another row, or type a "
            "second word. Of two keys, heads as sharp as can be give {first} and {second}, which average to {half}."
        )
    return said.format(
        token=quoted(words, s),
        **dict(zip(("a", "b", "mean"), effects, strict=True)),
        **dict(zip(("nats_a", "nats_b", "nats_mean"), nats, strict=True)),
        n=n_seen,
        flat=number(float(two.mean[s].max()), 4),
        first=_row(sharp.first[0]),
        second=_row(sharp.second[0]),
        half=_row(sharp.mean[0]),
    )


def _row(row: Tensor) -> str:
    return "[" + ", ".join(f"{weight:g}" for weight in row.tolist()) + "]"


@labs.part("sharpness")
def _two(computed: Computed, masked: Tensor, place: DeltaGenerator | None) -> dict[str, Any]:
    """Draw the two opposite heads of masked scores (s, u) and their mean; the answer is of them."""
    limit = LIMITS["sharpness"]
    bound = state.of_lab("sharpness")
    st.slider(_("Sharpness of A and B"), limit.low, limit.high, step=limit.step, width=260, **bound)
    words, two = words_of(computed), labs.ran("opposed", opposite, masked, computed.view.lab.sharpness)
    tokens = (Axis("s", words), Axis("u", words))
    titles = [_("head A"), _("head B"), _("mean of A and B")]
    made = labs.maps(
        computed,
        "maps-opposite",
        [
            Map(name, f"<b>a</b> {html(title)}", values, *tokens, scale="share", sums="rows" if name == "mean" else "")
            for name, title, values in zip(("a", "b", "mean"), titles, two, strict=True)
        ],
    )
    if place is not None:
        place.markdown(_answer(words, two, chosen(computed)[0]))
    return made


def _all(computed: Computed, heads: Heads, weights: Tensor, s: int) -> dict[str, Any]:
    """Draw a head and the mean of all heads (h, s, u), and how much each reads."""
    n, words = len(weights), words_of(computed)
    mean = labs.ran("mean", averaged, weights)
    tokens = (Axis("s", words), Axis("u", words))
    rows = labs.ran("rows", torch.cat, [weights[:, s], mean[s : s + 1]])  # (h + 1, u)
    effects = labs.ran("tokens_read", effective_tokens, rows).tolist()
    headings.title(_("The {n} heads of the layer, and their mean").format(n=n))
    choose(computed, "s")
    st.markdown(_said(quoted(words, s), effects))
    with st.container(horizontal=True, gap="medium"):
        made = labs.maps(
            computed,
            "maps-heads",
            [
                Map(
                    "head",
                    "<b>a</b> " + html(_("head {n} of {groups}").format(n=heads.h + 1, groups=n)),
                    weights[heads.h],
                    *tokens,
                    scale="share",
                ),
                Map("averaged", "<b>a</b> " + html(_("mean of all heads")), mean, *tokens, scale="share", sums="rows"),
            ],
            width=800,
        )
        _spread(effects, s)
    return made


def _said(row: str, effects: list[float]) -> str:
    """Say how many tokens a row reads in effect, in each head and, last, in their mean."""
    return _(
        "Row {row}: the heads read {low} to {high} tokens in effect, their mean {mean}. A mean of maps is never "
        "sharper than its heads are on average."
    ).format(row=row, low=number(min(effects[:-1]), 2), high=number(max(effects[:-1]), 2), mean=number(effects[-1], 2))


def _spread(effects: list[float], s: int) -> None:
    """Draw how many tokens row s reads in effect, in each head and, last, in their mean."""
    names = (*(str(h + 1) for h in range(len(effects) - 1)), _("mean"))
    title = _("tokens read in effect")
    spec = bars(
        [Series(title, range(len(names)), effects, "h")],
        Scale(_("head"), words=names),
        Scale(title),
        current_theme(),
        size=(440, 270),
    )
    labs.chart("effect", spec, _said(str(s + 1), effects), partial(_table, names, title, effects))


def _table(names: tuple[str, ...], title: str, effects: list[float]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({title: effects}, index=list(names))
