"""Query, key, value: the part on who reads whom. Which axis is the query, and whether a token must read itself most."""

from __future__ import annotations

import streamlit as st
import torch
from torch import Tensor

from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import number
from attnviz.labs.roles import Mirror, diagonal, mirror
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import labs
from attnviz.ui.board import windows
from attnviz.ui.compute import Computed
from attnviz.ui.labs import roles
from attnviz.ui.questions import Question, ask, progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(5, 25)
    windows(computed)
    query, key, x = (roles.table(computed, name) for name in ("query", "key", "x"))
    mirrored, words = labs.ran("mirrored", mirror, query, key), roles.words_of(computed)
    s, u = _pair(computed, mirrored)
    _ask_axis(computed, mirrored, s, u)
    roles.choose(computed, "s", "u")
    if (s, u) != roles.chosen(computed):
        st.caption(
            _(
                "On the diagonal a token reads itself, and S and Sᵀ agree: the question takes the two tokens that "
                "differ most, row {s} and column {u}."
            ).format(s=s + 1, u=u + 1)
        )
    charts = [labs.maps(computed, "maps-mirror", mirror_maps(mirrored, words))]
    _ask_diagonal(computed)
    tokens = (Axis("s", words), Axis("u", words))
    products = labs.ran("gram", torch.matmul, x, x.mT)
    gram = Map("gram", "<b>X Xᵀ</b>", products, *tokens, scale="gram")
    again = Map("scores-again", "<b>S = Q Kᵀ</b>", mirrored.scores, *tokens)
    charts.append(labs.maps(computed, "maps-diagonal", [gram, again], bars={"gram": "X Xᵀ", "signed": "S"}))
    labs.connect(computed, charts, selected={"name": "scores", "row": s, "col": u})


def mirror_maps(mirrored: Mirror, words: tuple[str, ...], symbol: str = "S = Q Kᵀ") -> list[Map]:
    """Return the maps of scores and of their transpose, whose rows are the keys."""
    queries, keys = Axis("s", words), Axis("u", words)
    return [
        Map("scores", f"<b>{symbol}</b>", mirrored.scores, queries, keys),
        Map("scores-t", "<b>Sᵀ</b>", mirrored.transposed, keys, queries),
    ]


def _pair(computed: Computed, mirrored: Mirror) -> tuple[int, int]:
    """The chosen cell; in place of one on the diagonal, the cell that differs most from its mirror."""
    s, u = roles.chosen(computed)
    if s != u:
        return s, u
    s, u = mirrored.at
    return (s, u) if s != u or len(mirrored.scores) == 1 else (0, 1)  # where all tokens are one word, none differs


def _ask_axis(computed: Computed, mirrored: Mirror, s: int, u: int) -> None:
    words, letters = roles.words_of(computed), computed.view.letters
    reads = {"one": roles.quoted(words, s), "other": roles.quoted(words, u)}
    place = ask(
        Question(
            5,
            _(
                "**Which axis is the query, and why is the map not symmetric?** Take row {s} {one}, "
                "column {u} {other} of S."
            ).format(s=s + 1, u=u + 1, **reads),
            {
                "column": _("{other} reads {one}: the columns are the queries").format(**reads),
                "row": _("{one} reads {other}: the rows are the queries").format(**reads),
                "both": _("each reads the other: the map should be symmetric, and rounding spoils it"),
            },
            right="row",
        )
    )
    if place is None:
        return
    if len(words) == 1:
        place.markdown(
            _("Rows are queries, columns are keys. One token has one cell and no mirror: type a second word.")
        )
        return
    text = _(
        "S_{su} = **{value}** is the query of {one} times the key of {other}: {one} reads {other}. Its mirror "
        "S_{us} = **{mirror}** is the query of {other} times the key of {one}: two other vectors. Nowhere are S and Sᵀ "
        "further apart than {most}; only the diagonal must agree."
    )
    if _alike(computed, s, u):
        text = _(
            "S_{su} = **{value}** is the query of {one} times the key of {other}: {one} reads {other}. Its mirror "
            "S_{us} = **{mirror}** is the query of {other} times the key of {one}: here the same vectors, for the two "
            "are one word, and so the same number. Elsewhere S and Sᵀ are up to {most} apart."
        )
    place.markdown(
        text.format(
            su=relabel("su", letters),
            us=relabel("us", letters),
            value=number(float(mirrored.scores[s, u]), 4),
            mirror=number(float(mirrored.scores[u, s]), 4),
            most=number(mirrored.most, 4),
            **reads,
        )
    )


def _alike(computed: Computed, s: int, u: int) -> bool:
    """Say whether two tokens have the same query and the same key, but for rounding."""
    return all(
        torch.allclose(rows[s], rows[u]) for rows in (roles.table(computed, "query"), roles.table(computed, "key"))
    )


def _ask_diagonal(computed: Computed) -> None:
    words, ss = roles.words_of(computed), relabel("ss", computed.view.letters)
    place = ask(
        Question(
            25,
            _(
                "**Must the diagonal be largest?** A token is most similar to itself. Is S_{ss} the largest of its row?"
            ).format(ss=ss),
            {
                "self": _("yes: nothing is closer to a token than the token itself"),
                "two": _("no: a token's query and its key are two different vectors"),
                "trained": _("not with random weights, but in a trained layer it is"),
            },
            right="two",
        )
    )
    if place is None:
        return
    query, key, x = (roles.table(computed, name) for name in ("query", "key", "x"))
    scores, own = labs.ran("score_diagonal", diagonal, query, key), labs.ran("gram_diagonal", diagonal, x, x)
    text = _(
        "Q Kᵀ compares the query of a token with its key, made by another matrix: S_{ss} is the largest in "
        "**{scores}** of your {n} rows. X Xᵀ compares each vector with itself, and there it is **{own}** of {n}."
    ).format(ss=ss, scores=_count(scores.wins), own=_count(own.wins), n=len(words))
    losing = (~scores.wins).nonzero()
    if len(losing):
        s = int(losing[0])
        text += " " + _("For one, {one} gives {other} {rival} and itself {self}.").format(
            one=roles.quoted(words, s),
            other=roles.quoted(words, int(scores.at[s])),
            rival=number(float(scores.rival[s]), 4),
            self=number(float(scores.own[s]), 4),
        )
    if not bool(own.wins.all()):
        text += " " + _("Even X Xᵀ is not bound to it: a longer vector that points much the same way gives more.")
    place.markdown(text)


def _count(wins: Tensor) -> int:
    return int(wins.sum())
