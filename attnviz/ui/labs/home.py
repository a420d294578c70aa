"""Take a lab home: as it stands, also after a part of it has run alone, as files that are made once asked for.

It is drawn beside the lab, not inside it: a control of the lab then costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from attnviz import locale
from attnviz.export import calls
from attnviz.export.calls import Shown
from attnviz.export.parts import Part
from attnviz.export.program import About
from attnviz.figures.map_places import plain
from attnviz.locale import _
from attnviz.ui import board, home, source, state
from attnviz.ui.compute import Computed
from attnviz.ui.drawn import Drawn, Published, drawn
from attnviz.ui.labs import figure_tables

KINDS = ("html", "py", "ipynb", "safetensors", "zip")
_BOX = "home"


class Asked(NamedTuple):
    """What was known when the files were offered; what they hold is the lab as it is when one is asked for."""

    drawn: Drawn
    computed: Computed
    words: str
    note: str  # the page, and the part of it
    url: str
    dark: bool

    def made(self, kind: str) -> str | bytes:
        """Return a file of the lab as it is now."""
        now = self.drawn.published or Published(self.computed, (), (), {}, "")
        return made(kind, now, home.about_of(self.words, self.note, self.url, now.query), dark=self.dark)


def show(computed: Computed, *functions: Callable[..., Any], note: str = "") -> None:
    """Offer the lab as files and tables, and the source of the functions that it is about; call it when it is drawn.

    All in one box: every box costs each run. note: whose numbers these are, where that is not the experiment's.
    """
    words = _("Take it home: files and tables")
    if functions:
        words = _("Take it home: files, tables, and the code that ran ({names})").format(names=source.named(functions))
    expander = st.expander(words, key=_BOX, on_change="rerun")
    if not expander.open:  # a closed one costs nothing
        return
    with expander:
        part = _choose(bool(drawn().figures), bool(functions))
        if part == "tables":
            figure_tables.write()
        elif part == "code":
            source.write(functions)
        else:
            _offer(computed, note)


def shows_tables() -> bool:
    """Say whether the tables are open: they stand outside of what runs alone, and are to follow it."""
    return bool(st.session_state.get(_BOX)) and st.session_state.get(_part_key()) == "tables"


def _part_key() -> str:
    return f"home_part.{locale.current()}"


def _choose(tables: bool, code: bool) -> str:
    words = {"files": _("Files")}
    if tables:
        words["tables"] = _("Tables")
    if code:
        words["code"] = _("Code")
    if len(words) == 1:
        return "files"
    key = _part_key()
    if st.session_state.get(key) not in words:
        st.session_state[key] = "files"
    chosen = st.segmented_control(
        _("What is taken home"),
        list(words),
        required=True,
        format_func=words.__getitem__,
        label_visibility="collapsed",
        key=key,
    )
    return chosen or "files"


def _offer(computed: Computed, note: str) -> None:
    place = [st.session_state["_title"], st.session_state["_section"], note]
    asked = Asked(
        drawn(),
        computed,
        " ".join(computed.run.tokens[computed.view.b]),
        " · ".join(filter(None, place)),
        st.context.url or "",
        st.context.theme.type == "dark",
    )
    published = drawn().published
    st.caption(home.carries(published.query if published else ""))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for kind in KINDS:
            home.offer(kind, state.language(), partial(asked.made, kind))


def made(kind: str, now: Published, about: About, *, dark: bool = False) -> str | bytes:
    """Return a file of a lab, one of KINDS."""
    make: dict[str, Callable[[Published, About, bool], str | bytes]] = {
        "html": _page,
        "py": _script,
        "ipynb": _notebook,
        "safetensors": _tensors,
        "zip": _tables,
    }
    return make[kind](now, about, dark)


def shown(now: Published) -> list[Shown]:
    """Return the matrices on screen."""
    return [Shown(plain(one.title), one.values) for figure in now.figures for one in figure.maps]


def _page(now: Published, about: About, dark: bool) -> str:
    from attnviz.export.html_labs import page
    from attnviz.figures.colours import theme

    colours, part = theme("dark" if dark else "light"), board.said(now.computed)
    return page(about, now.figures, now.hover, colours, file="attnviz", part=part)


def _parts(now: Published) -> list[Part]:
    computed = now.computed
    return calls.parts(now.calls, shown(now), computed.experiment, computed.run, computed.view)


def _script(now: Published, about: About, _dark: bool) -> str:
    from attnviz.export.program import written

    return written(about, _parts(now))


def _notebook(now: Published, about: About, _dark: bool) -> str:
    from attnviz.export.notebook import written

    return written(about, _parts(now))


def _tensors(now: Published, about: About, _dark: bool) -> bytes:
    from attnviz.export.tensors import safetensors

    run = now.computed.run
    return safetensors(about, run, lab=calls.results(now.calls, shown(now), run))


def _tables(now: Published, about: About, _dark: bool) -> bytes:
    from attnviz.export.tensors import zipped

    return zipped(about, now.figures)
