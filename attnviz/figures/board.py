"""The board: one block of the pipeline as a Plotly figure, and the words that say what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.axes import share_axes, x_axis, y_axis
from attnviz.figures.colours import Theme
from attnviz.figures.frame import bar, frame, note
from attnviz.figures.layout import Layout, names, numbered, place, stack
from attnviz.figures.panels import AXES, Panel, panels
from attnviz.figures.titles import title
from attnviz.figures.traces import SHARES, traces
from attnviz.locale import _

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
        bars = (f"coloraxis{2 * block + 1 if block else ''}", f"coloraxis{2 * block + 2}")
        for n, slot in numbered(layout, first):
            shown = (zoom or {}).get(n)
            cell = layout.cell * slot.panel.values.shape[1] / (shown[1] - shown[0]) if shown else layout.cell
            data += traces(slot, n, cell, theme, bars[is_share(slot.panel, difference)])
            axes["xaxis" + n] = x_axis(slot, n, layout, tokens, view, theme)
            axes["yaxis" + n] = y_axis(slot, n, layout, tokens, view, theme)
            if shown:
                axes["xaxis" + n]["range"], axes["yaxis" + n]["range"] = list(shown[:2]), list(shown[2:])
            words = title(slot.panel, experiment, run, view, theme, difference)
            notes.append(note(words, slot.left, slot.title, layout.width, layout.height, theme))
        share_axes(layout, first, axes)
        axes |= _colour_bars(layout, theme, difference, bars, run.long is not None)
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


def is_share(panel: Panel, difference: bool) -> bool:
    """Say whether a panel is coloured as weights, 0 to 1, and not as signed values."""
    return panel.name in SHARES and not difference


def _colour_bars(layout: Layout, theme: Theme, difference: bool, names_: tuple[str, str], long: bool) -> dict[str, Any]:
    """One bar for each scale of a block, in the free corner above its left factor.

    Of a long text a weight of 1 is rare, and up to 1 a window would be blank: its scale ends at the largest weight.
    """
    signed = [s.panel for s in layout.slots if not is_share(s.panel, difference) and s.panel.name != "row_sums"]
    finite = [np.abs(p.values[np.isfinite(p.values)]).max(initial=0.0) for p in signed]
    most = float(max(finite, default=0.0)) or 1.0
    words = _("difference from the unedited run") if difference else _("value, symmetric about 0")
    values = bar(words, 4.0, layout.top + 4.0, layout.width, layout.height)
    bars = {names_[0]: {"cmin": -most, "cmax": most, "colorscale": theme.signed} | values}
    weights = [s.panel.values for s in layout.slots if is_share(s.panel, difference)]
    if weights:
        top = float(np.nan_to_num(weights[0]).max(initial=0.0)) if long else 1.0
        words = _("weight, 0 to 1") if not long else _("weight, 0 to the largest here")
        shares = bar(words, 4.0, layout.top + 56.0, layout.width, layout.height)
        bars[names_[1]] = {"cmin": 0, "cmax": top or 1.0, "colorscale": theme.share} | shares
    return bars
