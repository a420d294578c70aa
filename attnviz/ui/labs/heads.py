"""Multi-head: what the parts of the page share, and the part on how heads are split."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.core.attention import project
from attnviz.figures.maps import Axis
from attnviz.figures.text import markdown, number
from attnviz.labs.heads import apart, by_view, came_from, cut, one_by_one, one_einsum
from attnviz.letters import relabel
from attnviz.locale import _, n_
from attnviz.ui import board, headings, labs, small_table, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs.heads_layer import Heads, of
from attnviz.ui.labs.roles import rounded, titled, words_of
from attnviz.ui.questions import Question, ask, progress

# The ways to split, by what a program calls the queries that they make.
WAYS = {"queries_cut": cut, "queries_by_einsum": one_einsum, "queries_one_by_one": one_by_one}


def note(computed: Computed, heads: Heads) -> None:
    """Say which heads are not the reader's own, and offer the one that is drawn where the page's controls do not."""
    e, n = computed.experiment, heads.experiment.n_heads
    if e.n_heads == 1:
        words = _("Your layer has one head: here it has {n}, {more} of them drawn with the same seed.")
        st.caption(words.format(n=n, more=n - 1))
        bound = state.of_view("h")
        st.session_state[bound["key"]] = heads.h
        st.segmented_control(_("Head h"), range(n), required=True, format_func=lambda i: str(i + 1), **bound)
    elif heads.run is not computed.run:
        st.caption(
            _(
                "Your {n} key-value heads stand first in their groups here; those that you do not have are drawn with "
                "the same seed."
            ).format(n=e.n_kv_heads)
        )


def tokens(n: int) -> str:
    """Count tokens in words."""
    return n_("{n} token", "{n} tokens", n).format(n=f"{n:,}")


@labs.live
def show_split(computed: Computed) -> None:
    """Draw the part on one matrix for all heads, or one for each."""
    progress(19)
    heads = of(computed)
    x, w_q, h = heads.run.x[heads.b : heads.b + 1, : heads.n], heads.run.w_q, heads.experiment.n_heads
    ways = [labs.ran(name, way, x, w_q, h) for name, way in WAYS.items()]  # (b, h, s, k) each
    _ask(computed, heads, ways)
    projected = labs.ran("projected", project, x, w_q)
    _maps(computed, ways, labs.ran("viewed", by_view, projected, h))


@labs.part(connects=True)
def _maps(computed: Computed, ways: list[Tensor], wrong: Tensor) -> None:
    """Draw the chosen head's queries, made in all ways (b, h, s, k).

    Where the page has no choice of a head, a change of it here runs this alone.
    """
    heads = of(computed)
    note(computed, heads)
    board.windows(computed)
    headings.title(_("The queries of head {h}, made in three ways, and by mistake").format(h=heads.h + 1))
    pieces = labs.ran("pieces", came_from, heads.n, heads.experiment.n_heads)[heads.h].tolist()  # of each row the token
    words = words_of(computed)
    rows, cut_rows, columns = Axis("s", words), _pieces(words, pieces), Axis("k")
    names = {"cut": _("Q, cut"), "einsum": _("Q, one einsum"), "own": _("Q, own matrix")}
    maps = [
        titled(computed, name, title, "s", way[0, heads.h], rows, columns)
        for (name, title), way in zip(names.items(), ways, strict=True)
    ]
    maps.append(titled(computed, "view", _("Q, view alone"), "", wrong[0, heads.h], cut_rows, columns))
    chart = labs.maps(computed, "maps-split", maps)
    gap = labs.ran("mistaken_by", apart, ways[0][0, heads.h], wrong[0, heads.h])
    _say_mistake(computed, heads, pieces, gap)
    labs.connect(computed, [chart], in_part=True)


def _pieces(words: tuple[str, ...], pieces: list[int]) -> Axis:
    return Axis("s", tuple(f"{i + 1} {words[i]}" for i in pieces), _("piece of token"))


def _say_mistake(computed: Computed, heads: Heads, pieces: list[int], gap: float) -> None:
    """Say what comes of the view without the transpose, whose rows are pieces of these tokens."""
    words, code = words_of(computed), f"`Q.view(b, h, {relabel('s', computed.view.letters)}, k)`"
    if heads.n == 1:
        said = _("**The mistake:** {code} alone, without the transpose. One token does not show it: type a second.")
    elif pieces[0] == pieces[-1]:
        said = _(
            "**The mistake:** {code} alone, without the transpose, has the right shape and runs. But it cuts the "
            "numbers in their order in memory: all {n} rows of head {h} are pieces of one token, {first}. It differs "
            "from the right head by up to **{gap}**."
        )
    else:
        said = _(
            "**The mistake:** {code} alone, without the transpose, has the right shape and runs. But it cuts the "
            "numbers in their order in memory: the {n} rows of head {h} are pieces of tokens {first} to {last}. It "
            "differs from the right head by up to **{gap}**."
        )
    first, last = (f"{i + 1} “{markdown(words[i])}”" for i in (pieces[0], pieces[-1]))
    st.markdown(said.format(code=code, n=heads.n, h=heads.h + 1, first=first, last=last, gap=number(gap, 4)))


def _ask(computed: Computed, heads: Heads, ways: list[Tensor]) -> None:
    e = heads.experiment
    place = ask(
        Question(
            19,
            _(
                "**Split the vector into heads, or give each head its own matrix?** Some code projects once and cuts "
                "the result into {h} heads; other code has {h} small matrices."
            ).format(h=e.n_heads),
            {
                "cut": _("the cut is worse: each head then sees only its piece of the token's vector"),
                "same": _("it is the same: the small matrices stand side by side in the wide one"),
                "own": _("own matrices are richer: they learn more numbers"),
            },
            right="same",
        )
    )
    if place is None:
        return
    names = ("einsum_differs", "one_by_one_differs")
    gaps = [labs.ran(name, apart, ways[0], other) for name, other in zip(names, ways[1:], strict=True)]
    gap = max(gaps)
    with place:
        st.markdown(
            _(
                "The largest difference between the three is **{gap}**. W_Q has {m} × {h}·{k} = {numbers} numbers "
                "either way: its columns 1 to {k} are the matrix of head 1. That has {m} rows, one for each feature of "
                "X, so that the head reads the whole vector: what is cut is Q, not X."
            )
            .replace("W_Q", r"W\_Q")
            .format(
                gap=rounded(gap) + (" " + _("(rounding)") if gap else ""),
                m=e.d_model,
                h=e.n_heads,
                k=e.d_k,
                numbers=f"{heads.run.w_q.numel():,}",
            )
        )
        s = relabel("s", computed.view.letters)
        equation = relabel("bsm,mhk->bhsk", computed.view.letters)
        small_table.show(
            {
                _("way"): [_("one matrix, cut"), _("one einsum"), _("a matrix for each head")],
                "torch": [
                    f"(X @ W_Q).view(b, {s}, h, k).transpose(1, 2)",
                    f"torch.einsum('{equation}', X, W_Q.view(m, h, k))",
                    "torch.stack([X @ W_Q[:, i*k:(i+1)*k] for i in range(h)], 1)",
                ],
                _("differs from the first by"): ["0", *map(rounded, gaps)],
            },
            code="torch",
        )
