"""The cell that was clicked or chosen by keyboard: its sentence, its arithmetic and its program.

A fragment: a click runs this alone, and the board stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from attnviz.core.arithmetic import Arithmetic, explain
from attnviz.experiment import View, to_query
from attnviz.figures.matrices import shape
from attnviz.figures.panels import AXES, STEP_OF, edited_cells, within
from attnviz.figures.text import markdown, number, visible
from attnviz.figures.titles import role
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import bridge, sentences, state, terms, widgets, zoom
from attnviz.ui.board import Charts, current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.fragments import fragment


def show(
    computed: Computed,
    charts: Charts,
    steps: tuple[str, ...],
    on_other: Callable[[dict[str, Any]], None] | None = None,
    note: str = "",
) -> None:
    """Dock the chosen cell at the bottom of the window, where a click anywhere on the board is answered in sight.

    on_other gets a click on what is not of the board: the name of the map, its row and column, from 0. The page
    runs again after it. note: what the cell's numbers are, in Markdown, before its sentence.
    """
    with st.bottom:
        _dock(computed, charts, steps, on_other, note)


@fragment()
def _dock(
    computed: Computed,
    charts: Charts,
    steps: tuple[str, ...],
    on_other: Callable[[dict[str, Any]], None] | None = None,
    note: str = "",
) -> None:
    view = within(state.view(), computed.run)
    if view.step not in steps:
        view = within(replace(view, step=steps[-1]), computed.run)
    explained = explain_cell(computed, view)
    words = (f"{note} " if note else "") + _words(computed, view, explained)
    written_out = st.session_state.setdefault("_written_out", False)
    if written_out:
        words += " &emsp; " + terms.equals(view, explained)
    st.session_state["written_out"] = written_out
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(words, width="stretch")
        st.toggle(_("Write it out"), key="written_out", on_change=_write_out)
        if written_out:
            terms.offer_program(computed, view, explained)
        choose = st.popover(_("Choose a cell"), width="content", key="choose", on_change="rerun")
        with choose, st.container(height=270, border=False):  # of a height at once, so that it opens where it has room
            if choose.open:  # a closed one costs nothing
                _choose(computed, view, steps)
    if written_out:
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.markdown(terms.formula_text(computed, view), width="content")
            terms.show_table(computed, view, explained)
    _connect(computed, charts, view, on_other)
    zoom.apply()


def _write_out() -> None:
    st.session_state["_written_out"] = bool(widgets.sent("written_out"))


def _choose(computed: Computed, view: View, steps: tuple[str, ...]) -> None:
    state.seed("step", view.step)
    st.segmented_control(
        _("Matrix"), steps, required=True, format_func=terms.symbol, **state.of_view("step", worded=True)
    )
    tokens = computed.run.tokens[view.b]
    for field, letter, size in zip(fields(view.step), AXES[_panel(view.step)], _shape(computed, view), strict=True):
        at = getattr(view, field)
        words = f"{role(letter)} {relabel(letter, view.letters)}"
        if letter in ("s", "u"):
            words += f" = {markdown(tokens[at][:NAME_CHARS])}"
        st.session_state[f"at:{field}"] = at + 1
        st.number_input(
            words, 1, size, None, key=f"at:{field}", on_change=_move, args=(field, computed.run.long is not None)
        )


def fields(step: str) -> tuple[str, str]:
    """Return the fields of View that are the row and the column of a step's cell."""
    row, column = AXES[_panel(step)]
    return row, column if column in ("s", "u") else "feature"


def _panel(step: str) -> str:
    return "masked" if step == "scaled" else step


def _shape(computed: Computed, view: View) -> tuple[int, int]:
    return shape(computed.run, view.step, view.b, view.h)


