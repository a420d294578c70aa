"""The board as one file that works offline: it hovers, opens cells and asks nothing of any server.

Plotly's script, the app's linked hover and the numbers stand inside. The arithmetic of its cells is that of torch,
computed when the file is made; a policy inside forbids the file to fetch anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import plotly

from attnviz import locale
from attnviz.experiment import Experiment, Run, View
from attnviz.export.program import About
from attnviz.figures.board import block_layout, hover_panels, specify
from attnviz.figures.colours import Theme
from attnviz.figures.frame import FONT, typed
from attnviz.figures.layout import Layout
from attnviz.figures.panels import AXES, STEP_OF, Panel
from attnviz.figures.text import visible
from attnviz.figures.titles import plain_symbol, sentence
from attnviz.letters import relabel
from attnviz.limits import EXPORT_BYTES
from attnviz.locale import _

_HERE = Path(__file__).parent
_FIGURES = _HERE.parent / "figures"
_GROUND = {"light": "#ffffff", "dark": "#14171c"}
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset", "showTips": False}


class Written(NamedTuple):
    """A cell written out: its sentence, what it equals, and the table of its sum; plain text all of it."""

    words: str
    equals: str
    heads: list[str]
    rows: list[list[str]]


Write = Callable[[str, int, int], Written]  # of a step, a row and a column, counted from 0


class Block(NamedTuple):
    """One block of the board, "projections", "scores" or "output", and what stands above it."""

    name: str
    title: str


def page(
    about: About,
    experiment: Experiment,
    run: Run,
    view: View,
    blocks: list[Block],
    steps: tuple[str, ...],
    write: Write,
    theme: Theme,
    *,
    file: str,
) -> str:
    """Return the file: the blocks of sequence view.b and head view.h, as they are on screen, and the cells of `steps`.

    write: how a cell is written out. Up to limits.EXPORT_BYTES of cells are; the file says of others that they are
    not in it. file: what pictures saved from it are called. Raises ValueError for a run without a trace.
    """
    if run.trace is None:
        raise ValueError("run.trace must be a trace, not None: the experiment is above limits.TRACE_BYTES")
    layouts = {block.name: block_layout(experiment, run, view, block.name) for block in blocks}
    panels = {slot.panel.name: slot.panel for layout in layouts.values() for slot in layout.slots}
    offered = {step: found for step in steps if (found := panels.get(_panel_of(step))) is not None}
    home = {
        "about": about._asdict() | {"version": f"attnviz {about.version}"},
        "look": {"ground": _GROUND[theme.name], "ink": theme.ink},
        "file": file,
        "config": _CONFIG,
        "charts": [_chart(block, layouts[block.name], experiment, run, view, theme) for block in blocks],
        "spec": _hover(run, view, theme),
        "steps": {step: _step(step, panel) for step, panel in offered.items()},
        "panels": {name: _means(name) for name in panels if STEP_OF.get(name) in offered},
        "cells": dict(_cells(offered, write)),
        "chosen": _chosen(view, offered),
        "words": {"left_out": _("The arithmetic of this cell is not in this file; its link opens it.")},
    }
    return _filled(about, home, theme)


def _chart(block: Block, layout: Layout, experiment: Experiment, run: Run, view: View, theme: Theme) -> dict[str, Any]:
    spec = specify([layout], run, experiment, view, theme)
    data = [{name: typed(value) for name, value in trace.items()} for trace in spec["data"]]
    hover = hover_panels(layout)
    symbols = {"masked": _("masked"), "row_sums": _("sum of the row")}
    for panel in hover:
        panel["symbol"] = symbols.get(panel["name"]) or plain_symbol(panel["name"])
    return {
        "key": block.name,
        "title": block.title,
        "figure": {"data": data, "layout": spec["layout"]},
        "panels": hover,
        "alt": " ".join(sentence(slot.panel, run.tokens[view.b]) for slot in layout.slots),
    }


def _hover(run: Run, view: View, theme: Theme) -> dict[str, Any]:
    return {
        "tokens": [visible(token) for token in run.tokens[view.b]],
        "letters": {letter: relabel(letter, view.letters) for letter in "smkdu"},
        "hues": theme.letters,
        "ink": theme.ink,
        "ground": "#2b2f3a" if theme.name == "dark" else "#ffffff",
        "selected": None,
    }


def _panel_of(step: str) -> str:
    """The panel that shows a step: of keys the transposed one where the keys themselves are not drawn."""
    return "masked" if step == "scaled" else step


def _step(step: str, panel: Panel) -> dict[str, Any]:
    symbol = {"scaled": _("scaled"), "masked": _("masked")}.get(step) or plain_symbol(step)
    return {"symbol": symbol, "first": panel.start, "shape": panel.values.shape, "panel": panel.name}


def _means(name: str) -> dict[str, Any]:
    """Which cell a click on a panel means: of K transposed the one across, of a row's sum the row."""
    return {"step": STEP_OF[name], "turned": name == "key_t", "whole": not AXES[name][1]}


def _chosen(view: View, offered: dict[str, Panel]) -> dict[str, Any]:
    step = view.step if view.step in offered else list(offered)[-1]
    row, column = AXES[_panel_of(step)]
    at = {"s": view.s, "u": view.u}
    return {"step": step, "row": at[row], "col": at.get(column, view.feature)}


def _cells(offered: dict[str, Panel], write: Write) -> Iterator[tuple[str, Written]]:
    """The cells of what is drawn, those of the last steps first, until they take all the room there is."""
    room = EXPORT_BYTES
    for step, panel in reversed(offered.items()):
        for i in range(panel.values.shape[0]):
            for j in range(panel.values.shape[1]):
                row, column = i + panel.start[0], j + panel.start[1]
                written = write(step, row, column)
                room -= sum(map(len, (written.words, written.equals, *written.heads)))
                room -= sum(len(value) + 4 for line in written.rows for value in line)
                if room < 0:
                    return
                yield f"{step}:{row}:{column}", written


def _filled(about: About, home: dict[str, Any], theme: Theme) -> str:
    plain = {**home, "cells": {key: cell._asdict() for key, cell in home["cells"].items()}}
    # Whatever a token is, it cannot end the script that it stands in.
    text = json.dumps(plain, default=_plain, ensure_ascii=False)
    for sign, code in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(sign, code)
    scripts = "\n".join(
        (_FIGURES / name).read_text(encoding="utf-8") for name in ("linked.js", "images.js", "offline.js")
    )
    return (_HERE / "page.html").read_text(encoding="utf-8") % {
        "lang": locale.tag(),
        "title": _escaped(about.title),
        "link": f'<a href="{_escaped(about.link)}" rel="noreferrer">{_escaped(about.link)}</a>'
        if _is_web(about.link)
        else "",
        "version": _escaped(f"attnviz {about.version}"),
        "scheme": theme.name,
        "ground": _GROUND[theme.name],
        "ink": theme.ink,
        "quiet": theme.quiet,
        "font": f"system-ui, {FONT}",
        "matrix": _escaped(_("Matrix")),
        "row": _escaped(_("Row")),
        "column": _escaped(_("Column")),
        "plotly": (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8"),
        "scripts": f"const home = {text};\n{scripts}",
    }


def _plain(value: Any) -> Any:
    """Numbers of numpy, as json knows them."""
    return value.item()


def _is_web(link: str) -> bool:
    return link.startswith(("http://", "https://"))


def _escaped(text: str) -> str:
    signs = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    return "".join(signs.get(c, c) for c in text)
