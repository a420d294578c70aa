"""What decoding costs, with the cache and without: a table of this step, and two charts against the length."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from attnviz.figures.charts import Scale, Series, lines
from attnviz.labs.decoding_costs import bytes_by_step, cost, multiplications_by_step, total
from attnviz.labs.heads_shared import counts
from attnviz.labs.sizes import Sizes
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
        _numbers(sizes, t)
        curves = once("cost_curves", (sizes, n), lambda: _curves(sizes, n))
        _record(sizes, n, curves)
        charts = once("costs", (sizes, n, current_theme(), state.language()), lambda: _charts(sizes.n_heads, curves))
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
        one = labs.ran(_named("step", cached), cost, sizes, t, cached=cached)
        all_ = labs.ran(_named("steps", cached), total, sizes, t, cached=cached)
        numbers = (one.projected, one.multiplications, all_.multiplications, one.read, all_.read, one.kept)
        columns.append([f"{count:,}" for count in numbers])
    head = _("Step {t}").format(t=t)
    small_table.show(
        {head: [name.format(t=t) for name in names], _("with cache"): columns[0], _("without"): columns[1]}
    )


def _named(what: str, cached: bool) -> str:
    """What a cost is called in a program."""
    return f"{what}_with_cache" if cached else f"{what}_without"


class Curves(NamedTuple):
    """The numbers of both charts, against the tokens so far."""

    multiplications: dict[bool, list[int]]  # with the cache, and without
    kept: dict[int, list[int]]  # bytes, by the number of key-value heads


def _curves(sizes: Sizes, n: int) -> Curves:
    return Curves(
        {cached: multiplications_by_step(sizes, n, cached=cached) for cached in (True, False)},
        {n_kv: bytes_by_step(sizes._replace(n_kv_heads=n_kv), n) for n_kv in counts(sizes.n_heads)},
    )


def _record(sizes: Sizes, n: int, curves: Curves) -> None:
    for cached, made in curves.multiplications.items():
        labs.made(_named("multiplications", cached), made, multiplications_by_step, sizes, n, cached=cached)
    for n_kv, made in curves.kept.items():
        labs.made(f"bytes_{n_kv}_kv_heads", made, bytes_by_step, sizes._replace(n_kv_heads=n_kv), n)


def _charts(h: int, curves: Curves) -> dict[str, Chart]:
    """Make both charts; they say the same at every step, and stand still while the reader steps."""
    words = {True: _("with cache"), False: _("without")}
    bytes_ = {_("key-value heads: {n}").format(n=n) if h > 1 else _("bytes"): made for n, made in curves.kept.items()}
    return {
        "multiplications": _lines(
            {words[cached]: made for cached, made in curves.multiplications.items()},
            "us",
            _("multiplications in a step"),
        ),
        "bytes": _lines(bytes_, "dkbh", _("bytes of the cache")),
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
