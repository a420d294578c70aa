"""The charts of the scale section: curves against d_k, and histograms at one d_k."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.figures.charts import Scale, Series, bars, lines
from attnviz.figures.text import html, number
from attnviz.labs.scale import SCALINGS, SHARES, SIZES, Rows, averages, by_each, drawn, histogram, rows
from attnviz.locale import _
from attnviz.ui import labs
from attnviz.ui.board import current_theme

if TYPE_CHECKING:
    import pandas as pd

HUES = {"none": "m", "sqrt": "u", "d_k": "d", "own": "s"}  # letters whose hues the scalings and the own row take
COLOURS = {"none": "gray", "sqrt": "blue", "d_k": "green", "own": "orange"}  # the same, in Markdown
NARROW, WIDE = 288, 592  # pixels of a chart: four stand in a line of 1200, or two
BINS = 41  # of the scores; odd, so that one stands at 0
SHARE_BINS = 10  # of the largest weight, from 0 to 1
CURVES = ("spread", "largest", "entropy", "gradient")  # fields of Draws and Rows
LEAST = 4.0  # where the axis of the scores ends, at least: what spreads by 1 fills it


class Setting(NamedTuple):
    """What is drawn at random, and the scale that was chosen."""

    n_keys: int
    draws: int
    seed: int
    temperature: float
    scale: str


def scalings() -> dict[str, str]:
    """Return what each scaling is called, in the order of SCALINGS."""
    return {"none": _("off"), "sqrt": "1/√d_k", "d_k": "1/d_k"}


def curves(setting: Setting, d_k: int, mine: Rows) -> None:
    """Draw what the scalings make of the rows for each d_k, and of the reader's row, at their own d_k."""
    many = (setting.n_keys, setting.draws, setting.seed)
    made = labs.ran("by_d_k", averages, *many, temperature=setting.temperature)
    most = number(math.log(setting.n_keys), 2)
    charts = {
        "spread": (_("standard deviation of the scores"), Scale("", log=True)),
        "largest": (_("largest weight"), Scale("", low=0, high=1.04)),
        "entropy": (_("entropy in nats, at most {most}").format(most=most), Scale("")),
        "gradient": (_("gradient of the softmax"), Scale("")),
    }
    with st.container(horizontal=True, gap="small"):
        for pair in (CURVES[:2], CURVES[2:]):  # so that what does not stand in one line stands two by two
            with st.container(horizontal=True, gap="small", width=WIDE):
                for name in pair:
                    words, y = charts[name]
                    _curve(setting, name, words, y, getattr(made, name), (d_k, float(getattr(mine, name))))


def _curve(
    setting: Setting,
    name: str,
    words: str,
    y: Scale,
    shares: Tensor,
    mine: tuple[int, float],
) -> None:
    """Draw one statistic, (share, scaling, size), or (scaling, size) where it is one number of all rows."""
    has_band = shares.ndim == 3
    low, middle, high = (shares if has_band else shares.expand(len(SHARES), -1, -1)).tolist()
    series = []
    for i, (scaling, label) in enumerate(scalings().items()):
        chosen = scaling == setting.scale
        spread = (low[i], high[i]) if chosen and has_band else None
        series.append(Series(label, SIZES, middle[i], HUES[scaling], "solid" if chosen else "dash", spread))
    series.append(Series(_("your own row"), [mine[0]], [mine[1]], HUES["own"]))
    spec = lines(series, Scale("d_k", log=True, low=0.8, high=640), y, current_theme(), size=(NARROW, 240))
    _head(spec, words, left=40)
    spec["layout"]["xaxis"] |= _ticks(SIZES[::2])
    if y.log:
        spec["layout"]["yaxis"] |= _ticks((0.001, 0.01, 0.1, 1, 10, 100))
    spec["data"][-1]["marker"] |= {"symbol": "diamond", "size": 10}
    ends = ", ".join(
        f"{label} {number(values[0], 4)} → {number(values[-1], 4)}"
        for label, values in zip(scalings().values(), middle, strict=True)
    )
    alt = _("{name} from d_k = 1 to {most}: {ends}; your own row: {mine}.").format(
        name=words, most=SIZES[-1], ends=ends, mine=number(mine[1], 4)
    )
    at = SCALINGS.index(setting.scale)
    band = (low[at], high[at]) if has_band else None
    labs.chart(f"scale-{name}", spec, alt, partial(_curve_table, middle, setting.scale, band, mine))


