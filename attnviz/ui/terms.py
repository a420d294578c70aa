"""A cell written out: its formula, each factor and product in a table, their sum, and the program that repeats it."""

from __future__ import annotations

import streamlit as st

from attnviz.core.arithmetic import EQUATIONS, Arithmetic
from attnviz.core.positions import turning_pair
from attnviz.experiment import Run, View
from attnviz.export.python import agreed_digits, cell_program
from attnviz.figures.formulas import formula
from attnviz.figures.text import SUBSCRIPTS, markdown, number, visible
from attnviz.figures.titles import plain_symbol
from attnviz.letters import relabel
from attnviz.limits import TERMS_SHOWN
from attnviz.locale import _
from attnviz.ui import sentences
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
        st.table(
            {markdown(head): [markdown(v) for v in cells] for head, cells in table.items()},
            border="horizontal",
            width="content",
            hide_index=True,
        )
    else:
        st.dataframe(table, hide_index=True, width="stretch")


def offer_program(computed: Computed, view: View, explained: Arithmetic) -> None:
    """Offer the cell as a program."""
    popover = st.popover(_("Copy as Python"), width="content", key="program", on_change="rerun")
    with popover, st.container(height=300, border=False):  # of a height at once, so that it opens where it has room
        if popover.open:
            st.caption(_("Runs alone, with torch, and prints this cell."))
            text = cell_program(projected(explained), sentences.place(computed.run, view))
            st.code(text, language="python", wrap_lines=True)


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
    summed, tokens = SUMMED[view.step], run.tokens[view.b]
    places = [
        f"{i + 1} {visible(tokens[i])}" if summed == "u" else f"{relabel(summed, view.letters)}={i + 1}"
        for i in range(len(explained.products))
    ]
    rows = _weight_rows(explained, digits) if view.step == "weights" else _product_rows(explained, digits, view)
    names, numbers = list(rows), list(zip(*rows.values(), strict=True))
    head = relabel(summed, view.letters)
    return {head: names} | {place: list(column) for place, column in zip([*places, _("sum")], numbers, strict=True)}


def is_rotated(explained: Arithmetic) -> bool:
    """Say whether a cell is that of a query or key after its rotation."""
    return "rotation" in explained.factors


def _rotated_terms(run: Run, view: View, explained: Arithmetic, digits: int) -> Table:
    """The two features that turned together, the cell's own first, and what each of them gives."""
    assert run.rotary is not None and run.trace is not None
    before, rotation = explained.factors.values()
    first, second, _pair = turning_pair(view.feature, run.trace.query.shape[-1], run.rotary.layout)
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
    added = _("mask") if run.bias is None else "ALiBi" if run.seen is None else "ALiBi + " + _("mask")
    sign, names = {"scaled": ("×", ("S", _("scale"))), "masked": ("+", (_("scaled"), added))}[step]
    return {
        names[0]: [number(left, 4)],
        f"{sign} {names[1]}": [number(right, 4)],
        f"= {symbol(step)}": [number(explained.cell, digits)],
    }


def _product_rows(explained: Arithmetic, digits: int, view: View) -> Table:
    operands = EQUATIONS[explained.step].split("->")[0].split(",")
    rows = {
        f"{name}_{relabel(letters, view.letters)}": [*(number(v, 4) for v in factor.tolist()), ""]
        for name, letters, factor in zip(_OPERANDS[explained.step], operands, explained.factors.values(), strict=True)
    }
    products = [number(v, 4) for v in explained.products.tolist()]
    return rows | {_("product"): [*products, number(explained.cell, digits)]}


def _weight_rows(explained: Arithmetic, digits: int) -> Table:
    """The exponentials of the whole row, less its largest score so that none overflows, and the share of each."""
    masked, exponential = explained.factors.values()
    whole = float(exponential.sum())
    shares = [e / whole if whole else 0.0 for e in exponential.tolist()]
    printed = [number(share, 4) for share in shares]
    printed[explained.index[-1]] = number(explained.cell, digits)
    return {
        _("masked"): [*(number(v, 4) for v in masked.tolist()), ""],
        _("exp(masked − largest)"): [*(number(v, 4) for v in exponential.tolist()), number(whole, 4)],
        _("share"): [*printed, number(sum(shares), 4)],
    }
