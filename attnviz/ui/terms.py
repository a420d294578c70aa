"""A cell written out: its formula, each factor and product in a table, their sum, and the program that repeats it."""

from __future__ import annotations

import streamlit as st
import torch
from torch import Tensor

from attnviz.core.arithmetic import EQUATIONS, Arithmetic
from attnviz.core.positions import turning_pair
from attnviz.experiment import Run, View
from attnviz.export.python import agreed_digits, cell_program
from attnviz.figures.formulas import formula
from attnviz.figures.matrices import shape
from attnviz.figures.text import SUBSCRIPTS, decimals, number, visible
from attnviz.figures.titles import plain_symbol
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS, TERMS_LISTED, TERMS_MOST, TERMS_SHOWN
from attnviz.locale import _
from attnviz.ui import sentences, small_table
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed

SUMMED = {"query": "m", "key": "m", "value": "m", "scores": "k", "weights": "u", "output": "u"}
_OPERANDS = {
    "query": ("X", "W_Q"),
    "key": ("X", "W_K"),
    "value": ("X", "W_V"),
    "scores": ("Q", "K"),
    "output": ("a", "V"),
}
Table = dict[str, list[str]]  # header -> cells; the first column names the rows


def symbol(step: str) -> str:
    """Return what a step is called on a control."""
    return {"scaled": _("scaled"), "masked": _("masked")}.get(step) or plain_symbol(step)


def show_table(computed: Computed, view: View, explained: Arithmetic) -> None:
    """Draw the table of the sum."""
    explained = projected(explained)
    table = terms(computed.run, view, explained, agreed_digits(explained))
    if len(table) <= TERMS_SHOWN + 2:
        small_table.show(table)
    else:
        st.dataframe(table, hide_index=True, width="stretch")


def offer_program(computed: Computed, view: View, explained: Arithmetic) -> None:
    """Offer the cell as a program."""
    popover = st.popover(_("Copy as Python"), width="content", key="program", on_change="rerun")
    with popover, st.container(height=300, border=False):  # of a height at once, so that it opens where it has room
        if popover.open:
            st.caption(_("Runs alone, with torch, and prints this cell."))
            text = cell_program(projected(explained), sentences.place(computed.run, view))
            if len(explained.products) <= TERMS_MOST:
                st.code(text, language="python", wrap_lines=True)
            else:
                st.caption(_("Its sum has {n} terms, too many to read here.").format(n=f"{len(explained.products):,}"))
                st.download_button(_("Download the program"), text, "cell.py", "text/x-python", key="program_file")


def projected(explained: Arithmetic) -> Arithmetic:
    """Return the arithmetic as it is written out: of a number that was typed, that of the projection it replaces."""
    typed = explained.step in ("query", "key", "value") and abs(explained.cell - explained.total) > explained.tolerance
    return explained._replace(cell=explained.total) if typed else explained


def formula_text(computed: Computed, view: View) -> str:
    """Return the formula in index letters, in Markdown: the same for every cell of a step, so that it stands still."""
    return f"${formula(view.step, computed.experiment, view.letters, current_theme())}$"


def equals(view: View, explained: Arithmetic) -> str:
    """Say which cell this is and what it is, in Markdown: **a**₁,₅,₂ = 0.4474."""
    explained = projected(explained)
    at = {"b": view.b, "s": view.s, "u": view.u}
    letters = EQUATIONS[view.step].split("->")[1]
    indices = ",".join(str(at.get(letter, view.feature) + 1).translate(SUBSCRIPTS) for letter in letters)
    return f"**{symbol(view.step)}**{indices} = {number(explained.cell, agreed_digits(explained))}"


def terms(run: Run, view: View, explained: Arithmetic, digits: int) -> Table:
    """Return the table of a cell: one column for each term of the sum, and the sum last."""
    if view.step in ("scaled", "masked"):
        return _one_term(run, view.step, explained, digits)
    if is_rotated(explained):
        return _rotated_terms(run, view, explained, digits)
    summed, tokens, listed = SUMMED[view.step], run.tokens[view.b], _listed(explained)
    places = [
        f"{i + 1} {visible(tokens[i][:NAME_CHARS])}" if summed == "u" else f"{relabel(summed, view.letters)}={i + 1}"
        for i in listed
    ]
    n_rest = len(explained.products) - len(listed)
    if n_rest:
        places.append(_("the other {n}").format(n=f"{n_rest:,}"))
    make = _weight_rows if view.step == "weights" else _product_rows
    rows = make(explained, digits, view, listed)
    names, numbers = list(rows), list(zip(*rows.values(), strict=True))
    head = relabel(summed, view.letters)
    return {head: names} | {place: list(column) for place, column in zip([*places, _("sum")], numbers, strict=True)}


