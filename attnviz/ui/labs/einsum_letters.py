"""Einsum: its letters in their hues, and the one that is lit, in formula, code, shapes and axes."""

from __future__ import annotations

import re
from typing import NamedTuple

import streamlit as st

from attnviz.core.einsum_parse import ELLIPSIS
from attnviz.figures.colours import Theme
from attnviz.figures.text import html
from attnviz.labs.equations import Problem, source
from attnviz.locale import _
from attnviz.ui import state, widgets
from attnviz.ui.board import current_theme

CODE = (
    "margin:0;padding:12px 14px;border-radius:8px;overflow-x:auto;"
    "font:14px/1.6 ui-monospace,Menlo,Consolas,monospace;background:rgba(128,132,149,.1)"
)


class Letters(NamedTuple):
    """How the letters of an equation look."""

    hues: dict[str, str]  # letter -> its colour, of all letters and axes of '...'
    lit: str  # the letter that is emphasised, "" for none
    theme: Theme

    def hue(self, letter: str) -> str:
        """Return its colour; where a letter is lit, the others stand back."""
        if self.lit and letter != self.lit:
            return self.theme.quiet
        hue = self.hues.get(letter, self.theme.ink)
        return self.theme.ink if self.lit and hue == self.theme.letters["m"] else hue  # grey stands back itself


def of(problem: Problem, lit: str) -> Letters:
    """Return the letters of a problem: the design's hue for an axis of the design, the others in turn for the rest."""
    theme = current_theme()
    hues = {a: theme.letters[problem.meaning[a]] for a in problem.sizes if a in problem.meaning}
    cycle = [theme.letters[a] for a in "sudhkbm"]
    spare = [hue for hue in cycle if hue not in hues.values()] or cycle
    others = [a for a in problem.sizes if a not in hues and not a.startswith(ELLIPSIS)]
    hues |= {letter: spare[i % len(spare)] for i, letter in enumerate(others)}
    return Letters(hues, lit if lit in problem.sizes else "", theme)


def called(letter: str) -> str:
    """Return what a letter is called in code and words: an axis of '...' has a name.

    >>> called("...0"), called("k")
    ('axis_0', 'k')
    """
    return letter.replace(ELLIPSIS, "axis_")


def choose(problem: Problem, letters: Letters) -> None:
    """Offer the letters, one of which may be lit."""
    if st.session_state.get("letter") != (letters.lit or None):
        st.session_state["letter"] = letters.lit or None
    st.pills(
        _("Light a letter"),
        list(problem.sizes),
        format_func=lambda letter: (
            rf"$\textcolor{{{letters.hues.get(letter, letters.theme.ink)}}}"
            rf"{{{_tex(letter)}}}$ = {problem.sizes[letter]}"
        ),
        key="letter",
        on_change=_take,
    )


def _take() -> None:
    state.set_lab(lit=widgets.sent("letter") or "")


def formula(problem: Problem, letters: Letters) -> str:
    """Return the equation as a sum, for KaTeX."""
    operands, _arrow, output = problem.equation.text.partition("->")
    factors = [
        _named(name, subscripts, letters) for name, subscripts in zip(problem.names, operands.split(","), strict=True)
    ]
    summed = list(dict.fromkeys(_written(letter) for letter in problem.equation.summed))
    total = rf"\sum_{{{_subscripts(''.join(summed), letters)}}} " if summed else ""
    return f"{_named(problem.output, output, letters)} = {total}" + r"\,\allowbreak ".join(factors)


def _named(name: str, subscripts: str, letters: Letters) -> str:
    base = name.rstrip("_")
    tex = re.sub("^W_(.)$", r"W^{\1}", base)
    if len(base) > 1 and tex == base:
        tex = rf"\mathrm{{{base}}}"
    return tex + (f"_{{{_subscripts(subscripts, letters)}}}" if subscripts else "")


def _subscripts(text: str, letters: Letters) -> str:
    made = []
    for letter in re.findall(r"\.{3}|[A-Za-z]", text):
        lit = bool(letters.lit) and _written(letters.lit) == letter
        tex = rf"\underline{{\mathbf{{{_tex(letter)}}}}}" if lit else _tex(letter)
        made.append(rf"\textcolor{{{letters.hue(letters.lit if lit else letter)}}}{{{tex}}}")
    return "".join(made)


def _written(letter: str) -> str:
    """How the equation writes a letter: all axes of '...' alike."""
    return ELLIPSIS if letter.startswith(ELLIPSIS) else letter


def _tex(letter: str) -> str:
    if letter == ELLIPSIS:
        return r"\ldots"
    return rf"\mathrm{{axis}}_{{{letter[3:]}}}" if letter.startswith(ELLIPSIS) else letter


def shape(axes: tuple[str, ...], problem: Problem, letters: Letters) -> str:
    """Return a shape as Plotly's markup, such as (b=1, s=6, k=4)."""
    parts = [f"{mark(called(a), a, letters)}={problem.sizes[a]}" for a in axes]
    return f"<span style='color:{letters.theme.quiet};font-size:11px'>({', '.join(parts)})</span>"


def mark(words: str, letter: str, letters: Letters) -> str:
    """Return words in the hue of a letter, emphasised where it is lit, as Plotly's markup and HTML."""
    text = html(words)
    if letter == letters.lit:
        text = f"<b><u>{text}</u></b>"
    return f"<span style='color:{letters.hue(letter)}'>{text}</span>"


def show_loop(problem: Problem, letters: Letters) -> None:
    """Draw the loop that runs, every letter in its hue, and the line of the lit one marked."""
    names = {called(letter): letter for letter in problem.sizes}
    lines = []
    for line in source(problem).splitlines():
        head = re.match(r"\s*for (\w+) in", line)
        lit = bool(letters.lit) and head is not None and names.get(head[1]) == letters.lit
        text = "".join(
            mark(part, names[part], letters) if part in names else html(part)
            for part in re.split(r"(\b\w+\b)", line)
            if part
        )
        ground = f";background:{letters.hue(letters.lit)}33;border-radius:4px" if lit else ""
        lines.append(f"<span style='display:inline-block;min-width:100%{ground}'>{text}</span>")
    st.html(f"<pre style='{CODE};color:{letters.theme.ink}'>" + "\n".join(lines) + "</pre>")
