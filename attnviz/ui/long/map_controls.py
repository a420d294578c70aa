"""What one sets of a pooled map: its colours, and the window, by buttons and by the numbers of its tokens."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.pooled_scale import KINDS, choose
from attnviz.locale import _
from attnviz.ui import state, widgets
from attnviz.ui.long import map_kept, map_window
from attnviz.ui.long.map_source import Source
from attnviz.ui.long.map_window import LEAST, STEP, Window


def show(source: Source, window: Window) -> str:
    """Draw the controls, and return the kind of scale that is chosen."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _scale(source)
        part = window != map_kept.whole(source)
        st.button(_("Show the whole"), key="map_whole", on_click=move, args=(source,), disabled=not part)
        for key, word, factor, may in (
            ("map_out", _("Zoom out"), float(STEP), part),
            ("map_in", _("Zoom in"), 1 / STEP, _can_shrink(window)),
        ):
            st.button(word, key=key, on_click=zoom, args=(source, window, (factor, factor)), disabled=not may)
        tokens = st.popover(_("Tokens"), key="map_tokens", on_change="rerun")
        if tokens.open:  # a closed one costs nothing
            with tokens:
                _by_keyboard(source, window)
    return kind


def move(source: Source, window: Window | None = None) -> None:
    """Show another window, or the whole. A callback."""
    window = window or map_kept.whole(source)
    state.keep(**map_window.fields(window, source.n_query, source.n_key))


def zoom(source: Source, window: Window, factors: tuple[float, float], at: tuple[float, float] | None = None) -> None:
    """Show a window `factors` times as large, about its middle or about tokens s and u. A callback."""
    move(source, map_window.scaled(window, factors, source.n_query, source.n_key, at))


def _can_shrink(window: Window) -> bool:
    return any(end - first > LEAST for first, end in window)


def _scale(source: Source) -> str:
    words = {
        "linear": _("Linear"),
        "sqrt": _("Square root"),
        "log": _("Log"),
        "rows": _("Row maximum"),
    }
    bound = state.of_lab("map_scale", worded=True)
    kind = choose(state.view().lab.map_scale, source.n_key)
    st.session_state[bound["key"]] = kind
    st.segmented_control(
        _("Colours"),
        KINDS,
        required=True,
        format_func=words.__getitem__,
        help=_("Most weights of a long text are near 0. Colours change with the scale, numbers never do."),
        **bound,
    )
    return kind


def _by_keyboard(source: Source, window: Window) -> None:
    words = {
        ("s", 0): _("First query token"),
        ("s", 1): _("Last query token"),
        ("u", 0): _("First key token"),
        ("u", 1): _("Last key token"),
    }
    for axis, (letter, n) in enumerate((("s", source.n_query), ("u", source.n_key))):
        with st.container(horizontal=True, gap="small"):
            for side in (0, 1):
                key = f"window:{letter}:{side}"
                # On screen, tokens count from 1 and the last one is shown.
                st.session_state[key] = window[axis][side] + (side == 0)
                st.number_input(
                    words[letter, side],
                    1,
                    n,
                    None,
                    key=key,
                    on_change=_type,
                    args=(source, window, axis, side, key),
                    width=170,
                )


def _type(source: Source, window: Window, axis: int, side: int, key: str) -> None:
    value = widgets.sent(key)
    if value is None:
        return
    n = (source.n_query, source.n_key)[axis]
    first, end = window[axis]
    if side == 0:
        first, end = value - 1, max(end, min(n, value - 1 + LEAST))
    else:
        first, end = min(first, max(0, value - LEAST)), value
    spans = [*window]
    spans[axis] = (min(first, n - 1), end)
    move(source, Window(spans[0], spans[1]))
