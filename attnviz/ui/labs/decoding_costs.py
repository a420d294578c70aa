"""What decoding costs, with the cache and without: a table of this step, and two charts against the length."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from attnviz.figures.charts import Scale, Series, lines
from attnviz.labs.decoding import Sizes, cost, total
from attnviz.locale import _
from attnviz.ui import headings, labs, small_table, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import once

if TYPE_CHECKING:
    import pandas as pd


class Chart(NamedTuple):
    """A chart, the sentence that says what it shows, and its numbers as a table."""

    spec: dict[str, Any]
    alt: str
    table: partial[pd.DataFrame]


def show(sizes: Sizes, t: int, n: int) -> None:
    """Draw what step t of n costs, and what steps 1 to n do."""
    headings.title(_("What it costs: all heads of one layer, in float32"))
    with st.container(horizontal=True, gap="medium"):
        with st.container(width="content"):
            _numbers(sizes, t)
        charts = once("costs", (sizes, n, current_theme(), state.language()), lambda: _curves(sizes, n))
        for key, chart in charts.items():
            labs.chart(f"cost-{key}", *chart)
    st.caption(_("Without the cache each step runs all tokens so far again: the next layer needs all their rows."))


def _numbers(sizes: Sizes, t: int) -> None:
    names = [
        _("tokens projected"),
        _("multiplications"),
        _("multiplications, steps 1 to {t}"),
        _("bytes read from the cache"),
        _("bytes read, steps 1 to {t}"),
        _("bytes kept for the next step"),
    ]
    columns = []
    for cached in (True, False):
        one, all_ = cost(sizes, t, cached=cached), total(sizes, t, cached=cached)
        numbers = (one.projected, one.multiplications, all_.multiplications, one.read, all_.read, one.kept)
        columns.append([f"{count:,}" for count in numbers])
    head = _("Step {t}").format(t=t)
    small_table.show(
        {head: [name.format(t=t) for name in names], _("with cache"): columns[0], _("without"): columns[1]}
    )


def _curves(sizes: Sizes, n: int) -> dict[str, Chart]:
    """Make both charts; they say the same at every step, and stand still while the reader steps."""
    h = sizes.n_heads
    shared = [n_kv for n_kv in range(h, 0, -1) if h % n_kv == 0]
    multiplications = {
        words: [cost(sizes, t, cached=cached).multiplications for t in range(1, n + 1)]
        for words, cached in ((_("with cache"), True), (_("without"), False))
    }
    kept = {
        _("key-value heads: {n}").format(n=n_kv) if h > 1 else _("bytes"): [
            cost(sizes._replace(n_kv_heads=n_kv), t, cached=True).kept for t in range(1, n + 1)
        ]
        for n_kv in shared
    }
    return {
        "multiplications": _lines(multiplications, "us", _("multiplications in a step")),
        "bytes": _lines(kept, "dkbh", _("bytes of the cache")),
    }


def _lines(curves: dict[str, list[int]], hues: str, title: str) -> Chart:
    n = len(next(iter(curves.values())))
    spec = lines(
        [Series(name, range(1, n + 1), values, hue) for (name, values), hue in zip(curves.items(), hues, strict=False)],
        Scale(_("tokens so far")),
        Scale(title),
        current_theme(),
        size=(390, 270),
    )
    ends = ", ".join(f"{name} {values[-1]:,}" for name, values in curves.items())
    alt = _("{title} against tokens so far; at {n} tokens: {ends}.").format(title=title, n=n, ends=ends)
    return Chart(spec, alt, partial(_table, curves))


def _table(curves: dict[str, list[int]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(curves, index=pd.RangeIndex(1, 1 + len(next(iter(curves.values())))))
