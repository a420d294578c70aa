"""Einsum: what is said of an equation, and of one that cannot be taken."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.core.einsum_terms import Element
from attnviz.figures.text import markdown
from attnviz.labs.equations import EquationError, Problem, SizesError
from attnviz.letters import relabel
from attnviz.limits import TEXTS
from attnviz.locale import _, n_
from attnviz.ui import state
from attnviz.ui.compute import Computed
from attnviz.ui.labs.einsum_letters import Letters, called
from attnviz.ui.labs.einsum_terms import cell, printed


def refuse(error: EquationError | SizesError | None) -> None:
    """Say in one sentence what is wrong with what was typed, and offer a way out where there is one."""
    if error is None:
        st.info(_("Type an equation, such as `bsk,buk->bsu`, or choose one above."))
        return
    if isinstance(error, EquationError):
        st.warning(_of_equation(error))
        return
    facts = error.facts
    words = {
        "form": _("The sizes “{got}” cannot be read: write a letter, = and a number, such as i=2, j=4."),
        "zero": _("The size of {letter} must be 1 or more."),
        "single": _("{letter} is one axis, so that it has one size: write {letter}=2. Only `...` may have several."),
        "axes": _("Operand {operand} would have {got} axes; here it may have {most}."),
        "large": _("These sizes are too large: {got} products or numbers, where {most} are taken. Make them smaller."),
    }[error.code]
    shown = {name: f"{value:,}" if isinstance(value, int) else markdown(str(value)) for name, value in facts.items()}
    st.warning(words.format(**shown))
    instead = str(facts.get("instead", ""))
    if instead and len(instead) <= TEXTS["sizes"]:
        label = _("Take {sizes}").format(sizes=facts["letters"])
        st.button(label, key="smaller", on_click=state.set_lab, kwargs={"sizes": instead})


def _of_equation(error: EquationError) -> str:
    facts = error.facts
    letters = markdown(str(facts.get("subscripts", "")))
    where = _("Operand {n} “{letters}”").format(n=facts.get("operand"), letters=letters)
    if not facts.get("operand"):
        where = _("The output “{letters}”").format(letters=letters)
    got = str(facts.get("got", ""))
    words = {
        "character": _("{where} holds “{got}”, which is no letter: use a to z and A to Z."),
        "dots": _("{where} has a dot by itself: dots stand three together, as in `...ij`."),
        "ellipses": _("{where} has `...` {got} times: write it once."),
        "arrows": _("The equation has `->` {got} times: write it once."),
        "outputs": _("{where} has a comma: the right side is one tensor, so that commas stand on the left only."),
        "unknown": _("{where} has the letter {letter}, which no operand has: on the right only letters of the left."),
        "twice": _("{where} has the letter {letter} {got} times: on the right each letter stands once."),
    }.get(error.code)
    if words is None:
        return markdown(str(error))
    if error.code == "character" and got in "->":
        words = _("{where} holds “{got}” by itself: the arrow is written `->`.")
    letter = f"**{markdown(str(facts.get('letter', '')))}**"
    return words.format(where=where, got=markdown(got), letter=letter)


def answer(problem: Problem, found: Tensor, index: tuple[int, ...], terms: Element) -> str:
    """Return the answer to question 20, in Markdown, as the reader's own equation gives it."""
    equation, summed, n = problem.equation.text, problem.equation.summed, len(terms.products)
    total, first, mean = terms.total, float(terms.products[0]), terms.total / n
    facts = {
        "equation": equation,
        "letters": _list(summed),
        "cell": cell(problem, index),
        "n": f"{n:,}",
        "total": printed(total),
        "torch": printed(float(found[index])),
        "first": printed(first),
        "mean": printed(mean),
    }
    if not summed:
        return _(
            "They name axes. A letter that is missing on the right is summed over, but in your equation `{equation}` "
            "none is: {cell} = {total} is a single product. Take a letter off its right side and look again."
        ).format(**facts)
    words = n_(
        "They name axes: the same letter is the same place in every tensor. A letter that is missing on the right is "
        "summed over: in your equation `{equation}` that is {letters}. {cell} has {n} terms, their sum is {total}, "
        "and torch.einsum gives {torch}.",
        "They name axes: the same letter is the same place in every tensor. Letters that are missing on the right are "
        "summed over: in your equation `{equation}` these are {letters}. {cell} has {n} terms, their sum is {total}, "
        "and torch.einsum gives {torch}.",
        len(summed),
    ).format(**facts)
    if len({facts["total"], facts["first"], facts["mean"]}) == 3:
        return words + " " + _("The first term alone would be {first}, the mean {mean}.").format(**facts)
    return words + " " + _("Here a first term or a mean would look the same: choose another element.")


