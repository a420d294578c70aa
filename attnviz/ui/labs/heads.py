"""Multi-head: what the parts of the page share, and the part on how heads are split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.core.attention import project
from attnviz.experiment import Experiment, Run
from attnviz.figures.maps import Axis
from attnviz.figures.text import markdown, number
from attnviz.labs.heads import apart, by_view, came_from, cut, one_by_one, one_einsum
from attnviz.letters import relabel
from attnviz.limits import LIMITS
from attnviz.locale import _, n_
from attnviz.ui import board, headings, labs, small_table, state
from attnviz.ui.compute import Computed, kept
from attnviz.ui.labs.roles import rounded, titled, words_of
from attnviz.ui.questions import Question, ask, progress

MANY = int(LIMITS["n_heads"].high)  # heads of the page where the reader has one


class Heads(NamedTuple):
    """The layer of the page, for the tokens of the chosen sequence: the reader's own, or a wider one."""

    experiment: Experiment  # what its sizes are
    run: Run
    b: int  # the chosen sequence in that run
    n: int  # its tokens, without padding
    h: int  # the chosen head


def of(computed: Computed, *, own_keys: bool = False) -> Heads:
    """Return the reader's layer; where it has one head, the same with MANY.

    own_keys: where its query heads share key-value heads, the same with one for each. Heads that are added have their
    numbers from the same seed, and the reader's own stand before them.
    """
    e, b = computed.experiment, computed.view.b
    n = computed.run.lengths[b]
    if e.n_heads > 1 and not (own_keys and grouped(e)):
        return Heads(e, computed.run, b, n, computed.view.h)
    wide = replace(_of_sequence(e, b), n_heads=e.n_heads if e.n_heads > 1 else MANY, n_kv_heads=None)
    return Heads(wide, kept("heads", wide), 0, n, min(state.view().h, wide.n_heads - 1))


def grouped(e: Experiment) -> bool:
    """Say whether query heads share key-value heads."""
    return e.n_kv_heads not in (None, e.n_heads)


def _of_sequence(e: Experiment, b: int) -> Experiment:
    """The experiment of sequence b alone, with what was edited in it: a batch of many heads may be more than fits."""
    lines = [line for line in e.text.splitlines() if line.strip()]
    edits: dict[str, Any] = {
        name: tuple(((0, *index[1:]), value) for index, value in cells if index[0] == b) or None
        for name, cells in e.edits.items()
        if name in ("x", "q", "k", "v")
    }
    return replace(e, text=lines[b], **edits)


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
    ways = [way(x, w_q, h) for way in (cut, one_einsum, one_by_one)]  # (b, h, s, k) each
    _ask(computed, heads, ways)
    _maps(computed, ways, by_view(project(x, w_q), h))


@labs.part(connects=True)
def _maps(computed: Computed, ways: list[Tensor], wrong: Tensor) -> None:
    """Draw the chosen head's queries, made in all ways (b, h, s, k).

    Where the page has no choice of a head, a change of it here runs this alone.
    """
    heads = of(computed)
    note(computed, heads)
    board.windows(computed)
    headings.title(_("The queries of head {h}, made in three ways, and by mistake").format(h=heads.h + 1))
    pieces = came_from(heads.n, heads.experiment.n_heads)[heads.h].tolist()  # of each row the token
    words = words_of(computed)
    rows, cut_rows, columns = Axis("s", words), _pieces(words, pieces), Axis("k")
    names = {"cut": _("Q, cut"), "einsum": _("Q, one einsum"), "own": _("Q, own matrix")}
    maps = [
        titled(computed, name, title, "s", way[0, heads.h], rows, columns)
        for (name, title), way in zip(names.items(), ways, strict=True)
    ]
    maps.append(titled(computed, "view", _("Q, view alone"), "", wrong[0, heads.h], cut_rows, columns))
    chart = labs.maps(computed, "maps-split", maps)
    _say_mistake(computed, heads, pieces, apart(ways[0][0, heads.h], wrong[0, heads.h]))
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
    gap = max(apart(ways[0], other) for other in ways[1:])
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
                    f"`(X @ W_Q).view(b, {s}, h, k).transpose(1, 2)`",
                    f"`torch.einsum('{equation}', X, W_Q.view(m, h, k))`",
                    "`torch.stack([X @ W_Q[:, i*k:(i+1)*k] for i in range(h)], 1)`",
                ],
                _("differs from the first by"): ["0", *(rounded(apart(ways[0], other)) for other in ways[1:])],
            }
        )