def _listed(explained: Arithmetic) -> list[int]:
    """Which terms a table lists: all, or of very many the largest, with the cell's own."""
    n = len(explained.products)
    if n <= TERMS_MOST:
        return list(range(n))
    own = {explained.index[-1]} if explained.step == "weights" else set()
    return sorted(own | set(explained.products.abs().topk(TERMS_LISTED).indices.tolist()))


def _rest(numbers: Tensor, listed: list[int]) -> list[float]:
    """What the terms that are not listed add up to; nothing where all are."""
    if len(listed) == len(numbers):
        return []
    others = torch.ones(len(numbers), dtype=torch.bool)
    others[listed] = False
    return [float(numbers[others].sum())]


def is_rotated(explained: Arithmetic) -> bool:
    """Say whether a cell is that of a query or key after its rotation."""
    return "rotation" in explained.factors


def _rotated_terms(run: Run, view: View, explained: Arithmetic, digits: int) -> Table:
    """The two features that turned together, the cell's own first, and what each of them gives."""
    assert run.rotary is not None
    before, rotation = explained.factors.values()
    first, second, _pair = turning_pair(view.feature, shape(run, "query", view.b, view.h)[1], run.rotary.layout)
    k, is_first = relabel("k", view.letters), view.feature == first
    names = [_("before rotation"), "cos, −sin" if is_first else "cos, sin", _("product")]
    own, other = (
        [number(float(numbers[i]), 4) for numbers in (before, rotation, explained.products)] for i in range(2)
    )
    places = (first, second) if is_first else (second, first)
    heads = [f"{k}={place + 1}" for place in places]
    return {k: names, heads[0]: own, heads[1]: other, _("sum"): ["", "", number(explained.cell, digits)]}


def _one_term(run: Run, step: str, explained: Arithmetic, digits: int) -> Table:
    left, right = (float(factor[0]) for factor in explained.factors.values())
    added = _("mask") if not run.has_cost else "ALiBi + " + _("mask") if run.has_mask else "ALiBi"
    sign, names = {"scaled": ("×", ("S", _("scale"))), "masked": ("+", (_("scaled"), added))}[step]
    return {
        names[0]: [number(left, 4)],
        f"{sign} {names[1]}": [number(right, 4)],
        f"= {symbol(step)}": [number(explained.cell, digits)],
    }


def _product_rows(explained: Arithmetic, digits: int, view: View, listed: list[int]) -> Table:
    operands = EQUATIONS[explained.step].split("->")[0].split(",")
    rest = _rest(explained.products, listed)
    blank = [""] * (len(rest) + 1)  # of the factors there is no sum
    rows = {
        f"{name}_{relabel(letters, view.letters)}": [*(number(v, 4) for v in factor[listed].tolist()), *blank]
        for name, letters, factor in zip(_OPERANDS[explained.step], operands, explained.factors.values(), strict=True)
    }
    products = [number(v, 4) for v in [*explained.products[listed].tolist(), *rest]]
    return rows | {_("product"): [*products, number(explained.cell, digits)]}


def _weight_rows(explained: Arithmetic, digits: int, _view: View, listed: list[int]) -> Table:
    """The exponentials of the whole row, less its largest score so that none overflows, and the share of each."""
    masked, exponential = explained.factors.values()
    whole, rest = float(exponential.sum()), _rest(exponential, listed)
    exponentials = [*exponential[listed].tolist(), *rest]
    shares = [e / whole if whole else 0.0 for e in exponentials]
    printed = [number(share, decimals(share)) for share in shares]
    printed[listed.index(explained.index[-1])] = number(explained.cell, digits)
    return {
        _("masked"): [*(number(v, 4) for v in masked[listed].tolist()), *([""] * (len(rest) + 1))],
        _("exp(masked − largest)"): [*(number(v, decimals(v)) for v in exponentials), number(whole, 4)],
        _("share"): [*printed, number(sum(shares), 4)],
    }
