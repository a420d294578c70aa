"""The board as one file that works offline: it hovers, opens cells and asks nothing of any server.

Plotly's script, the app's linked hover and the numbers stand inside. The arithmetic of its cells is that of torch,
computed when the file is made; a policy inside forbids the file to fetch anything. Of a text that is longer than the
window that is drawn, the window is in the file and nothing else, and the file says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import plotly

from attnviz import locale
from attnviz.experiment import Experiment, Run, View
from attnviz.export.html_cells import Write, cells, chosen, means, offered, step_drawn
from attnviz.export.html_cells import Written as Written
from attnviz.export.program import About
from attnviz.figures.board import block_layout, hover_panels, specify
from attnviz.figures.colours import Theme
from attnviz.figures.frame import FONT, typed
from attnviz.figures.layout import Layout
from attnviz.figures.panels import STEP_OF, drawn
from attnviz.figures.text import visible
from attnviz.figures.titles import plain_symbol, sentence
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS
from attnviz.locale import _

_HERE = Path(__file__).parent
_FIGURES = _HERE.parent / "figures"
_GROUND = {"light": "#ffffff", "dark": "#14171c"}
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset", "showTips": False}


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
    not in it. file: what pictures saved from it are called. Raises ValueError for a run that holds neither a trace nor
    a head of a long text.
    """
    if run.trace is None and run.long is None:
        raise ValueError("run.trace must be a trace, or run.long a head of a long text, not None both")
    layouts = {block.name: block_layout(experiment, run, view, block.name) for block in blocks}
    panels = {slot.panel.name: slot.panel for layout in layouts.values() for slot in layout.slots}
    found = offered(panels, steps)
    home = {
        "file": file,
        "charts": [_chart(block, layouts[block.name], experiment, run, view, theme) for block in blocks],
        "spec": _hover(run, view, theme),
        "steps": {step: step_drawn(step, panel) for step, panel in found.items()},
        "panels": {name: means(name) for name in panels if STEP_OF.get(name) in found},
        "cells": dict(cells(found, write)),
        "chosen": chosen(view, found),
    }
    return filled(about, home, theme, part(run, view))


def part(run: Run, view: View) -> str:
    """Say which tokens of which head the board shows, where it shows a window; nothing where it shows all."""
    n = len(run.tokens[view.b])
    rows, columns = (drawn(letter, n, view) for letter in ("s", "u"))
    if len(rows) == n:
        return ""
    words = _(
        "Head {h} of sequence {b}: query tokens {s} to {s_end} and key tokens {u} to {u_end} of {n}. Every number is "
        "of the whole text."
    )
    places = {"s": rows.start + 1, "s_end": rows.stop, "u": columns.start + 1, "u_end": columns.stop, "n": n}
    return words.format(h=view.h + 1, b=view.b + 1, **{name: f"{place:,}" for name, place in places.items()})


def _chart(block: Block, layout: Layout, experiment: Experiment, run: Run, view: View, theme: Theme) -> dict[str, Any]:
    spec = specify([layout], run, experiment, view, theme)
    hover = hover_panels(layout)
    symbols = {"masked": _("masked"), "row_sums": _("sum of the row")}
    for panel in hover:
        panel["symbol"] = symbols.get(panel["name"]) or plain_symbol(panel["name"])
    return {
        "key": block.name,
        "title": block.title,
        "figure": figure(spec),
        "panels": hover,
        "alt": " ".join(sentence(slot.panel, run.tokens[view.b]) for slot in layout.slots),
    }


def _hover(run: Run, view: View, theme: Theme) -> dict[str, Any]:
    return {
        "tokens": _named(run, view),
        "letters": {letter: relabel(letter, view.letters) for letter in "smkdu"},
        "hues": theme.letters,
        "ink": theme.ink,
        "ground": "#2b2f3a" if theme.name == "dark" else "#ffffff",
        "selected": None,
    }


def _named(run: Run, view: View) -> list[str] | dict[int, str]:
    """The tokens that a hover names: of a long text those that are drawn, by their numbers."""
    tokens = run.tokens[view.b]
    if run.long is None:
        return [visible(token) for token in tokens]
    near = {i for letter in ("s", "u") for i in drawn(letter, len(tokens), view)}
    return {i: visible(tokens[i][:NAME_CHARS]) for i in sorted(near)}


def figure(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a figure as the page's script takes it, its arrays as Plotly's typed arrays."""
    data = [{name: typed(value) for name, value in trace.items()} for trace in spec["data"]]
    return {"data": data, "layout": spec["layout"]}


def filled(about: About, home: dict[str, Any], theme: Theme, part: str) -> str:
    """Return the file of what its script is told; part: what it shows, in words, "" where that is all."""
    given = {
        "about": about._asdict() | {"version": f"attnviz {about.version}"},
        "look": {"ground": _GROUND[theme.name], "ink": theme.ink},
        "config": _CONFIG,
        "words": {
            "left_out": _("The arithmetic of this cell is not in this file; its link opens it."),
            "table": _("The same numbers as a table"),
        },
    }
    plain = {**given, **home, "cells": {key: cell._asdict() for key, cell in home["cells"].items()}}
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
        "part": f'<p class="part">{_escaped(part)}</p>' if part else "",
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