def _move(field: str, long: bool) -> None:
    value = widgets.sent(f"at:{field}")
    if value is None:
        return
    state.look(**{field: value - 1})
    _take_along()
    if long and field in ("s", "u"):  # the window goes along
        state.look(**{f"from_{field}": max(0, value - 1 - TOKENS_SHOWN // 2)})
        st.session_state["_chose_other"] = True


def _take_along() -> None:
    """Let the page run where it offers files, which carry the link to the chosen cell."""
    if st.session_state.get("home"):
        st.session_state["_chose_other"] = True


def explain_cell(computed: Computed, view: View) -> Arithmetic:
    """Return the arithmetic of the cell in view."""
    run, trace = computed.run, computed.run.trace
    row, column = fields(view.step)
    if run.long is not None:
        return run.long.explain(view.step, getattr(view, row), getattr(view, column))
    assert trace is not None
    kv = view.h // (trace.query.shape[-3] // trace.key.shape[-3])
    head = kv if view.step in ("key", "value") else view.h
    index = (view.b, head, getattr(view, row), getattr(view, column))
    weight = {"query": run.w_q, "key": run.w_k, "value": run.w_v}.get(view.step)
    projected = {"query": run.projected_query, "key": run.projected_key}.get(view.step)
    return explain(
        trace,
        view.step,
        index,
        x=run.x,
        weight=weight,
        mask=run.mask,
        scale=run.scale,
        projected=projected,
        rotary=run.rotary,
    )


def _words(computed: Computed, view: View, explained: Arithmetic) -> str:
    words = sentences.read(computed.run, view, explained)
    row, column = fields(view.step)
    cell = (getattr(view, row), getattr(view, column))
    if cell not in edited_cells(computed.experiment, computed.run, view.step, view.b, view.h):
        return words
    if terms.is_rotated(explained):
        words += " " + _("You typed {value} here, which was then rotated.").format(
            value=number(float(explained.factors["projected"][0]), 4)
        )
    else:
        words += " " + _("You typed this number; the projection would give {value}.").format(
            value=number(explained.total, 4)
        )
    return words


def _connect(computed: Computed, charts: Charts, view: View, on_other: Callable[[dict[str, Any]], None] | None) -> None:
    colours = current_theme()
    row, column = fields(view.step)
    spec: dict[str, Any] = {
        "tokens": _named(computed),
        "letters": {letter: relabel(letter, view.letters) for letter in "smkdu"},
        "hues": colours.letters,
        "ink": colours.ink,
        "ground": "#2b2f3a" if colours.name == "dark" else "#ffffff",
        "selected": {"name": _panel(view.step), "row": getattr(view, row), "col": getattr(view, column)},
    }
    bridge.connect(
        charts,
        spec,
        to_query(state.experiment(), state.view()),
        on_cell_change=partial(_clicked, on_other),
        on_zoom_change=zoom.take,
    )
    if st.session_state.pop("_chose_other", False):
        st.rerun()


def _named(computed: Computed) -> list[str] | dict[str, str]:
    """The tokens that a hover names: of a long text those that are drawn, by their numbers."""
    tokens, view = computed.run.tokens[computed.view.b], computed.view
    if computed.run.long is None:
        return [visible(token[:NAME_CHARS]) for token in tokens]
    near = {*range(view.from_s, view.from_s + TOKENS_SHOWN), *range(view.from_u, view.from_u + TOKENS_SHOWN)}
    return {str(i): visible(tokens[i][:NAME_CHARS]) for i in sorted(near) if i < len(tokens)}


def _clicked(on_other: Callable[[dict[str, Any]], None] | None) -> None:
    cell = bridge.event("cell")
    if not cell:
        return
    if cell["name"] not in STEP_OF:
        if on_other is not None:
            on_other(cell)
            st.session_state["_chose_other"] = True
        return
    st.session_state["_written_out"] = True
    _take_along()
    name, row, column = cell["name"], int(cell["row"]), int(cell["col"])
    step = STEP_OF[name]
    if name == "key_t":
        row, column = column, row
    if name == "row_sums":
        state.look(step=step, s=row)
        return
    first, second = fields(step)
    state.look(step=step, **{first: row, second: column})
