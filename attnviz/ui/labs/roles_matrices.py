"""Query, key, value: the part on W_Q and W_K. Why they differ, and why there are two of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
import torch
from torch import Tensor

from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import number, visible
from attnviz.labs.roles import Diagonal, diagonal, mirror
from attnviz.letters import relabel
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme, windows
from attnviz.ui.compute import Computed
from attnviz.ui.labs import roles, roles_product
from attnviz.ui.labs.roles_order import mirror_maps
from attnviz.ui.questions import Question, ask, progress

if TYPE_CHECKING:
    import pandas as pd


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(6, 7)
    windows(computed)
    query, key = (roles.table(computed, name) for name in ("query", "key"))
    _ask_tied(computed, query, key)
    charts = [_tied(computed, query, key)]
    charts += roles_product.show(computed)
    s, u = roles.chosen(computed)
    labs.connect(computed, charts, selected={"name": "scores", "row": s, "col": u})


def _ask_tied(computed: Computed, query: Tensor, key: Tensor) -> None:
    place = ask(
        Question(
            6,
            _("**Why are W_Q and W_K different?** Suppose a layer had one matrix for both, W_K = W_Q."),
            {
                "cheap": _("it would do the same with half of the parameters"),
                "self": _("every token would give itself its largest score"),
                "mirror": _("any two tokens would give each other the same score"),
            },
            right="mirror",
        )
    )
    if place is not None:
        with place:
            _reveal_tied(computed, query, key)


@labs.part("tied")
def _tied(computed: Computed, query: Tensor, key: Tensor) -> dict[str, Any]:
    words, lab = roles.words_of(computed), computed.view.lab
    st.toggle(_("W_K := W_Q, so that every key is its token's query"), **state.of_lab("tied"))
    shown = labs.ran("mirrored", mirror, query, query if lab.tied else key)
    queries, keys = Axis("s", words), Axis("u", words)
    drawn = mirror_maps(shown, words, "S = Q Qᵀ" if lab.tied else "S = Q Kᵀ")
    drawn.append(Map("difference", "<b>S − Sᵀ</b>", shown.difference, queries, keys))
    made = labs.maps(computed, "maps-tied", drawn)
    made["panels"][0]["symbol"] = "S"  # in the tooltip, whichever matrices it is made of
    return made


def _reveal_tied(computed: Computed, query: Tensor, key: Tensor) -> None:
    words, letters = roles.words_of(computed), computed.view.letters
    won = labs.ran("tied_diagonal", diagonal, query, query)
    tied, free = labs.ran("tied", mirror, query, query), labs.ran("free", mirror, query, key)
    text = _(
        "With W_K = W_Q both S_{su} and S_{us} are the dot product of the same two queries: S and Sᵀ differ by no more "
        "than rounding, {tied}, where with your two matrices it is {free}. And S_{ss} is the query's length "
        "squared: the largest in {wins} of your {n} rows."
    ).format(
        su=relabel("su", letters),
        us=relabel("us", letters),
        ss=relabel("ss", letters),
        tied=roles.rounded(tied.most),
        free=number(free.most, 4),
        wins=int(won.wins.sum()),
        n=len(words),
    )
    losing = (~won.wins).nonzero()
    if len(losing):
        s = int(losing[0])
        text += " " + _("Not always: {one} gives itself {own}, and the longer query of {other} {rival}.").format(
            one=roles.quoted(words, s),
            other=roles.quoted(words, int(won.at[s])),
            own=number(float(won.own[s]), 4),
            rival=number(float(won.rival[s]), 4),
        )
    st.markdown(text)
    _rows(computed, won, words)


def _rows(computed: Computed, won: Diagonal, words: tuple[str, ...]) -> None:
    first = max(0, min(computed.view.from_s, len(words) - TOKENS_SHOWN))
    part = slice(first, first + TOKENS_SHOWN)
    shown = words[part]
    ss = relabel("ss", computed.view.letters)
    own, rival = (values[part].where(values[part].isfinite(), torch.tensor(0.0)) for values in (won.own, won.rival))
    spec = bars(
        [
            Series(_("S_{ss}, the token with itself").format(ss=ss), range(len(shown)), own.tolist(), "s"),
            Series(_("largest with another token"), range(len(shown)), rival.tolist(), "u"),
        ],
        Scale("", words=shown),
        Scale(_("score with W_K = W_Q")),
        current_theme(),
        size=(max(320, min(900, 76 * len(shown) + 90)), 260),
    )
    alt = _("With W_K = W_Q, the score of each token with itself beside its largest with another: {wins} of {n} win.")
    labs.chart("rows-tied", spec, alt.format(wins=int(won.wins.sum()), n=len(words)), partial(_row_table, won, words))


def _row_table(won: Diagonal, words: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        _("with itself"): won.own.tolist(),
        _("largest with another"): won.rival.tolist(),
        _("that token"): [visible(words[u]) for u in won.at.tolist()],
        _("itself wins"): won.wins.tolist(),
    }
    return pd.DataFrame(columns, index=[f"{i + 1} {visible(word)}" for i, word in enumerate(words)])
