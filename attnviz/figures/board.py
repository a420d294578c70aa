"""The board: one block of the pipeline as a Plotly figure, and the words that say what it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.colours import Theme
from attnviz.figures.layout import DIGITS_ONE, DIGITS_TWO, MARKS, Layout, Slot, names, place
from attnviz.figures.panels import AXES, Panel, panels
from attnviz.figures.text import html, label
from attnviz.figures.titles import role, title
from attnviz.letters import relabel
from attnviz.locale import _

SHARES = ("weights",)
FONT = '"Source Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif'  # as .streamlit/config.toml


def block_figure(
    experiment: Experiment, run: Run, view: View, block: str, theme: Theme, base: Run | None = None
) -> go.Figure:
    """Draw one block ("projections", "scores" or "output") of sequence view.b and head view.h.

    With `base`, the figure shows the difference to that run. run.trace must not be None.
    """
    tokens = run.tokens[view.b]
    layout = place(block, panels(experiment, run, view, names(block), base), tokens)
    return draw(layout, tokens, experiment, view, theme, difference=base is not None)


def draw(
    layout: Layout, tokens: tuple[str, ...], experiment: Experiment, view: View, theme: Theme, *, difference: bool
) -> go.Figure:
    """Draw a block that is laid out."""
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for i, slot in enumerate(layout.slots, 1):
        n = "" if i == 1 else str(i)
        data += _traces(slot, n, layout.cell, theme, difference)
        axes["xaxis" + n] = _x_axis(slot, n, layout, tokens, view, theme)
        axes["yaxis" + n] = _y_axis(slot, n, layout, tokens, view, theme)
        notes.append(_title_note(slot, layout, experiment, view, theme, difference))
    _share_axes(layout, axes)
    figure = {
        "data": data,
        "layout": {
            **axes,
            **_colour_bars(layout, theme, difference),
            "annotations": notes,
            "width": round(layout.width),
            "height": round(layout.height),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "font": {"family": FONT, "size": 11, "color": theme.ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False,
            "dragmode": False,
        },
    }
    return go.Figure(figure)


def hover_panels(layout: Layout) -> list[dict[str, Any]]:
    """Return, for each panel, what the linked hover needs: its axes, its letters and where its window starts."""
    return [
        {
            "name": slot.panel.name,
            "axis": "" if i == 1 else str(i),
            "row": AXES[slot.panel.name][0],
            "col": AXES[slot.panel.name][1],
            "start": list(slot.panel.start),
        }
        for i, slot in enumerate(layout.slots, 1)
    ]


def is_share(panel: Panel, difference: bool) -> bool:
    """Say whether a panel is coloured as weights, 0 to 1, and not as signed values."""
    return panel.name in SHARES and not difference


def _traces(slot: Slot, n: str, cell: float, theme: Theme, difference: bool) -> list[dict[str, Any]]:
    panel, place_ = slot.panel, {"xaxis": "x" + n, "yaxis": "y" + n}
    values = panel.values
    finite = np.isfinite(values)
    share = is_share(panel, difference)
    trace = {
        "type": "heatmap",
        "name": panel.name,
        "z": np.where(finite, values, np.float32("nan")),
        "coloraxis": "coloraxis2" if share else "coloraxis",
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "none",  # the linked hover words it; "skip" would fire no event
        "opacity": 0.4 if panel.overridden == "wholly" else 1,
        **place_,
    }
    if panel.name == "row_sums":
        blank = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
        trace = {k: v for k, v in trace.items() if k != "coloraxis"} | {
            "colorscale": blank,
            "showscale": False,
            "texttemplate": "%{z:.4f}" if cell >= 14 else "",
            "textfont": {"size": 10, "color": theme.quiet},
        }
    elif cell >= DIGITS_ONE:
        two = cell >= DIGITS_TWO or share
        trace["texttemplate"] = "%{z:.2f}" if two else "%{z:.1f}"
        trace["textfont"] = {"size": 11 if cell >= DIGITS_TWO else 10}
        if theme.digits:
            trace["textfont"]["color"] = theme.digits
    traces = [trace]
    for mark, where in (("−∞", values == -np.inf), ("∞", values == np.inf), ("NaN", np.isnan(values))):
        if where.any():
            traces += [one | place_ for one in _mark(mark, where, cell, theme)]
    if panel.edited:
        traces.append(_pencil(panel, cell, theme) | place_)
    return traces


def _mark(name: str, where: Any, cell: float, theme: Theme) -> list[dict[str, Any]]:
    """Give the cells that hold no number a ground of their own, and the value's name where it fits."""
    ground = {
        "type": "heatmap",
        "name": name,
        "z": np.where(where, np.float32(0), np.float32("nan")),
        "colorscale": [[0, theme.hole], [1, theme.hole]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "none",
    }
    rows, columns = where.nonzero()
    # Not a text template of the ground: Plotly prints a dash over each of its empty cells.
    text = {
        "type": "scatter",
        "mode": "text",
        "name": name,
        "x": columns.astype("uint8"),
        "y": rows.astype("uint8"),
        "text": name,
        "textfont": {"size": 10, "color": theme.quiet},
        "hoverinfo": "skip",
    }
    return [ground, text] if cell >= MARKS else [ground]


def _pencil(panel: Panel, cell: float, theme: Theme) -> dict[str, Any]:
    """Mark the typed cells with a corner, as a spreadsheet marks a comment."""
    inset = 0.5 - 5 / cell
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "edited",
        "x": [column + inset for _, column in panel.edited],
        "y": [row - inset for row, _ in panel.edited],
        "marker": {"symbol": "triangle-ne", "size": 9, "color": theme.letters["h"], "line": {"width": 0}},
        "hoverinfo": "skip",
    }


