"""Positions: the part that asks why positions are added to the tokens' vectors, and not put beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html
from attnviz.labs.positions import ADDED, places
from attnviz.labs.positions_inside import Beside, Terms, concatenate, four_terms, without_places
from attnviz.locale import _
from attnviz.ui import board, controls, labs, small_table
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.labs import positions
from attnviz.ui.labs.positions import small
from attnviz.ui.questions import Question, ask, progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(17)
    e, head = computed.experiment, positions.head(computed)
    kind = head.positions if head.positions in ADDED else "sinusoidal"
    n, m = head.x.shape
    place = labs.ran("place", places, kind, n, m, head.seed)
    assert place is not None
    typed = head.typed.get("x")
    content = head.x if typed is None else labs.ran("content", without_places, head.x, typed, place)  # (s, m)
    n_kv_heads = e.n_kv_heads or e.n_heads
    columns = (e.n_heads + n_kv_heads) * e.d_k + n_kv_heads * e.d_v  # of W_Q, W_K and W_V together
    terms = labs.ran("terms", four_terms, content, place, head.w_q, head.w_k)
    _ask(terms, partial(labs.ran, "beside", concatenate, content, place, head.w_q, head.w_k, columns=columns))
    positions.choose()
    if kind != head.positions:
        name = controls.positions()[head.positions]
        st.caption(_("Nothing is added to X by “{name}”: here sinusoidal positions stand in.").format(name=name))
    board.windows(computed)
    chart = _maps(computed, terms)
    st.markdown(
        _("**The four terms add up to the scores**: the largest difference is {apart}.").format(
            apart=small(terms.apart)
        )
    )
    if computed.experiment.edits.keys() & {"q", "k"}:
        st.caption(_("Queries and keys that you typed are left out here: these scores are those of X."))
    labs.connect(computed, [chart])


def _ask(terms: Terms, concatenated: Callable[[], Beside]) -> None:
    reveal = ask(
        Question(
            17,
            _(
                "**Why are positions added, x + p, and not concatenated, [x, p]?** The sum mixes what a word is with "
                "where it stands."
            ),
            {
                "meet": _("only in a sum can a word and a place meet in one score"),
                "width": _("both give the same four terms, and [x, p] makes every matrix wider"),
                "apart": _("attention can subtract p again, which it cannot from [x, p]"),
            },
            right="width",
        )
    )
    if reveal is None:
        return
    beside = concatenated()
    reveal.markdown(
        _(
            "A score is a product and opens into four terms either way; in your text they reach {xx} (word with "
            "word), {xp} (word with place), {px} (place with word) and {pp} (place with place). And [x, p] is a sum "
            "too: (x, 0) + (0, p), in features of their own (difference {sum}). That costs width: {width} features and "
            "{numbers} numbers in W_Q, W_K and W_V instead of {narrow}. With each weight used twice, [x, p] even gives "
            "the very scores of x + p (largest difference {same})."
        ).format(
            **{name: small(float(getattr(terms, name).abs().max())) for name in ("xx", "xp", "px", "pp")},
            sum=small(float((beside.wide - beside.as_sum).abs().max())),
            width=beside.width,
            numbers=f"{beside.numbers:,}",
            narrow=f"{beside.narrow:,}",
            same=small(float((beside.scores - terms.scores).abs().max())),
        )
    )
    with reveal:
        _beside(beside)


def _maps(computed: Computed, terms: Terms) -> dict[str, Any]:
    words = positions.words_of(computed)
    tokens = (Axis("s", words), Axis("u", words))
    quiet = f"<span style='color:{current_theme().quiet};font-size:11px'>{{}}</span>"
    titles = {
        "xx": ("x W xᵀ", _("word · word")),
        "xp": ("x W pᵀ", _("word · place")),
        "px": ("p W xᵀ", _("place · word")),
        "pp": ("p W pᵀ", _("place · place")),
        "total": ("Σ", _("sum of the four")),
        "scores": ("S", "(x + p) W (x + p)ᵀ"),
    }
    drawn = [
        Map(name, f"<b>{symbol}</b> {quiet.format(html(said))}", getattr(terms, name), *tokens)
        for name, (symbol, said) in titles.items()
    ]
    st.caption(_("W = W_Q W_Kᵀ; scores before they are scaled. All six maps have one colour scale."))
    return labs.maps(computed, "maps-terms", drawn)


def _beside(beside: Beside) -> None:
    m = beside.width // 2
    small_table.show(
        {
            "": [_("added: x + p"), _("concatenated: [x, p]")],
            _("features of a token"): [str(m), str(beside.width)],
            _("numbers in W_Q, W_K, W_V"): [f"{beside.narrow:,}", f"{beside.numbers:,}"],
            _("terms of a score"): ["4", "4"],
        }
    )
