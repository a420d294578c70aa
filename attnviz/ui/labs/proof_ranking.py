"""The ranking of a row's keys, or of a token's readers, as bars: weights beside what they add and what moves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
import torch
from torch import Tensor

from attnviz.experiment import View
from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.text import markdown, number, visible
from attnviz.labs.proof import Ranking, ranking
from attnviz.letters import relabel
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import headings, labs
from attnviz.ui.board import current_theme
from attnviz.ui.labs.proof import Head
from attnviz.ui.labs.proof_words import alone

if TYPE_CHECKING:
    import pandas as pd


def show(head: Head, view: View) -> None:
    """Draw the row s by key, the highest weight first; of a token that is knocked out, its column u by row."""
    if view.lab.knocked == "token":
        letter, at = "u", head.u
        first = max(0, min(view.from_s, len(head.words) - TOKENS_SHOWN))
        end = min(first + TOKENS_SHOWN, len(head.words))
        shown = labs.ran("rows_shown", torch.arange, first, end)
        words = _("Column {letter} = {at} “{token}”: who reads it, and how far each row moves without it")
        charts = {
            "weight": (_("weight"), head.weights[:, at], "u"),
            "moved": (_("moved without it"), head.moved[:, at], "s"),
        }
    else:
        letter, at, shown = "s", head.s, head.seen[:TOKENS_SHOWN]
        words = _("Row {letter} = {at} “{token}”: its keys, the highest weight first")
        charts = {
            "weight": (_("weight"), head.weights[at], "u"),
            "added": (_("what it adds: a ‖v‖"), head.added[at], "d"),
            "along": (_("of it, along the output"), head.along[at], "m"),
            "moved": (_("moved without it"), head.moved[at], "s"),
        }
    words = words.format(letter=relabel(letter, view.letters), at=at + 1, token=markdown(head.words[at]))
    headings.title(words)
    if not len(shown):
        st.markdown(alone(head))
        return
    if len(head.words) > len(shown) == TOKENS_SHOWN:
        st.caption(_("{shown} of {n} are drawn.").format(shown=TOKENS_SHOWN, n=len(head.words)))
    names = [f"{i + 1} {visible(head.words[i])}" for i in shown.tolist()]
    ranked = labs.ran("ranked", ranking, [values for _name, values, _hue in charts.values()], shown)
    table = partial(_table, [name for name, _values, _hue in charts.values()], ranked, names)
    with st.container(horizontal=True, gap="small"):
        for (key, (name, _values, hue)), values in zip(charts.items(), ranked.values, strict=True):
            _bars(f"rank-{key}", name, values, hue, names, table)


def _bars(key: str, name: str, values: Tensor, hue: str, names: Sequence[str], table: partial[pd.DataFrame]) -> None:
    spec = bars(
        [Series(name, range(len(names)), values.where(values.isfinite(), 0.0).tolist(), hue)],
        Scale("", words=tuple(names)),
        Scale(name),
        current_theme(),
        size=(max(270, min(560, 26 * len(names) + 90)), 230),
    )
    alt = _("{name}; largest {value} of {token}.").format(
        name=name, value=number(float(values.max()), 4), token=names[int(values.argmax())]
    )
    labs.chart(key, spec, alt, table)


def _table(columns: Sequence[str], ranked: Ranking, names: Sequence[str]) -> pd.DataFrame:
    """The numbers of every bar, and the rank of each, 1 the largest."""
    import pandas as pd

    made = {}
    for name, values, ranks in zip(columns, ranked.values, ranked.ranks, strict=True):
        made[name] = values.tolist()
        made[_("rank: {name}").format(name=name)] = ranks.tolist()
    return pd.DataFrame(made, index=names)