def _x_axis(slot: Slot, n: str, layout: Layout, tokens: tuple[str, ...], view: View, theme: Theme) -> dict[str, Any]:
    letter, columns = AXES[slot.panel.name][1], slot.panel.values.shape[1]
    axis = _axis(slot.left, slot.width, layout.width, columns, "y" + n, theme, letter)
    axis["range"] = [-0.5, columns - 0.5]
    if letter in ("s", "u") and slot.column_labels:
        axis |= _token_ticks(slot.panel.start[1], columns, tokens)
        axis["tickangle"] = -45 if layout.slanted else 0
        axis["side"] = slot.column_labels
    elif slot.column_labels and letter:
        axis |= _feature_ticks(columns)
    if slot.column_labels == "bottom" and letter and slot.width >= 64:
        axis["title"] = _axis_title(letter, view, theme)
    return axis


def _y_axis(slot: Slot, n: str, layout: Layout, tokens: tuple[str, ...], view: View, theme: Theme) -> dict[str, Any]:
    letter, rows = AXES[slot.panel.name][0], slot.panel.values.shape[0]
    axis = _axis(layout.height - slot.top - slot.height, slot.height, layout.height, rows, "x" + n, theme, letter)
    axis["range"] = [rows - 0.5, -0.5]  # row 0 on top
    if slot.row_labels:
        axis |= _token_ticks(slot.panel.start[0], rows, tokens) if letter in ("s", "u") else _feature_ticks(rows)
    if slot.row_labels and letter in ("s", "u") and slot.height >= 76:
        axis["title"] = _axis_title(letter, view, theme)
    return axis


def _axis_title(letter: str, view: View, theme: Theme) -> dict[str, Any]:
    return {
        "text": f"{html(role(letter))} {relabel(letter, view.letters)}",
        "standoff": 4,
        "font": {"size": 11, "color": theme.letters[letter]},
    }


def _axis(
    first: float, size: float, whole: float, cells: int, anchor: str, theme: Theme, letter: str
) -> dict[str, Any]:
    return {
        "domain": [max(0.0, first / whole), min(1.0, (first + size) / whole)],
        "anchor": anchor,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "showticklabels": False,
        "tickfont": {"size": 11 if letter in ("s", "u") else 10, "color": theme.letters.get(letter, theme.quiet)},
        "minallowed": -0.5,
        "maxallowed": cells - 0.5,
    }


def _token_ticks(start: int, count: int, tokens: tuple[str, ...]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(count)),
        "ticktext": [label(token) for token in tokens[start : start + count]],
        "showticklabels": True,
    }


def _feature_ticks(count: int) -> dict[str, Any]:
    step = 1 if count <= 24 else 4
    shown = [i for i in range(count) if i == 0 or (i + 1) % step == 0]
    return {
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": [str(i + 1) for i in shown],
        "tickangle": 0,
        "showticklabels": True,
    }


def _share_axes(layout: Layout, axes: dict[str, Any]) -> None:
    """Tie the axes that are one and the same within a block, so that zooming one zooms all."""
    first: dict[tuple[str, str, float], str] = {}
    for i, slot in enumerate(layout.slots, 1):
        n = "" if i == 1 else str(i)
        row, column = AXES[slot.panel.name]
        for kind, letter, along in (("y", row, slot.top), ("x", column, 0.0 if column in "su" else slot.left)):
            if not letter:
                continue
            key = (kind, letter if kind == "x" else "", along)
            if key in first:
                axes[f"{kind}axis{n}"]["matches"] = first[key]
            else:
                first[key] = kind + n


def _title_note(
    slot: Slot, layout: Layout, experiment: Experiment, view: View, theme: Theme, difference: bool
) -> dict[str, Any]:
    return {
        "x": slot.left / layout.width,
        "y": 1 - slot.title / layout.height,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "align": "left",
        "font": {"size": 12, "color": theme.ink},
        "text": title(slot.panel, experiment, view, theme, difference),
    }


def _colour_bars(layout: Layout, theme: Theme, difference: bool) -> dict[str, Any]:
    signed = [s.panel for s in layout.slots if not is_share(s.panel, difference) and s.panel.name != "row_sums"]
    finite = [np.abs(p.values[np.isfinite(p.values)]).max(initial=0.0) for p in signed]
    most = float(max(finite, default=0.0)) or 1.0
    left, top = 4.0, 4.0
    words = _("difference to the unedited run") if difference else _("value, symmetric about 0")
    bars = {"coloraxis": {"cmin": -most, "cmax": most, "colorscale": theme.signed} | _bar(words, left, top, layout)}
    if any(is_share(s.panel, difference) for s in layout.slots):
        bar = _bar(_("weight, 0 to 1"), left, top + 52, layout)
        bars["coloraxis2"] = {"cmin": 0, "cmax": 1, "colorscale": theme.share} | bar
    return bars


def _bar(words: str, left: float, top: float, layout: Layout) -> dict[str, Any]:
    return {
        "colorbar": {
            "orientation": "h",
            "x": left / layout.width,
            "xanchor": "left",
            "xpad": 0,
            "y": 1 - top / layout.height,
            "yanchor": "top",
            "ypad": 0,
            "lenmode": "pixels",
            "len": 160,
            "thickness": 8,
            "nticks": 5,
            "outlinewidth": 0,
            "tickfont": {"size": 10},
            "title": {"text": html(words), "side": "top", "font": {"size": 11}},
        }
    }
