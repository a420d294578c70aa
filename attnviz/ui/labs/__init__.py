"""What every lab is made of: sections of a step's page, charts with their table, and the tie to the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz import locale
from attnviz.experiment import to_query
from attnviz.export.figure import Figure
from attnviz.figures.map_places import plain
from attnviz.figures.maps import Map, sentence, specify
from attnviz.figures.text import visible
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import bridge, state, widgets
from attnviz.ui.board import CONFIG, Charts, current_theme
from attnviz.ui.chart import Specified
from attnviz.ui.compute import Computed
from attnviz.ui.drawn import drawn
from attnviz.ui.drawn import made as made
from attnviz.ui.drawn import ran as ran
from attnviz.ui.labs.parts import live as live
from attnviz.ui.labs.parts import part as part
from attnviz.ui.labs.parts import whole as whole

if TYPE_CHECKING:
    import pandas as pd

PLAIN = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


def sections(**words: str) -> str:
    """Offer the parts of a step's page, by code, and return the chosen one; the first is the step itself."""
    chosen = state.view().lab.section
    if chosen not in words:
        chosen = next(iter(words))
    key = f"sections.{locale.current()}:section"  # not a field's: of the field, a page may not have the section
    st.session_state[key], st.session_state["_section"] = chosen, words[chosen]
    st.segmented_control(
        _("Part of the page"),
        list(words),
        required=True,
        format_func=words.__getitem__,
        label_visibility="collapsed",
        key=key,
        on_change=_take_section,
        args=(key,),
    )
    return chosen


def _take_section(key: str) -> None:
    state.set_lab(section=widgets.sent(key))


def maps(
    computed: Computed,
    key: str,
    shown: Sequence[Map],
    *,
    bars: dict[str, str] | None = None,
    width: float = 1200,
    cell: int | None = None,
) -> dict[str, Any]:
    """Draw maps side by side, with their tables, and return what connect() needs of them; see specify."""
    spec, panels = specify(shown, computed.view, current_theme(), bars=bars, width=width, cell=cell)
    wide, alt = spec["layout"]["width"], " ".join(map(sentence, shown))
    with st.container(key=key, width=wide):
        st.plotly_chart(
            Specified(spec),
            width=wide,
            theme=None,
            key=f"chart-{key}",
            config=CONFIG,
            alt=alt,
        )
    again = partial(specify, shown, computed.view, current_theme(), bars=bars, width=width, cell=cell)
    keep(key, shown, panels, lambda: again()[0], alt)
    return {"key": key, "panels": panels}


def chart(key: str, spec: dict[str, Any], alt: str, table: partial[pd.DataFrame]) -> None:
    """Draw lines or bars, with a sentence that says what they show and a table of the same numbers."""
    width = spec["layout"]["width"]
    with st.container(key=key, width=width):
        st.plotly_chart(Specified(spec), width=width, theme=None, key=f"chart-{key}", config=PLAIN, alt=alt)
    drawn().figure(Figure(key, [(alt, table)], alt, lambda: spec))


def keep(
    key: str, maps: Sequence[Map], panels: list[dict[str, Any]], spec: Callable[[], dict[str, Any]], alt: str
) -> None:
    """Keep a figure of maps for its tables and for what is taken home; spec makes it again."""
    named = [(plain(one.title), partial(frame, one)) for one in maps]
    drawn().figure(Figure(key, named, alt, spec, panels, maps))


def tables(key: str, made: Sequence[tuple[str, partial[pd.DataFrame]]]) -> None:
    """Keep tables of what is no figure of a lab, each under its name."""
    drawn().figure(Figure(key, made))


def frame(one: Map) -> pd.DataFrame:
    """Return the numbers of a map, whole, as a table whose rows and columns are named."""
    import pandas as pd

    rows, columns = (
        [f"{i + 1} {visible(axis.words[i])}" if axis.words else str(i + 1) for i in range(size)]
        for axis, size in zip((one.rows, one.columns), one.values.shape, strict=True)
    )
    return pd.DataFrame(one.values.detach().numpy(), index=rows, columns=columns)


def connect(
    computed: Computed,
    charts: Charts,
    *,
    selected: dict[str, Any] | None = None,
    key_tokens: Sequence[str] | None = None,
    on_cell: Callable[[dict[str, Any]], None] | None = None,
    in_part: bool = False,
) -> None:
    """Tie the charts to the browser: linked hover, the address, clicks. Call it once, at the end.

    key_tokens: those of the key tokens u, where they are not the query tokens; on_cell gets a click's name, row and
    column, from 0. Without on_cell a click on a map of tokens chooses its tokens s and u. in_part: called in a part
    of a lab, all of which runs after a click.
    """
    colours = current_theme()
    spec: dict[str, Any] = {
        "tokens": [visible(token) for token in computed.run.tokens[computed.view.b]],
        "letters": {letter: relabel(letter, computed.view.letters) for letter in "bhsmkdu"},
        "hues": colours.letters,
        "ink": colours.ink,
        "ground": "#2b2f3a" if colours.name == "dark" else "#ffffff",
        "selected": selected,
    }
    if key_tokens is not None:
        spec["key_tokens"] = [visible(token) for token in key_tokens]
    letters = {p["name"]: (p["row"], p["col"]) for chart in charts for p in chart["panels"]}

    def clicked() -> None:
        cell = bridge.event("cell")
        if cell and cell["name"] in letters:
            choose(cell)
            if in_part:
                st.rerun("lab")

    def choose(cell: dict[str, Any]) -> None:
        if on_cell is not None:
            on_cell(cell)
            return
        fields = {
            letter: int(at)
            for letter, at in zip(letters[cell["name"]], (cell["row"], cell["col"]), strict=True)
            if letter in ("s", "u")
        }
        if fields:
            state.look(**fields)

    tie(computed, charts, spec, clicked)


def tie(computed: Computed, charts: Charts, spec: dict[str, Any], clicked: Callable[[], None]) -> None:
    """Tell the browser what stands on the page, and let it be taken home as it is."""
    query = to_query(state.experiment(), state.view())
    drawn().publish(computed, spec, query)
    bridge.connect(charts, spec, query, on_cell_change=clicked)
