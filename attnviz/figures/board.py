"""The board: one block of the pipeline as a Plotly figure, and the words that say what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.axes import share_axes, x_axis, y_axis
from attnviz.figures.colours import Theme
from attnviz.figures.frame import bar, frame, note
from attnviz.figures.layout import Layout, Slot, names, numbered, place, stack
from attnviz.figures.panels import AXES, Panel, panels
from attnviz.figures.titles import title
from attnviz.figures.traces import SHARES, traces
from attnviz.limits import TOKENS
from attnviz.locale import _

SCALES = ("value", "share", "score")  # in the order of their numbers
BAR_HEIGHT = 42.0  # pixels, with its words and its numbers
Axes = dict[str, Any]
Zoom = dict[str, tuple[float, float, float, float]]  # the number of a panel's axes: x from, x to, y from, y to


def block_layout(experiment: Experiment, run: Run, view: View, block: str, base: Run | None = None) -> Layout:
    """Lay out one block ("projections", "scores" or "output") of sequence view.b and head view.h.

    With `base`, the numbers are the difference to that run. run.trace must not be None.
    """
    return place(block, panels(experiment, run, view, names(block), base), run.tokens[view.b])


def draw(
    layouts: Sequence[Layout],
    run: Run,
    experiment: Experiment,
    view: View,
    theme: Theme,
    *,
    difference: bool = False,
    zoom: Zoom | None = None,
) -> go.Figure:
    """Draw blocks, one below another; `zoom` is what is shown of some panels, the rest being shown whole."""
    return go.Figure(specify(layouts, run, experiment, view, theme, difference=difference, zoom=zoom))


def specify(
    layouts: Sequence[Layout],
    run: Run,
    experiment: Experiment,
    view: View,
    theme: Theme,
    *,
    difference: bool = False,
    zoom: Zoom | None = None,
) -> dict[str, Any]:
    """Return what draw() draws as Plotly's own plain dict of data and layout."""
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    tokens, first = run.tokens[view.b], 1
    stacked = stack(layouts)
    for block, layout in enumerate(stacked):
        bars = {scale: f"coloraxis{3 * block + i if block or i > 1 else ''}" for i, scale in enumerate(SCALES, 1)}
        for n, slot in numbered(layout, first):
            shown = (zoom or {}).get(n)
            cell = layout.cell * slot.panel.values.shape[1] / (shown[1] - shown[0]) if shown else layout.cell
            data += traces(slot, n, cell, theme, bars[_scale(slot.panel)])
            axes["xaxis" + n] = x_axis(slot, n, layout, tokens, view, theme)
            axes["yaxis" + n] = y_axis(slot, n, layout, tokens, view, theme)
            if shown:
                axes["xaxis" + n]["range"], axes["yaxis" + n]["range"] = list(shown[:2]), list(shown[2:])
            words = title(slot.panel, experiment, run, view, theme, difference)
            notes.append(note(words, slot.left, slot.title, layout.width, layout.height, theme))
        share_axes(layout, first, axes)
        long = run.long is not None or len(tokens) > TOKENS
        axes |= _colour_bars(layout, theme, difference, bars, long)
        first += len(layout.slots)
    return frame(data, axes, notes, stacked[0].width, stacked[0].height, theme)


def hover_panels(layout: Layout) -> list[dict[str, Any]]:
    """Return, for each panel, what the linked hover needs: its axes, its letters and where its window starts."""
    return [
        {
            "name": slot.panel.name,
            "axis": n,
            "row": AXES[slot.panel.name][0],
            "col": AXES[slot.panel.name][1],
            "start": list(slot.panel.start),
        }
        for n, slot in numbered(layout)
    ]


def _scale(panel: Panel) -> str:
    """The scale that colours a panel.

    Scores have one of their own: they are sums over k, beside which the numbers of queries and keys would be pale.
    """
    if panel.name in SHARES:
        return "share"
    return "score" if panel.name in ("scores", "masked") else "value"


def _words(difference: bool, long: bool) -> dict[str, str]:
    """What the bar of each scale says."""
    if difference:
        return {
            "value": _("difference from the unedited run"),
            "score": _("difference of the scores"),
            "share": _("difference of the weights"),
        }
    return {
        "value": _("value, symmetric about 0"),
        "score": _("score, symmetric about 0"),
        "share": _("weight, 0 to the largest here") if long else _("weight, 0 to 1"),
    }


def _colour_bars(layout: Layout, theme: Theme, difference: bool, names_: Mapping[str, str], long: bool) -> Axes:
    """One bar for each scale of a block: in the free corner above its left factor, or above what it colours.

    Of a long text a weight of 1 is rare, and up to 1 a window would be blank: its scale ends at the largest weight.
    """
    words, bars = _words(difference, long), {}
    for scale, slots in _by_scale(layout).items():
        most = max(float(np.abs(s.panel.values[np.isfinite(s.panel.values)]).max(initial=0.0)) for s in slots) or 1.0
        signed = scale != "share" or difference
        if not signed and not long:
            most = 1.0
        limits = {"cmin": -most if signed else 0.0, "cmax": most, "colorscale": theme.signed if signed else theme.share}
        bars[names_[scale]] = limits | bar(words[scale], *_bar_place(layout, scale, slots), layout.width, layout.height)
    return bars


def _by_scale(layout: Layout) -> dict[str, list[Slot]]:
    found: dict[str, list[Slot]] = {}
    for slot in layout.slots:
        if slot.panel.name != "row_sums":
            found.setdefault(_scale(slot.panel), []).append(slot)
    return found


def _bar_place(layout: Layout, scale: str, slots: list[Slot]) -> tuple[float, float]:
    """Where a bar begins: in the corner, or above the last panel that it colours, where nothing else stands."""
    if scale == "value" or slots[0] is layout.slots[0]:
        return 4.0, layout.top + (56.0 if scale == "share" else 4.0)
    return slots[-1].left, slots[-1].title - 22.0 - BAR_HEIGHT
