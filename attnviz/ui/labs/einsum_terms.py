"""Einsum: the loop with what its check found, and one element written out, its terms and their sum."""

from __future__ import annotations

import math

import streamlit as st
from torch import Tensor

from attnviz.core.einsum_terms import Element, unrolled
from attnviz.figures.text import MINUS, SUBSCRIPTS, markdown, number, visible
from attnviz.labs.equations import MAX_RUN, Check, Problem, check
from attnviz.limits import TERMS_SHOWN
from attnviz.locale import _, n_
from attnviz.ui import labs, small_table, state
from attnviz.ui.labs.einsum_home import record_loop
from attnviz.ui.labs.einsum_letters import Letters, called

TERMS_SENT = 500  # terms that a table holds at most
_CHECKS_KEPT = 8


def choose(problem: Problem, index: tuple[int, ...], letters: Letters) -> None:
    """Offer the indices of the element, one for each letter on the right."""
    with st.container(horizontal=True):
        for letter, i in zip(problem.equation.output, index, strict=True):
            key = f"index:{letter}"
            if st.session_state.get(key) != i + 1:  # a box that is given its number again is drawn three times
                st.session_state[key] = i + 1
            st.number_input(
                f"`{called(letter)}`",
                1,
                problem.sizes[letter],
                None,
                key=key,
                on_change=_move,
                args=(problem, index),
                width=128,
            )


def _move(problem: Problem, index: tuple[int, ...]) -> None:
    typed = [st.session_state.get(f"index:{letter}") for letter in problem.equation.output]
    state.set_lab(at=", ".join(str(i + 1 if n is None else n) for n, i in zip(typed, index, strict=True)))


def written_out(problem: Problem, index: tuple[int, ...]) -> Element:
    """Return the terms of one element of the result."""
    at = dict(zip(problem.equation.output, index, strict=True))
    sizes = {letter: problem.sizes[letter] for letter in problem.equation.summed}
    letters = ["".join(axes) if max(map(len, axes), default=1) == 1 else axes for axes in problem.equation.operands]
    return labs.ran("terms", unrolled, list(problem.operands), letters, at, sizes)


def cell(problem: Problem, index: tuple[int, ...]) -> str:
    """Return what an element is called, in Markdown: **S**₁,₂,₃."""
    return f"**{markdown(problem.output)}**" + ",".join(str(i + 1).translate(SUBSCRIPTS) for i in index)


def printed(value: float) -> str:
    """Return a number with four decimals, or with a power of ten where it would be a crowd of digits.

    >>> printed(-0.5), printed(-1e30)
    ('−0.5000', '−1.0000e+30')
    """
    if not math.isfinite(value) or abs(value) < 1e7:
        return number(value, 4)
    return f"{value:.4e}".replace("-", MINUS)


def show_element(
    problem: Problem, found: Tensor, index: tuple[int, ...], terms: Element, tokens: dict[str, tuple[str, ...]]
) -> None:
    """Say what the element is by its terms and by torch, and list them."""
    n = len(terms.products)
    words = n_(
        "{cell} = {total}: {n} term. torch.einsum gives {torch}.",
        "{cell} = {total}: the sum of {n} terms. torch.einsum gives {torch}.",
        n,
    )
    st.markdown(
        words.format(
            cell=cell(problem, index), total=printed(terms.total), n=f"{n:,}", torch=printed(float(found[index]))
        )
    )
    _table(problem, terms, tokens)


def _table(problem: Problem, terms: Element, tokens: dict[str, tuple[str, ...]]) -> None:
    n, shown = len(terms.products), min(len(terms.products), TERMS_SENT)
    table: dict[str, list[str]] = {}
    for letter, places in terms.summed.items():
        words = tokens.get(letter, ())
        table[called(letter)] = [
            f"{i + 1} {visible(words[i])}" if words else str(i + 1) for i in places[:shown].tolist()
        ]
    subscripts = problem.equation.text.partition("->")[0].split(",")
    for number_, (name, axes, factor) in enumerate(zip(problem.names, subscripts, terms.factors, strict=True), 1):
        head = f"{name}_{axes}" if axes else name
        head = head if head not in table else f"{head} ({number_})"
        table[head] = [printed(value) for value in factor[:shown].tolist()]
    if len(problem.operands) > 1:
        table[_("product")] = [printed(value) for value in terms.products[:shown].tolist()]
    if terms.summed:
        for column in table.values():
            column.append("")
        table[next(iter(table))][-1] = _("sum")
        table[list(table)[-1]][-1] = printed(terms.total)
    if n <= TERMS_SHOWN:
        small_table.show(table)
    else:
        height = 36 * (TERMS_SHOWN + 2)
        st.dataframe(table, hide_index=True, width="content", height=height, alt=_("The terms of the element"))
    if shown < n:
        st.caption(_("The first {shown} of {n} terms; the sum is of all.").format(shown=shown, n=f"{n:,}"))


def say_check(problem: Problem, found: Tensor, index: tuple[int, ...], asked: tuple[object, ...]) -> None:
    """Say how far the loop is from torch.einsum; asked is all that the answer depends on, for which it is kept."""
    asked = (*asked, index if problem.steps > MAX_RUN else ())
    checked = _checked(problem, found, index, asked)
    apart = f"{checked.difference:.1e}" if checked.difference else "0"
    record_loop(problem, found, checked)
    if checked.looped is not None:
        words = n_(
            "This loop has just run, {n} step: its largest difference from torch.einsum is {difference}.",
            "This loop has just run, {n} steps: its largest difference from torch.einsum is {difference}.",
            problem.steps,
        )
        st.caption(words.format(n=f"{problem.steps:,}", difference=apart))
        return
    st.caption(
        _(
            "{n} steps, more than the {most} that are run here. Added up from their terms instead: {places}. Their "
            "largest difference from torch.einsum is {difference}."
        ).format(
            n=f"{problem.steps:,}",
            most=f"{MAX_RUN:,}",
            places=" · ".join(cell(problem, at) for at in checked.elements),
            difference=apart,
        )
    )


def _checked(problem: Problem, found: Tensor, index: tuple[int, ...], asked: tuple[object, ...]) -> Check:
    """Return the check, kept for whoever goes back: of a sum of many terms it takes as long as all else on the page."""
    kept: dict[tuple[object, ...], Check] = st.session_state.setdefault("_einsum", {})
    checked = kept.pop(asked, None) or check(problem, found, index)
    kept[asked] = checked  # the last
    if len(kept) > _CHECKS_KEPT:
        del kept[next(iter(kept))]
    return checked