def histograms(setting: Setting, d_k: int) -> None:
    """Draw the scores at one d_k by the chosen scaling, and the largest weight of each row by all."""
    scores = labs.ran("drawn_scores", drawn, d_k, setting.n_keys, setting.draws, setting.seed)  # (row, u)
    scaled = labs.ran("drawn_scaled", by_each, scores, d_k, setting.temperature)  # (scaling, row, u)
    words, chosen = scalings(), SCALINGS.index(setting.scale)
    of_scores = scaled[chosen]
    most = max(LEAST, math.ceil(float(of_scores.abs().max())))
    name = _("scores, scale {scaling}, d_k = {d_k}").format(scaling=words[setting.scale], d_k=d_k)
    spread = _("standard deviation {spread}").format(spread=number(float(of_scores.std(correction=0)), 2))
    bins = {setting.scale: labs.ran("bins_of_scores", histogram, of_scores, -most, most, BINS)}
    by_scaling = zip(SCALINGS, labs.ran("drawn_rows", rows, scaled).largest, strict=True)
    of_largest = {
        scaling: labs.ran(f"bins_of_largest_{scaling}", histogram, largest, 0, 1, SHARE_BINS)
        for scaling, largest in by_scaling
    }
    with st.container(horizontal=True, gap="small"):
        _histogram("scale-drawn", f"{name} · {spread}", name, bins, Scale("", low=-most, high=most))
        name = _("largest weight of a row, d_k = {d_k}").format(d_k=d_k)
        _histogram("scale-rows", name, name, of_largest, Scale("", low=0, high=1))


def _histogram(key: str, head: str, name: str, bins: dict[str, tuple[Tensor, Tensor]], x: Scale) -> None:
    words = scalings()
    series = [Series(words[code], middle.numpy(), share.numpy(), HUES[code]) for code, (middle, share) in bins.items()]
    spec = bars(series, x, Scale(_("share")), current_theme(), size=(WIDE, 240))
    _head(spec, head, left=56)
    spec["layout"]["margin"]["b"] = 28
    tops = "; ".join(
        _("{scaling} has its highest bar, {share}, at {value}").format(
            scaling=words[code], share=number(float(share.max()), 4), value=number(float(middle[share.argmax()]), 2)
        )
        for code, (middle, share) in bins.items()
    )
    alt = _("Histogram of {name}: {tops}.").format(name=name, tops=tops)
    labs.chart(key, spec, alt, partial(_bins_table, bins))


def _head(spec: dict[str, Any], words: str, *, left: int) -> None:
    """Write a title in the place of the legend, which stands above all charts once."""
    spec["layout"]["showlegend"] = False
    spec["layout"]["margin"] |= {"l": left, "t": 30}
    place = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
    spec["layout"]["title"] = {"text": html(words), "font": {"size": 14}, "pad": {"t": 6, "l": 4}, **place}


def _ticks(at: tuple[float, ...]) -> dict[str, Any]:
    return {"tickmode": "array", "tickvals": list(at), "ticktext": [f"{value:g}" for value in at]}


def _curve_table(
    middle: list[list[float]], chosen: str, band: tuple[list[float], list[float]] | None, mine: tuple[int, float]
) -> pd.DataFrame:
    """The numbers of the lines, of the band around the chosen one, and of the reader's own row."""
    import pandas as pd

    columns = dict(zip(scalings().values(), middle, strict=True))
    if band is not None:
        label = scalings()[chosen]
        columns[_("{name}: 10 % of rows lie below").format(name=label)] = band[0]
        columns[_("{name}: 90 % of rows lie below").format(name=label)] = band[1]
    table = pd.DataFrame(columns, index=pd.Index(SIZES, name="d_k"))
    own = pd.DataFrame({_("your own row"): [mine[1]]}, index=pd.Index([mine[0]], name="d_k"))
    return table.join(own, how="outer")


def _bins_table(bins: dict[str, tuple[Tensor, Tensor]]) -> pd.DataFrame:
    import pandas as pd

    (middles, _shares), *_rest = bins.values()
    columns = {scalings()[code]: share.tolist() for code, (_middle, share) in bins.items()}
    return pd.DataFrame(columns, index=pd.Index([f"{value:.4g}" for value in middles.tolist()]))
