"""Lines and bars: what is not a matrix. A chart is its data first, numbers and words, and then the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnviz.figures.colours import Theme
from attnviz.figures.frame import frame
from attnviz.figures.text import html, label

Values = Sequence[float] | np.ndarray[Any, Any]


class Series(NamedTuple):
    """One line, or the bars of one colour: a number y for each x."""

    name: str  # plain text, in the legend and the tooltip
    x: Values
    y: Values
    hue: str  # an index letter, whose hue it takes
    dash: str = "solid"  # of a line: "solid", "dash" or "dot"
    spread: tuple[Values, Values] | None = None  # a band round a line: the lower and the upper y


class Scale(NamedTuple):
    """An axis of numbers, or of named places."""

    title: str
    log: bool = False
    words: tuple[str, ...] = ()  # the names of the places 0, 1, 2, ...; tokens are shown literally
    low: float | None = None  # where the axis begins and ends, where it does not follow the data
    high: float | None = None


def lines(series: Sequence[Series], x: Scale, y: Scale, theme: Theme, *, size: tuple[int, int]) -> dict[str, Any]:
    """Return a chart of lines as Plotly's plain dict; size in pixels."""
    data: list[dict[str, Any]] = []
    for one in series:
        hue = theme.letters[one.hue]
        if one.spread is not None:
            data += _band(one, hue)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(one.x) <= 40 else "lines",
                "name": html(one.name),
                "x": _floats(one.x),
                "y": _floats(one.y),
                "line": {"color": hue, "width": 2, "dash": one.dash},
                "marker": {"color": hue, "size": 6},
                "hovertemplate": "%{x:,} · %{y:.5~g}",
            }
        )
    return _chart(data, x, y, theme, size, legend=len(series) > 1)


def bars(series: Sequence[Series], x: Scale, y: Scale, theme: Theme, *, size: tuple[int, int]) -> dict[str, Any]:
    """Return bars, of several series side by side, as Plotly's plain dict; size in pixels."""
    room = (size[0] - 70) / max(1, sum(len(one.y) for one in series))
    data = [
        {
            "type": "bar",
            "name": html(one.name),
            "x": _floats(one.x),
            "y": _floats(one.y),
            "marker": {"color": theme.letters[one.hue]},
            "hovertemplate": "%{y:.6~g}",
            **({"texttemplate": "%{y:.3~g}", "textposition": "outside", "cliponaxis": False} if room >= 38 else {}),
        }
        for one in series
    ]
    chart = _chart(data, x, y, theme, size, legend=len(series) > 1)
    chart["layout"] |= {"bargap": 0.25, "barmode": "group"}
    return chart


def _chart(
    data: list[dict[str, Any]], x: Scale, y: Scale, theme: Theme, size: tuple[int, int], *, legend: bool
) -> dict[str, Any]:
    made = frame(data, {"xaxis": _axis(x, theme), "yaxis": _axis(y, theme)}, [], *size, theme)
    slanted = bool(x.words) and max(map(len, x.words)) * 7 * len(x.words) > size[0] - 80
    made["layout"] |= {
        "margin": {"l": 64, "r": 14, "t": 34 if legend else 14, "b": 76 if slanted else 46},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 12}},
        "hovermode": "closest",
        "hoverlabel": {"font": {"size": 12}},
    }
    if slanted:
        made["layout"]["xaxis"]["tickangle"] = -45
    return made


def _axis(scale: Scale, theme: Theme) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": html(scale.title), "font": {"size": 12}, "standoff": 6},
        "gridcolor": theme.hole,
        "zerolinecolor": theme.quiet,
        "linecolor": theme.quiet,
        "tickfont": {"size": 11, "color": theme.quiet},
        "fixedrange": True,
    }
    if scale.log:
        axis |= {"type": "log", "dtick": 1, "exponentformat": "power"}
    if scale.low is not None and scale.high is not None:
        ends = [scale.low, scale.high]
        axis["range"] = [float(np.log10(end)) for end in ends] if scale.log else ends
    elif not scale.log and not scale.words:
        axis["rangemode"] = "tozero"
    if scale.words:
        axis |= {
            "tickmode": "array",
            "tickvals": list(range(len(scale.words))),
            "ticktext": [label(word) for word in scale.words],
            "showgrid": False,
            "zeroline": False,
        }
    return axis


def _band(one: Series, hue: str) -> list[dict[str, Any]]:
    assert one.spread is not None
    low, high = (
        {
            "type": "scatter",
            "mode": "lines",
            "x": _floats(one.x),
            "y": _floats(edge),
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        }
        for edge in one.spread
    )
    return [low, high | {"fill": "tonexty", "fillcolor": _faint(hue)}]


def _faint(hue: str) -> str:
    r, g, b = (int(hue[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},0.18)"


def _floats(values: Values) -> np.ndarray[Any, Any]:
    return np.asarray(values, dtype=np.float64)
