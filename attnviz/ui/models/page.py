"""The page in its order: what is chosen, every head at once, then one head from whichever side the reader asks."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from attnviz.figures.text import markdown
from attnviz.limits import MODEL_CHARS
from attnviz.locale import _
from attnviz.models import registry
from attnviz.models.reading import Reading
from attnviz.ui import cell as cells
from attnviz.ui import home, labs, notices, process, routing, state
from attnviz.ui.board import Charts
from attnviz.ui.drawn import drawn
from attnviz.ui.labs import figure_tables
from attnviz.ui.labs import home as labs_home
from attnviz.ui.models import beside, beyond, choose, chosen, head, lines, overview, silenced, waiting
from attnviz.ui.models.chosen import Chosen, Shown

BOARD = ("scores", "scaled", "masked", "weights", "output")


def show(words: str) -> None:
    """Draw the page."""
    routing.require_app()
    process.settle()
    st.session_state["_ran"] = state.experiment()
    drawn().begin()
    st.markdown(words)
    refused = st.container()
    with refused:
        notices.show_link()
    asked = choose.show()
    job = waiting.job(asked.wanted)
    reading = waiting.reading_of(job)
    if job.card is not None:
        choose.learn(job.card)
    _say_shortened(reading)
    chosen.choose(reading)
    now = chosen.of(job)
    at = chosen.stand_in(now.queries, now.keys).view
    with refused:
        notices.show_moved(layer=now.layer, head=now.head, s=at.s, u=at.u)
    _guess(reading)
    charts = overview.show(now)
    st.header(_("Layer {layer}, head {head}").format(layer=now.layer + 1, head=now.head + 1), anchor=overview.ANCHOR)
    chosen.number_boxes(now)
    section = labs.sections(
        step=_("Scores and cells"),
        lines=_("Lines and text"),
        beyond=_("Beyond weights"),
        silenced=_("Knock out"),
        beside=_("Side by side"),
    )
    head.check(now)
    parts = {"lines": lines.show, "beyond": beyond.show, "silenced": silenced.show, "beside": beside.show}
    computed = chosen.computed(now)
    if section in parts:
        _connect(now, charts, parts[section](now, computed))
        return
    shown = head.show(now, computed)
    charts += head.groups(now)
    if head.has_board(now):
        figure_tables.show()
        cells.show(computed, charts + shown.charts, BOARD, on_other=partial(overview.clicked, now))
        home.show(computed, ("scores", "output"), BOARD, _whose(now))
    else:
        _connect(now, charts, shown)


def _whose(now: Chosen) -> str:
    """Say in the files whose numbers they are."""
    words = _("{model}, layer {layer}, head {head}")
    return words.format(model=registry.code_of(state.view().lab.model), layer=now.layer + 1, head=now.head + 1)


def _connect(now: Chosen, charts: Charts, shown: Shown) -> None:
    charts, view = charts + shown.charts, shown.computed.view
    letters = {panel["name"]: (panel["row"], panel["col"]) for chart in charts for panel in chart["panels"]}

    def clicked(cell: dict[str, Any]) -> None:
        if cell["name"] in overview.NAMES:
            overview.clicked(now, cell)
            return
        if found := head.clicked(cell, letters[cell["name"]]):
            state.look(**found)

    selected = {"name": "weights", "row": view.s, "col": view.u}
    labs.connect(shown.computed, charts, selected=selected, key_tokens=shown.keys, on_cell=clicked)
    labs_home.show(shown.computed, note=_whose(now))


def _say_shortened(reading: Reading) -> None:
    for cut in reading.shortened:
        text = reading.texts[cut.text]
        rest = markdown(text[cut.character : cut.character + 30])
        words = _("The text is longer than the model reads: all from character {at} on (“{rest}…”) is left out.")
        if cut.text:
            words = _("The second text is too long: all of it from character {at} on (“{rest}…”) is left out.")
        st.info(
            words.format(at=f"{cut.character + 1:,}", rest=rest)
            + " "
            + _("At most {n} tokens are read at once.").format(n=cut.limit)
        )
    if len(state.experiment().text) >= MODEL_CHARS:
        st.info(_("A text ends after {n} characters.").format(n=f"{MODEL_CHARS:,}"))


def _guess(reading: Reading) -> None:
    """Say what the model expects next."""
    if reading.guesses:
        said = [f"“{markdown(chosen.called(guess))}” {100 * guess.probability:.1f} %" for guess in reading.guesses[:5]]
        st.markdown(_("Next token:") + " " + " · ".join(said))
        chosen.explain_bytes(reading.guesses[:5])
