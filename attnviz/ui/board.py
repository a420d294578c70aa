"""The board on a page: one chart for each block, with the formula and the einsum of its steps above it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from attnviz.experiment import View
from attnviz.figures.board import block_layout, hover_panels, specify
from attnviz.figures.colours import Theme, theme
from attnviz.figures.formulas import code, formula
from attnviz.figures.titles import plain_symbol, sentence
from attnviz.limits import TOKENS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import state, zoom
from attnviz.ui.chart import Specified
from attnviz.ui.compute import Computed

STEPS = {
    "projections": ("query", "key", "value"),
    "scores": ("scores", "scaled", "masked", "weights"),
    "output": ("output",),
}
# A double click would reset to ranges that are zoomed themselves; the page has a button for it.
CONFIG = {
    "modeBarButtons": [["zoom2d", "pan2d"]],
    "displaylogo": False,
    "scrollZoom": False,
    "doubleClick": False,
    "showTips": False,
}
Charts = list[dict[str, Any]]


def current_theme() -> Theme:
    """Return the colours of the theme that the browser shows."""
    return theme(st.context.theme.type)


def show(computed: Computed, *blocks: str, sliders: bool = True) -> Charts:
    """Draw blocks of the board, side by side where there is room, and return what the bridge needs of them.

    sliders: whether what windows() offers of a long text stands above them, and not elsewhere on the page.
    """
    if sliders:
        windows(computed)
    with st.container(horizontal=True, gap="medium"):
        return [_block(computed, block, current_theme()) for block in blocks]


def _block(computed: Computed, block: str, colours: Theme) -> dict[str, Any]:
    experiment, run, view = computed.experiment, computed.run, computed.view
    layout = block_layout(experiment, run, view, block, computed.base)
    key = f"block-{block}"
    shown = zoom.of(key, layout)
    figure = Specified(
        specify([layout], run, experiment, view, colours, difference=computed.base is not None, zoom=shown)
    )
    width = round(layout.width)
    with st.container(width=width, gap="xsmall"):
        _heading(computed, block, view, colours)
        with st.container(key=key, width=width):
            st.plotly_chart(
                figure,
                width=width,
                theme=None,
                key=f"chart-{block}",
                config=CONFIG,
                alt=" ".join(sentence(panel, run.tokens[view.b]) for panel in (slot.panel for slot in layout.slots)),
            )
    symbols = {"masked": _("masked"), "row_sums": _("sum of the row")}
    hover = hover_panels(layout)
    for panel in hover:
        delta = "Δ " if computed.base is not None else ""
        panel["symbol"] = delta + (symbols.get(panel["name"]) or plain_symbol(panel["name"]))
    return {"key": key, "panels": hover}


def heading(block: str) -> str:
    """Return what stands above a block."""
    return {
        "projections": _("1 · Project X to Q, K and V"),
        "scores": _("2 · Compare queries with keys"),
        "output": _("3 · Mix the values"),
    }[block]


def _heading(computed: Computed, block: str, view: View, colours: Theme) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"head-{block}"):
        st.header(heading(block), anchor=False, width="content")
        zoom.offer_whole(f"block-{block}")
        first, *_more = code(STEPS[block][0], computed.experiment, view.letters).splitlines()
        formulas = st.popover(f"`{first}`", type="tertiary", key=f"formulas:{block}", on_change="rerun")
        if formulas.open:  # a closed one costs nothing
            with formulas:
                _formulas(computed, block, view, colours)


def _formulas(computed: Computed, block: str, view: View, colours: Theme) -> None:
    for step in STEPS[block]:
        if step != "masked" or computed.run.is_masked:
            st.markdown(f"${formula(step, computed.experiment, view.letters, colours)}$")
            st.code(code(step, computed.experiment, view.letters), language="python")


def said(computed: Computed) -> str:
    """Say how much the maps show of a text that is longer than that; "" for one that is not."""
    n = len(computed.run.tokens[computed.view.b])
    words = _(
        "{n} tokens: the maps show {shown} queries and {shown} keys at a time; every number is of the whole text."
    )
    return words.format(n=n, shown=TOKENS_SHOWN) if n > TOKENS_SHOWN else ""


def windows(computed: Computed) -> None:
    """Offer which tokens of a long text are drawn."""
    if not (words := said(computed)):
        return
    n = len(computed.run.tokens[computed.view.b])
    st.caption(words)
    with st.container(horizontal=True):
        for field, words in (("from_s", _("First query shown")), ("from_u", _("First key shown"))):
            key = f"first:{field}"
            st.session_state[key] = getattr(computed.view, field) + 1  # on screen, tokens count from 1
            last = n - TOKENS_SHOWN + 1
            if n <= TOKENS:
                st.slider(words, 1, last, key=key, on_change=state.look_at, args=(field, key))
            else:  # a slider has no place for each of so many
                st.number_input(words, 1, last, None, TOKENS_SHOWN, key=key, on_change=state.look_at, args=(field, key))
