"""The einsum lab: any equation on the reader's own sizes, its letters, its loop, and one element written out."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from attnviz.core.einsum import parse
from attnviz.figures.text import markdown
from attnviz.labs.equations import (
    EquationError,
    Problem,
    SizesError,
    own_tensors,
    pose,
    read_index,
    result,
    tidy,
)
from attnviz.letters import LETTERS, relabel
from attnviz.limits import TEXTS
from attnviz.locale import _
from attnviz.ui import headings, labs, state, widgets
from attnviz.ui.compute import Computed
from attnviz.ui.controls import LIVE
from attnviz.ui.labs import einsum_home, einsum_letters, einsum_maps, einsum_terms, einsum_words
from attnviz.ui.questions import Question, ask, progress

# The design's four; two as people meet them; and what else letters can say.
STARTS = ("bsm,mk->bsk", "bsk,buk->bsu", "bsu,bud->bsd", "bhsk,bhuk->bhsu")
OTHERS = ("bik,bjk->bij", "btm,mk->btk", "bsu->bs", "ii->i", "ij->ji", "ij->", "i,j->ij", "...ij,...jk->...ik")


@labs.live
def show(computed: Computed) -> None:
    """Draw the lab."""
    progress(20)
    place = _ask(computed)
    _choose(computed)
    _work(computed, place)


@labs.part("sizes", "at", "lit", connects=True)
def _work(computed: Computed, place: DeltaGenerator | None) -> None:
    """Draw what the equation does."""
    lab = computed.view.lab
    problem, found, error = _pose(computed)
    _type_sizes()
    if problem is None or found is None:
        if place is not None:
            place.markdown(_answer(computed, problem, found))
        einsum_words.refuse(error)
        labs.connect(computed, [])
        return
    index, there = _index(computed, problem, found)
    letters = einsum_letters.of(problem, lab.lit)
    einsum_letters.choose(problem, letters)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(f"${einsum_letters.formula(problem, letters)}$", width="content")
        line = f"{problem.output} = torch.einsum('{tidy(lab.equation)}', {', '.join(problem.names)})"
        st.code(line, language="python", width="content")
    einsum_words.say_letters(problem)
    einsum_words.say_lit(problem, letters)
    einsum_words.say_operands(computed, problem)
    connect = einsum_maps.show(computed, problem, found, index, letters)
    if place is not None:
        place.markdown(_answer(computed, problem, found))
    loop, terms = st.columns(2, gap="medium")
    with loop:
        headings.line(_("**The loop that runs**"))
        einsum_letters.show_loop(problem, letters)
        asked = (computed.experiment, lab.equation, lab.sizes, computed.view.b, computed.view.h, computed.view.letters)
        einsum_terms.say_check(problem, found, index, asked)
    with terms:
        headings.line(_("**One element**: choose it here, or click a map"))
        if not there:
            st.caption(_("There is no element {at} here: this one is shown.").format(at=markdown(lab.at)))
        einsum_terms.choose(problem, index, letters)
        tokens = einsum_maps.tokens_of(computed, problem, dict(zip(problem.equation.output, index, strict=True)))
        einsum_terms.show_element(problem, found, index, einsum_terms.written_out(problem, index), tokens)
    connect()


def _pose(computed: Computed) -> tuple[Problem | None, Tensor | None, EquationError | SizesError | None]:
    """The problem and its result; None for both, and why, where there is none. Nothing typed has no reason."""
    run, view, lab = computed.run, computed.view, computed.view.lab
    assert run.trace is not None
    if not tidy(lab.equation):
        return None, None, None
    own = own_tensors(run.x, run.w_q, run.w_k, run.w_v, run.trace)
    try:
        problem = pose(
            lab.equation,
            lab.sizes,
            own,
            {"b": view.b, "h": view.h},
            letters={theirs: ours for ours, theirs in LETTERS[view.letters].items()},
            seed=computed.experiment.seed,
        )
    except (EquationError, SizesError) as error:
        return None, None, error
    found = result(problem)
    einsum_home.record(computed, problem, own, found)
    return problem, found, None


def _index(computed: Computed, problem: Problem, found: Tensor) -> tuple[tuple[int, ...], bool]:
    """The chosen element, and whether it is the one that was asked for; else the one that is chosen on other pages."""
    view = computed.view
    if view.lab.at.strip():
        return read_index(view.lab.at, found.shape)
    at = {"b": view.b, "h": view.h, "s": view.s, "u": view.u}
    wanted = [at.get(problem.meaning.get(letter, ""), 0) for letter in problem.equation.output]
    return tuple(min(i, n - 1) for i, n in zip(wanted, found.shape, strict=True)), True


def _choose(computed: Computed) -> None:
    """Offer equations to start from, and the box for any other."""
    letters, lab = computed.view.letters, computed.view.lab
    starts = list(dict.fromkeys(relabel(start, letters) for start in STARTS + OTHERS))
    st.session_state["start"] = tidy(lab.equation) if tidy(lab.equation) in starts else None
    st.pills(_("Start from"), starts, format_func=lambda start: f"`{start}`", key="start", on_change=_take_start)
    st.text_input(
        _("Equation"),
        key=state.of_lab("equation")["key"],
        on_change=_take_equation,
        live=LIVE,
        max_chars=TEXTS["equation"],
        autocomplete="off",
    )


def _type_sizes() -> None:
    st.text_input(
        _("Sizes to change"),
        live=LIVE,
        placeholder="i=2, j=4",
        max_chars=TEXTS["sizes"],
        autocomplete="off",
        width=280,
        **state.of_lab("sizes"),
    )


def _take_start() -> None:
    if chosen := widgets.sent("start"):
        state.set_lab(equation=chosen, at="")


def _take_equation() -> None:
    """Take what was typed; an element of a result with other letters is not this one's."""
    typed, lab = widgets.sent("equation"), state.view().lab
    before, after = _output(lab.equation), _output(typed)
    state.set_lab(equation=typed, at=lab.at if before is None or after in (None, before) else "")


def _output(text: str) -> tuple[str, ...] | None:
    """The letters of the result; None for an equation that is still being typed."""
    try:
        return parse(tidy(text)).output if tidy(text) else None
    except EquationError:
        return None


def _ask(computed: Computed) -> DeltaGenerator | None:
    return ask(
        Question(
            20,
            _("**What do the letters of an einsum do?** In `{equation}` the letter k stands on the left only.").format(
                equation=relabel("bsk,buk->bsu", computed.view.letters)
            ),
            {
                "first": _("its axis is dropped: the first entry is taken"),
                "sum": _("the products are added up over k"),
                "mean": _("the products are averaged over k"),
            },
            right="sum",
        )
    )


def _answer(computed: Computed, problem: Problem | None, found: Tensor | None) -> str:
    if problem is None or found is None:
        return _("Mend the equation below: the answer is computed from it.")
    index, _there = _index(computed, problem, found)
    return einsum_words.answer(problem, found, index, einsum_terms.written_out(problem, index))