def say_letters(problem: Problem) -> None:
    """Name the letters that are summed and those that stay."""
    summed, output = problem.equation.summed, problem.equation.output
    if summed:
        lengths = " × ".join(str(problem.sizes[letter]) for letter in summed)
        lengths += f" = {problem.terms:,}" if len(summed) > 1 else ""
        words = n_(
            "{letters} stands on the left only: it is **summed over**, so that each element of {name} is a sum of "
            "{n} terms.",
            "{letters} stand on the left only: they are **summed over**, so that each element of {name} is a sum of "
            "{n} terms.",
            len(summed),
        )
        words = words.format(letters=_list(summed), name=markdown(problem.output), n=lengths)
    else:
        words = _("Every letter stands on the right too: **nothing is summed**.")
    if output:
        kept = n_(
            "{letters} stays: {name} has the shape {shape}.",
            "{letters} stay: {name} has the shape {shape}.",
            len(output),
        )
        shape = ", ".join(f"{called(letter)}={problem.sizes[letter]}" for letter in output)
        words += " " + kept.format(letters=_list(output), name=markdown(problem.output), shape=f"({shape})")
    else:
        words += " " + _("No letter stands on the right: the result is one number.")
    for name, axes in zip(problem.names, problem.equation.operands, strict=True):
        for letter in dict.fromkeys(axes):
            if axes.count(letter) > 1:
                words += " " + _("{letter} stands {n} times in {name}: only its diagonal is read.").format(
                    letter=f"**{called(letter)}**", n=axes.count(letter), name=markdown(name)
                )
    st.markdown(words)


def say_lit(problem: Problem, letters: Letters) -> None:
    """Say of the letter that is lit which axes it names and what becomes of it."""
    letter = letters.lit
    if not letter:
        return
    named = [*zip(problem.names, problem.equation.operands, strict=True)]
    axes = [
        _("axis {n} of {name}").format(n=i + 1, name=markdown(name))
        for name, operand in named
        for i, a in enumerate(operand)
        if a == letter
    ]
    words = _("**{letter}** names {axes}, of size {n}.")
    if len(axes) > 1:
        words = _("**{letter}** names {axes}, all of size {n}: in the loop they have the same place at the same time.")
    text = words.format(letter=called(letter), axes=", ".join(axes), n=problem.sizes[letter])
    if letter in problem.equation.output:
        more = _("On the right it is axis {n} of {name}: each place of {letter} has elements of its own.")
        n = problem.equation.output.index(letter) + 1
    else:
        more, n = _("It is not on the right: its loop is inside, and its products are added."), 0
    st.markdown(text + " " + more.format(n=n, name=markdown(problem.output), letter=called(letter)))


def say_operands(computed: Computed, problem: Problem) -> None:
    """Say what each operand is: a tensor of the reader's, or drawn."""
    kinds = {
        "X": _("the vectors of your tokens"),
        "W_Q": _("the query weights"),
        "W_K": _("the key weights"),
        "W_V": _("the value weights"),
        "Q": _("your queries"),
        "K": _("your keys"),
        "V": _("your values"),
        "a": _("your weights"),
        "O": _("your output"),
    }
    heads, groups = computed.experiment.n_heads, computed.experiment.n_kv_heads or computed.experiment.n_heads
    said: dict[str, str] = {}
    for name, own, axes in zip(problem.names, problem.own, problem.equation.operands, strict=True):
        words = kinds.get(own) or _("random numbers, seed {seed}").format(seed=computed.experiment.seed)
        named = {problem.meaning.get(letter) for letter in axes}
        if own and not own.startswith("W_") and len(computed.run.tokens) > 1 and "b" not in named:
            words += " " + _("of sequence {b}").format(b=computed.view.b + 1)
        if own not in ("", "X") and heads > 1 and "h" not in named:
            words += " " + _("of head {h}").format(h=computed.view.h + 1)
        if own in ("K", "V", "W_K", "W_V") and groups < heads and "h" in named:
            words += " " + _("(a shared head once for each head that reads it)")
        said[f"`{name}`"] = words
    words = "; ".join(f"{name}: {what}" for name, what in said.items()) + "."
    known = relabel(problem.known, computed.view.letters)
    if problem.known and problem.equation.text not in (known, problem.known):
        words += " " + _("Read by position, as `{equation}`.").format(equation=known)
    for letter, whole in problem.cut.items():
        cut = _("Of {letter} the first {n} of {whole} places are taken.")
        words += " " + cut.format(letter=f"`{called(letter)}`", n=problem.sizes[letter], whole=whole)
    st.caption(words)


def _list(letters: tuple[str, ...]) -> str:
    return ", ".join(f"**{called(letter)}**" for letter in letters)
