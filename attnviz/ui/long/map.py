"""The map of a long text on a page: pooled to the screen, and drawn anew, sharper, wherever one zooms in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from attnviz.core.pooling import PooledMap
from attnviz.experiment import Experiment, to_query
from attnviz.figures.pooled import WHOLE, sentence, specify
from attnviz.figures.pooled_cells import Shown, block_of, part
from attnviz.letters import relabel
from attnviz.limits import POOLED_CELLS
from attnviz.locale import _
from attnviz.ui import bridge, state
from attnviz.ui.board import CONFIG, current_theme
from attnviz.ui.chart import Specified
from attnviz.ui.fragments import fragment
from attnviz.ui.long import map_controls, map_kept, map_table, map_waiting, map_window
from attnviz.ui.long.map_source import Source as Source
from attnviz.ui.long.map_source import of_projections as of_projections
from attnviz.ui.long.map_source import of_weights as of_weights
from attnviz.ui.long.map_window import CLICK, Window
from attnviz.ui.long.pooling_jobs import Job

_CHOSE, _DRAG = "_map_chose", "_map_drag"  # keys of the session


class Asked(NamedTuple):
    """What show() was asked for, and the key under which the browser keeps its tokens."""

    source: Source
    chart_key: str
    called: str
    tokens: Sequence[str] | None
    key_tokens: Sequence[str] | None
    held: tuple[str | None, str | None]
    selected: tuple[int, int] | None
    on_cell: Callable[[int, int], None] | None
    below: Callable[[PooledMap], None] | None


def show(
    source: Source,
    *,
    chart_key: str,
    called: str,
    tokens: Sequence[str] | None,
    key_tokens: Sequence[str] | None = None,
    selected: tuple[int, int] | None = None,
    on_cell: Callable[[int, int], None] | None = None,
    below: Callable[[PooledMap], None] | None = None,
) -> None:
    """Draw the pooled map of a head, with its controls, its table and its own tie to the browser.

    source: of_projections(...) or of_weights(...). chart_key begins with "maps-" or "block-" (bridge.css lets those
    scroll inside their box) and names this map alone; called: what the head is called, in plain words.
    tokens, key_tokens: of the queries, and of the keys where they are others; numbers alone stand where they are None.
    selected: the query and key token that is outlined. on_cell: is called with s and u after a click on a cell that
    is one weight; then the page runs again. below: is called in the map's own fragment with the map of the window
    that is shown, the largest weight of each cell, so that what depends on the window follows it.
    A fragment: zooming runs it alone. The window and the scale of colours stand in View.lab (map_s to map_scale).
    """
    if not (source.n_query and source.n_key):
        return  # no row and no column to draw
    held = (
        None if tokens is None else bridge.hold(tokens),
        None if key_tokens is None else bridge.hold(key_tokens),
    )
    asked = Asked(source, chart_key, called, tokens, key_tokens, held, selected, on_cell, below)
    _map(asked, state.experiment())


@fragment()
def _map(asked: Asked, experiment: Experiment) -> None:
    if st.session_state.pop(_CHOSE, False) or state.experiment() is not experiment:
        st.rerun()
    source = asked.source
    window = map_window.of(state.view().lab, source.n_query, source.n_key)
    kind = map_controls.show(source, window)
    found = map_kept.pooled(source, window)
    whole = map_kept.whole_map(source)
    if found is None:
        st.info(_("Many readers wait for a map just now: try again in a minute."))
    elif isinstance(found, Job):
        map_waiting.wait(found)
    ready = found if isinstance(found, PooledMap) else None
    drawn = ready or (None if whole is None else part(whole, *window))
    panels: list[dict[str, Any]] = []
    if drawn is not None:
        shown = Shown(drawn, whole, *window, (source.n_query, source.n_key))
        st.markdown(_where(shown))
        panels = _chart(asked, shown, kind)
    _connect(asked, window, panels)
    if ready is not None:
        map_table.offer(ready, asked.tokens, asked.key_tokens)
        if asked.below is not None:
            asked.below(ready)


def _where(shown: Shown) -> str:
    """Say which tokens are shown, and what a cell is."""
    if shown.is_part:
        (s, s_end), (u, u_end) = shown.rows, shown.cols
        place = _("Whole text › **queries {s}–{s_end} × keys {u}–{u_end}**").format(
            s=f"{s + 1:,}", s_end=f"{s_end:,}", u=f"{u + 1:,}", u_end=f"{u_end:,}"
        )
    else:
        place = _("**Whole text: {n} queries × {m} keys**").format(n=f"{shown.size[0]:,}", m=f"{shown.size[1]:,}")
    rows, columns = block_of(shown.pooled)
    if shown.pooled.exact:
        return place + " · " + _("each cell is one weight: click it for its row and its arithmetic")
    cells = _(
        "a cell is {rows} × {columns} tokens, in the colour of their largest weight: drag or click to look closer"
    )
    return place + " · " + cells.format(rows=rows, columns=columns)


def _chart(asked: Asked, shown: Shown, kind: str) -> list[dict[str, Any]]:
    figure, panels = specify(
        shown,
        asked.chart_key,
        asked.called,
        kind,
        state.view(),
        current_theme(),
        tokens=asked.tokens,
        key_tokens=asked.key_tokens,
        drag=st.session_state.get(_DRAG, _drag()),
    )
    width = figure["layout"]["width"]
    with st.container(key=asked.chart_key, width=width):
        st.plotly_chart(
            Specified(figure),
            width=width,
            theme=None,
            key=f"chart-{asked.chart_key}",
            config=CONFIG,
            alt=sentence(shown, asked.called),
        )
    return panels


def _drag() -> str | bool:
    """On a phone a finger that drags scrolls the page; elsewhere dragging looks closer."""
    return False if "Mobi" in (st.context.headers.get("User-Agent") or "") else "zoom"


def _connect(asked: Asked, window: Window, panels: list[dict[str, Any]]) -> None:
    colours, letters = current_theme(), state.view().letters
    spec: dict[str, Any] = {
        "tokens": asked.held[0],
        "key_tokens": asked.held[1],
        "letters": {letter: relabel(letter, letters) for letter in "su"},
        "hues": colours.letters,
        "ink": colours.ink,
        "ground": "#2b2f3a" if colours.name == "dark" else "#ffffff",
        "selected": asked.selected and {"name": asked.chart_key, "row": asked.selected[0], "col": asked.selected[1]},
    }
    bridge.connect(
        [{"key": asked.chart_key, "panels": panels}] if panels else [],
        spec,
        to_query(state.experiment(), state.view()),
        key=_tie(asked),
        on_cell_change=partial(_clicked, asked, window),
        on_zoom_change=partial(_zoomed, asked),
    )


def _tie(asked: Asked) -> str:
    return f"bridge-{asked.chart_key}"


def _clicked(asked: Asked, window: Window) -> None:
    cell = bridge.event("cell", _tie(asked))
    if not cell:
        return
    s, u = int(cell["row"]), int(cell["col"])
    blocks = [-(-(end - first) // POOLED_CELLS) for first, end in window]
    if cell["name"] == asked.chart_key + WHOLE:
        map_controls.zoom(asked.source, window, (1, 1), (s, u))
    elif max(blocks) > 1:
        middle = (s + blocks[0] / 2, u + blocks[1] / 2)
        closer = [1 / CLICK if block > 1 else 1 for block in blocks]
        map_controls.zoom(asked.source, window, (closer[0], closer[1]), middle)
    elif asked.on_cell is not None:
        asked.on_cell(s, u)
        st.session_state[_CHOSE] = True


def _zoomed(asked: Asked) -> None:
    told = bridge.event("zoom", _tie(asked))
    if not told:
        return
    if told.get("drag") in ("zoom", "pan"):
        st.session_state[_DRAG] = told["drag"]
    window = map_window.dragged(told["zoom"], asked.source.n_query, asked.source.n_key)
    if window is not None:
        map_controls.move(asked.source, window)
