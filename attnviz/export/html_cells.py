"""The cells of a page that is taken home: which of them stand in it, written out, and what a click on a panel means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from attnviz.experiment import View
from attnviz.figures.panels import AXES, STEP_OF, Panel
from attnviz.figures.titles import plain_symbol
from attnviz.limits import EXPORT_BYTES
from attnviz.locale import _


class Written(NamedTuple):
    """A cell written out: its sentence, what it equals, and the table of its sum; plain text all of it."""

    words: str
    equals: str
    heads: list[str]
    rows: list[list[str]]


Write = Callable[[str, int, int], Written]  # of a step, a row and a column, counted from 0
Panels = dict[str, Panel]


def offered(panels: Panels, steps: tuple[str, ...]) -> Panels:
    """Return those of the steps that a drawn panel shows, with that panel: "scaled" is shown by "masked"."""
    return {step: found for step in steps if (found := panels.get(_panel_of(step))) is not None}


def cells(steps: Panels, write: Write) -> Iterator[tuple[str, Written]]:
    """Yield the cells of what is drawn, those of the last steps first, until they take limits.EXPORT_BYTES."""
    room = EXPORT_BYTES
    for step, panel in reversed(steps.items()):
        for i in range(panel.values.shape[0]):
            for j in range(panel.values.shape[1]):
                row, column = i + panel.start[0], j + panel.start[1]
                written = write(step, row, column)
                room -= sum(map(len, (written.words, written.equals, *written.heads)))
                room -= sum(len(value) + 4 for line in written.rows for value in line)
                if room < 0:
                    return
                yield f"{step}:{row}:{column}", written


def step_drawn(step: str, panel: Panel) -> dict[str, Any]:
    """Return what the page's script asks of a step: its symbol, and the cells of it that are drawn."""
    symbol = {"scaled": _("scaled"), "masked": _("masked")}.get(step) or plain_symbol(step)
    return {"symbol": symbol, "first": panel.start, "shape": panel.values.shape, "panel": panel.name}


def means(name: str) -> dict[str, Any]:
    """Return which cell a click on a panel means: of K transposed the one across, of a row's sum the row."""
    return {"step": STEP_OF[name], "turned": name == "key_t", "whole": not AXES[name][1]}


def chosen(view: View, steps: Panels) -> dict[str, Any]:
    """Return the cell that the page opens with: the one in view, of its last step where the view's is not drawn."""
    step = view.step if view.step in steps else list(steps)[-1]
    row, column = AXES[_panel_of(step)]
    at = {"s": view.s, "u": view.u}
    return {"step": step, "row": at[row], "col": at.get(column, view.feature)}


def _panel_of(step: str) -> str:
    return "masked" if step == "scaled" else step
