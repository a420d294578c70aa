"""Edit any number: a matrix in a data editor, with undo, reset and the difference to the unedited run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import streamlit as st

from attnviz import locale
from attnviz.experiment import Experiment
from attnviz.figures.panels import AXES, EDITED_BY
from attnviz.figures.text import cut, markdown
from attnviz.figures.titles import plain_symbol
from attnviz.locale import _, n_
from attnviz.ui import state, tables, widgets
from attnviz.ui.compute import Computed

NAMES = ("x", "w_q", "w_k", "w_v", "query", "key", "value")


def show(computed: Computed, names: tuple[str, ...] = NAMES) -> None:
    """Offer the matrices that can be edited."""
    expander = st.expander(_("Edit the numbers"), key="editor", on_change="rerun")
    if not expander.open:
        return
    with expander:
        if computed.run.long is not None:
            st.caption(_("Of a long text the tokens are those that the maps show."))
        name = st.segmented_control(
            _("Matrix"), names, default=names[0], required=True, format_func=plain_symbol, key="edited_matrix"
        )
        _grid(computed, name or names[0])
        if computed.run.rotary is not None and name in ("query", "key"):
            st.caption(_("These are the numbers before RoPE rotates them."))
        if refused := st.session_state.pop("_refused", None):
            st.warning(refused)
        _unused(computed)
        # Below the grid: Streamlit lays a toolbar over whatever stands right above it.
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(_("Undo"), on_click=_undo, disabled=not state.can_undo(), key="undo")
            st.button(_("Reset all"), on_click=_reset, disabled=not state.experiment().edits, key="reset")
            st.toggle(
                _("Show the difference"),
                disabled=not computed.experiment.edits,
                help=_("Each map shows what the edits changed: the numbers now minus those of the unedited run."),
                **state.of_view("difference"),
            )


def _grid(computed: Computed, name: str) -> None:
    """Draw the editor. It is fed the same table until something else changes it: fed its own edits, it loses some."""
    view = computed.view
    frame = tables.table(computed, name, before_rotation=True)
    first = 0
    if AXES[name][0] != "m":
        first = {"s": view.from_s, "u": view.from_u}[AXES[name][0]] if computed.run.long is not None else 0
        frame = frame.iloc[: max(0, computed.run.lengths[view.b] - first)]  # rows of padding stay 0
    signature = (
        st.session_state["_page"],  # a page that is newly opened has an editor of its own
        name,
        view.b,
        view.h,
        frame.shape,
        tuple(frame.index),
        _without(computed.experiment, EDITED_BY[name]),
    )
    held = st.session_state.get("_grid")
    if held is None or held[0] != signature:
        version = held[2] + 1 if held else 0
        # As texts: a number column drops what it cannot read, and makes 52 of 5e2, without a word.
        held = (signature, frame.map("{:.4f}".format), version)
        st.session_state["_grid"] = held
    key = f"grid.{held[2]}"
    st.data_editor(
        held[1],
        key=key,
        on_change=_take,
        args=(key, name, view.b, view.h, first),
        disabled=["_index"],  # the name of a row is no number
        column_config={c: st.column_config.TextColumn(width=76, alignment="right") for c in frame.columns},
        width="content",
        height=min(460, 38 + 36 * len(frame)),
        alt=plain_symbol(name),
    )


def _without(experiment: Experiment, field: str) -> Experiment:
    """The experiment but for the edits of this field, which the editor itself holds."""
    none: dict[str, Any] = {field: None}
    return replace(experiment, **none)


def _take(key: str, name: str, b: int, h: int, first: int) -> None:
    locale.use(state.language())  # a callback runs before the page has chosen the language
    edited = widgets.sent(key)
    rows: dict[int, dict[str, Any]] = edited["edited_rows"] if edited else {}
    frame = st.session_state["_grid"][1]
    columns = list(frame.columns)
    new = state.experiment()
    for row, changed in rows.items():
        for head, value in changed.items():
            if value == frame[head].iloc[int(row)]:
                continue  # left as it was shown, which is not all its digits
            index = cell_index(new, name, b, h, first + int(row), columns.index(head))
            new, refused = put(new, name, index, value)
            if refused:
                st.session_state["_refused"] = refused
                _forget_grid()
    if new != state.experiment():
        state.change(new)


def put(experiment: Experiment, name: str, index: tuple[int, ...], value: Any) -> tuple[Experiment, str]:
    """Return the experiment with one number typed in, or as it was and why the number was refused."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or abs(number) > 3.4e38:
        return experiment, _("“{typed}” is no number that a cell of {name} can hold: the one before it stays.").format(
            typed=markdown(cut(str(value if value is not None else ""), 200)), name=markdown(plain_symbol(name))
        )
    return experiment.with_cell(EDITED_BY[name], index, number), ""


def cell_index(e: Experiment, name: str, b: int, h: int, row: int, column: int) -> tuple[int, ...]:
    """Return the index, in the field that is edited, of a cell of the panel that is shown for sequence b and head h."""
    field = EDITED_BY[name]
    if field == "x":
        return (b, row, column)
    head = h if field in ("q", "w_q") else h // (e.n_heads // (e.n_kv_heads or e.n_heads))
    column += head * (e.d_v if field in ("v", "w_v") else e.d_k)
    return (row, column) if AXES[name][0] == "m" else (b, row, column)


def _unused(computed: Computed) -> None:
    if computed.run.unused:
        st.caption(
            n_(
                "{n} edited number lies outside the present matrices; it waits until the sizes come back.",
                "{n} edited numbers lie outside the present matrices; they wait until the sizes come back.",
                len(computed.run.unused),
            ).format(n=len(computed.run.unused))
        )


def _undo() -> None:
    state.undo()
    _forget_grid()


def _reset() -> None:
    state.change(state.experiment().unedited())
    _forget_grid()


def _forget_grid() -> None:
    held = st.session_state.get("_grid")
    if held:
        st.session_state["_grid"] = (None, held[1], held[2])
