"""Multi-head: the question why key-value heads are shared, and the table of what that saves and costs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.core.attention import AttentionTrace
from attnviz.figures.text import number
from attnviz.labs.heads_shared import cache_bytes, counts, heads_apart, moved, score_multiplications
from attnviz.labs.sizes import Sizes
from attnviz.locale import _
from attnviz.ui import labs, small_table
from attnviz.ui.labs.heads import tokens
from attnviz.ui.labs.heads_layer import Heads
from attnviz.ui.questions import Question, ask

LONG = 4096  # tokens of a longer text, for the bytes
Run = Callable[[int, str], AttentionTrace]  # of how many key-value heads remain, and how they are made


def question(heads: Heads, run: Run, how: str) -> bool:
    """Ask why heads share; the reason comes with a table of every number of key-value heads. Say whether it stands."""
    e = heads.experiment
    place = ask(
        Question(
            26,
            _(
                "**Why share key-value heads, and what does it cost?** Each of {h} query heads can read keys and "
                "values of its own, or several heads can read the same."
            ).format(h=e.n_heads),
            {
                "work": _("to save work in Q Kᵀ; the maps stay the same"),
                "cache": _("to keep a smaller cache; the price is that the maps move"),
                "merge": _("to save maps: heads that read the same keys have the same map"),
            },
            right="cache",
        )
    )
    if place is None:
        return False
    all_own = labs.ran("sizes", Sizes, e.d_model, e.d_k, e.d_v, n_heads=e.n_heads, n_kv_heads=e.n_heads)
    sizes = {n: all_own._replace(n_kv_heads=n) for n in counts(e.n_heads)}
    traces = {n: run(n, how) for n in sizes}
    times = {
        n: labs.ran(f"multiplications_{n}_kv_heads", score_multiplications, sizes[n], heads.n) for n in (e.n_heads, 1)
    }
    changes = {n: labs.ran(f"moved_{n}", moved, traces[e.n_heads], trace) for n, trace in traces.items()}
    short = {n: labs.ran(f"bytes_{n}_kv_heads", cache_bytes, x, heads.n) for n, x in sizes.items()}
    long = {n: labs.ran(f"bytes_{n}_kv_heads_long", cache_bytes, x, LONG) for n, x in sizes.items()}
    with place:
        st.markdown(
            _(
                "With one key-value head the cache of your {tokens} takes {one} bytes and not {all}; that of {many} "
                "{one_long} and not {all_long}. The price: the weights move by {mean} on average, by {most} at "
                "most; training makes up for part of it. Q Kᵀ takes {times} multiplications with {h} key-value heads "
                "and {times_one} with one. And the {h} maps stay different, by up to {apart}: the queries differ."
            ).format(
                tokens=tokens(heads.n),
                many=tokens(LONG),
                h=e.n_heads,
                one=f"{short[1]:,}",
                all=f"{short[e.n_heads]:,}",
                one_long=f"{long[1]:,}",
                all_long=f"{long[e.n_heads]:,}",
                mean=number(changes[1].mean, 4),
                most=number(changes[1].most, 4),
                times=f"{times[e.n_heads]:,}",
                times_one=f"{times[1]:,}",
                apart=number(labs.ran("heads_differ", heads_apart, traces[1].weights), 4),
            )
        )
        small_table.show(
            {
                _("key-value heads"): [f"{n}, {kind(e.n_heads, n)}" for n in sizes],
                _("rows of the cache that remain"): [_remain(e.n_heads, n, how) for n in sizes],
                _("bytes, {tokens}").format(tokens=tokens(heads.n)): [f"{b:,}" for b in short.values()],
                _("bytes, {tokens}").format(tokens=tokens(LONG)): [f"{b:,}" for b in long.values()],
                _("mean change of a weight"): [number(change.mean, 4) for change in changes.values()],
                _("largest change"): [number(change.most, 4) for change in changes.values()],
            }
        )
    return True


def labels(n_heads: int, n_kv: int, how: str) -> tuple[str, ...]:
    """What each key-value head that remains is made of: the numbers of the heads it stands for."""
    size = n_heads // n_kv
    firsts = range(1, n_heads + 1, size)
    return tuple(f"{i}–{i + size - 1}" if size > 1 and how == "mean" else f"{i}" for i in firsts)


def kind(n_heads: int, n_kv: int) -> str:
    """What attention with so many key-value heads is called."""
    if n_kv == n_heads:
        return _("multi-head (MHA)")
    return _("multi-query (MQA)") if n_kv == 1 else _("grouped-query (GQA)")


def _remain(n_heads: int, n_kv: int, how: str) -> str:
    words = _("means of {heads}") if how == "mean" and n_kv < n_heads else _("heads {heads}")
    return words.format(heads=", ".join(labels(n_heads, n_kv, how)))
