"""Take a lab home: as it stands, also after a part of it has run alone, as files that are made once asked for.

It is drawn beside the lab, not inside it: a control of the lab then costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from attnviz.export import calls
from attnviz.export.calls import Shown
from attnviz.export.parts import Part
from attnviz.export.program import About
from attnviz.figures.map_places import plain
from attnviz.locale import _
from attnviz.ui import board, home, source, state
from attnviz.ui.compute import Computed
from attnviz.ui.drawn import Drawn, Published, drawn

KINDS = ("html", "py", "ipynb", "safetensors", "zip")


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
    """Offer the lab as files, and the source of the functions that it is about; call it when the lab is drawn.

    Both in one box: every box costs each run. note: whose numbers these are, where that is not the experiment's.
    """
    words = _("Take it home")
    if functions:
        words = _("Take it home, and the code that ran: {names}").format(names=source.named(functions))
    expander = st.expander(words, key="home", on_change="rerun")
    if not expander.open:  # a closed one costs nothing
        return
    place = [st.session_state["_title"], st.session_state["_section"], note]
    asked = Asked(
        drawn(),
        computed,
        " ".join(computed.run.tokens[computed.view.b]),
        " · ".join(filter(None, place)),
        st.context.url or "",
        st.context.theme.type == "dark",
    )
    with expander:
        published = drawn().published
        st.caption(home.carries(published.query if published else ""))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for kind in KINDS:
                home.offer(kind, state.language(), partial(asked.made, kind))
        source.write(functions)


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
