"""The cell: its arithmetic, its sentence and its program, for the cell that was clicked or chosen by keyboard.

A fragment: a click runs this alone, and the board stands still.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from attnviz import locale
from attnviz.core.arithmetic import EQUATIONS, Arithmetic, explain
from attnviz.experiment import Run, View, to_query
from attnviz.export.python import agreed_digits, cell_program
from attnviz.figures.formulas import formula
from attnviz.figures.panels import AXES, STEP_OF, edited_cells, within
from attnviz.figures.text import markdown, number, visible
from attnviz.figures.titles import plain_symbol
from attnviz.letters import relabel
from attnviz.limits import ROWS_SHOWN
from attnviz.locale import _
from attnviz.ui import bridge, sentences, state
from attnviz.ui.board import Charts, current_theme
from attnviz.ui.compute import Computed


@st.fragment
def show(computed: Computed, charts: Charts, steps: tuple[str, ...]) -> None:
    """Draw the chosen cell's arithmetic, and tie the charts to it."""
    locale.use(state.language())  # a fragment runs in a thread of its own
    view = within(state.view(), computed.run)
    if view.step not in steps:
        view = within(View(**{**view.__dict__, "step": steps[-1]}), computed.run)
    st.markdown("**" + _("One cell, written out") + "**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _choose(computed, view, steps)
    explained = _explained(computed, view)
    _words(computed, view, explained)
    _table(computed, view, explained)
    with st.expander(_("This cell as a Python program")):
        st.code(cell_program(explained, sentences.place(computed.run, view)), language="python", wrap_lines=True)
    _connect(computed, charts, view)


def _choose(computed: Computed, view: View, steps: tuple[str, ...]) -> None:
    state.seed("step", view.step)
    st.segmented_control(
        _("Matrix"), steps, required=True, format_func=_symbol, **state.of_view("step", worded=True)
    )
    tokens = computed.run.tokens[view.b]
    for field, letter, size in zip(fields(view.step), AXES[_panel(view.step)], _shape(computed, view), strict=True):
        at = getattr(view, field)
        words = f"{_role(letter)} {relabel(letter, view.letters)}"
        if letter in ("s", "u"):
            words += f" = {markdown(tokens[at])}"
        st.session_state[f"at:{field}"] = at + 1
        st.number_input(
            words, 1, size, key=f"at:{field}", on_change=_move, args=(field,), width=190
        )


def fields(step: str) -> tuple[str, str]:
    """Return the fields of View that are the row and the column of a step's cell."""
    row, column = AXES[_panel(step)]
    return row, column if column in ("s", "u") else "feature"


def _panel(step: str) -> str:
    return "masked" if step == "scaled" else step


def _shape(computed: Computed, view: View) -> tuple[int, int]:
    rows, columns = getattr(computed.run.trace, view.step).shape[-2:]
    return rows, columns


def _role(letter: str) -> str:
    return {"s": _("query token"), "u": _("key token"), "m": _("feature")}.get(letter, _("feature"))


def _symbol(step: str) -> str:
    return {"scaled": _("scaled"), "masked": _("masked")}.get(step) or plain_symbol(step)


def _move(field: str) -> None:
    value = st.session_state[f"at:{field}"]
    if value is not None:
        state.look(**{field: value - 1})


def _explained(computed: Computed, view: View) -> Arithmetic:
    run, trace = computed.run, computed.run.trace
    assert trace is not None
    kv = view.h // (trace.query.shape[-3] // trace.key.shape[-3])
    head = kv if view.step in ("key", "value") else view.h
    row, column = fields(view.step)
    index = (view.b, head, getattr(view, row), getattr(view, column))
    weight = {"query": run.w_q, "key": run.w_k, "value": run.w_v}.get(view.step)
    return explain(trace, view.step, index, x=run.x, weight=weight, mask=run.mask, scale=run.scale)


def _words(computed: Computed, view: View, explained: Arithmetic) -> None:
    row, column = fields(view.step)
    cell = (getattr(view, row), getattr(view, column))
    st.markdown(sentences.read(computed.run, view, explained))
    if cell in edited_cells(computed.experiment, computed.run, view.step, view.b, view.h):
        st.markdown(
            _("You typed this number. The projection below would give {value}.").format(
                value=number(explained.total, 4)
            )
        )


def _table(computed: Computed, view: View, explained: Arithmetic) -> None:
    colours = current_theme()
    typed = abs(explained.cell - explained.total) > explained.tolerance
    shown = explained._replace(cell=explained.total) if typed else explained
    digits = agreed_digits(shown)
    indices = ",".join(str(i + 1) for i in (view.b, *(getattr(view, f) for f in fields(view.step))))
    name = {"scaled": r"\mathrm{scaled}", "masked": r"\mathrm{masked}"}.get(view.step, plain_symbol(view.step))
    value = number(shown.cell, digits).replace("∞", r"\infty").replace("−", "-")
    st.markdown(
        f"${formula(view.step, computed.experiment, view.letters, colours)}$"
        f" &nbsp; $\\Rightarrow$ &nbsp; ${name}_{{{indices}}} = {value}$"
    )
    table = rows(computed.run, view, shown, digits)
    if len(shown.products) <= ROWS_SHOWN:
        st.table({name: [markdown(v) for v in column] for name, column in table.items()}, border="horizontal", width="content", hide_index=True)
    else:
        st.dataframe(table, hide_index=True, height=420, width="content")


def rows(run: Run, view: View, explained: Arithmetic, digits: int) -> dict[str, list[str]]:
    """Return the table of a cell: what is multiplied, the products, and their sum in the last row."""
    step, tokens = view.step, run.tokens[view.b]
    if step in ("scaled", "masked"):
        left, right = explained.factors.values()
        sign = "×" if step == "scaled" else "+"
        names = {"scaled": ("S", _("scale")), "masked": (_("scaled"), _("mask"))}[step]
        return {
            names[0]: [number(float(left[0]), 4)],
            f"{sign} {names[1]}": [number(float(right[0]), 4)],
            f"= {_symbol(step)}": [number(explained.cell, digits)],
        }
    summed = {"query": "m", "key": "m", "value": "m", "scores": "k", "weights": "u", "output": "u"}[step]
    letter = relabel(summed, view.letters)
    places = [
        f"{i + 1}" + (f"  {visible(tokens[i])}" if summed == "u" else "") for i in range(len(explained.products))
    ]
    if step == "weights":
        whole = float(explained.products.sum())
        shares = [p / whole if whole else 0.0 for p in explained.products.tolist()]
        masked, exponential = explained.factors.values()
        return {
            letter: [*places, _("sum")],
            _("masked"): [*(number(v, 4) for v in masked.tolist()), ""],
            _("exp(masked − largest)"): [*(number(v, 4) for v in exponential.tolist()), number(whole, 4)],
            _("share of the sum"): [*(number(v, 4) for v in shares), number(sum(shares), 4)],
        }
    left, right = explained.factors.values()
    operands = EQUATIONS[step].split("->")[0].split(",")
    symbols = {"query": ("X", "W_Q"), "key": ("X", "W_K"), "value": ("X", "W_V"), "scores": ("Q", "K"), "output": ("a", "V")}
    names = tuple(f"{s} {relabel(o, view.letters)}" for s, o in zip(symbols[step], operands, strict=True))
    return {
        letter: [*places, _("sum")],
        names[0]: [*(number(v, 4) for v in left.tolist()), ""],
        names[1]: [*(number(v, 4) for v in right.tolist()), ""],
        _("product"): [*(number(v, 4) for v in explained.products.tolist()), number(explained.cell, digits)],
    }


def _connect(computed: Computed, charts: Charts, view: View) -> None:
    colours = current_theme()
    row, column = fields(view.step)
    spec: dict[str, Any] = {
        "tokens": [visible(token) for token in computed.run.tokens[view.b]],
        "letters": {letter: relabel(letter, view.letters) for letter in "smkdu"},
        "hues": colours.letters,
        "ink": colours.ink,
        "ground": "#2b2f3a" if colours.name == "dark" else "#ffffff",
        "selected": {"name": _panel(view.step), "row": getattr(view, row), "col": getattr(view, column)},
    }
    bridge.connect(charts, spec, to_query(state.experiment(), state.view()), _clicked)


def _clicked() -> None:
    cell = bridge.clicked()
    if not cell or cell["name"] not in STEP_OF:
        return
    name, row, column = cell["name"], int(cell["row"]), int(cell["col"])
    step = STEP_OF[name]
    if name == "key_t":
        row, column = column, row
    if name == "row_sums":
        state.look(step=step, s=row)
        return
    first, second = fields(step)
    state.look(step=step, **{first: row, second: column})
