"""Multi-head: the part on key-value heads that query heads share, what the cache saves and how far the maps move."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import streamlit as st
import torch

from attnviz.core.attention import AttentionTrace
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import bold, html, number
from attnviz.labs.heads import apart
from attnviz.labs.heads_shared import counts, moved, reads, shared, to_front
from attnviz.locale import _
from attnviz.ui import board, labs, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs import heads_costs
from attnviz.ui.labs.heads import note
from attnviz.ui.labs.heads_costs import Run
from attnviz.ui.labs.heads_layer import Heads, grouped, mask, of, trace
from attnviz.ui.labs.roles import words_of
from attnviz.ui.questions import progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(26)
    heads = of(computed, own_keys=True)
    run, kept = _runs(computed, heads)
    answered = heads_costs.question(heads, run, computed.view.lab.shared_by)
    note(computed, heads)
    board.windows(computed)
    _maps(computed, heads, kept if answered else run)


@labs.part("kv_heads", connects=True)
def _maps(computed: Computed, heads: Heads, run: Run) -> None:
    lab, n_heads = computed.view.lab, heads.experiment.n_heads
    n_kv = next(n for n in counts(n_heads) if n <= lab.kv_heads)
    own = run(n_heads, lab.shared_by)
    _choose(n_heads, n_kv)
    now = run(n_kv, lab.shared_by)
    labels = heads_costs.labels(n_heads, n_kv, lab.shared_by)
    _say(heads, own, now, lab.shared_by)
    h, words = heads.h, words_of(computed)
    s, u = Axis("s", words), Axis("u", words)
    group = h * n_kv // n_heads
    change = labs.ran("change", torch.sub, now.weights[h], own.weights[h])
    chart = labs.maps(
        computed,
        "maps-shared",
        [
            Map(
                "reads",
                bold(_("who reads which")),
                labs.ran("who_reads", reads, n_heads, n_kv),
                Axis("h", (), _("query head")),
                Axis("", labels, _("key-value head")),
                scale="truth",
            ),
            Map("own", _titled("a", _("own keys")), own.weights[h], s, u, scale="share"),
            Map("shared", _titled("a′", _("shared keys")), now.weights[h], s, u, scale="share"),
            Map("change", "<b>a′ − a</b>", change, s, u, scale="difference"),
        ],
        bars={"truth": _("1: reads it")},
    )
    labs.connect(
        computed,
        [chart],
        selected={"name": "reads", "row": h, "col": group},
        on_cell=_look,
        in_part=True,
    )


def _runs(computed: Computed, heads: Heads) -> tuple[Run, Run]:
    """Return shared() of the layer, each result of which is kept for this run of the page; the first also records it.

    A name that the answer recorded is not the part's to record, which would forget it when it runs again.
    """
    query, key, value, *_steps = trace(computed, heads)  # (h, s, k), (h, u, k), (h, u, d)
    if grouped(computed.experiment):
        n_kv = computed.experiment.n_kv_heads or 1
        key = labs.ran("keys_in_front", to_front, key, n_kv)
        value = labs.ran("values_in_front", to_front, value, n_kv)
    given: dict[str, Any] = {"mask": mask(computed, heads), "scale": heads.run.scale}
    kept = cache(partial(shared, query, key, value, **given))

    def run(n_kv_heads: int, how: str) -> AttentionTrace:
        made = kept(n_kv_heads, how)
        return labs.made(f"kv_heads_{n_kv_heads}", made, shared, query, key, value, n_kv_heads, how, **given)

    return run, kept


def _look(cell: dict[str, Any]) -> None:
    """Choose the head that was clicked in the map of who reads which, or the tokens in another."""
    if cell["name"] == "reads":
        state.look(h=int(cell["row"]))
    else:
        state.look(s=int(cell["row"]), u=int(cell["col"]))


def _choose(n_heads: int, n_kv: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound = state.of_lab("kv_heads")
        st.session_state[bound["key"]] = n_kv
        st.segmented_control(_("Key-value heads"), counts(n_heads), required=True, **bound)
        st.segmented_control(
            _("A shared head is"),
            ("mean", "first"),
            required=True,
            format_func={"mean": _("the mean of its group"), "first": _("the first of its group")}.__getitem__,
            **labs.whole(state.of_lab("shared_by", worded=True)),  # the answer above has it too
        )


def _say(heads: Heads, own: AttentionTrace, now: AttentionTrace, how: str) -> None:
    n_heads, n_kv, h = heads.experiment.n_heads, len(now.key), heads.h
    size = n_heads // n_kv
    if size == 1:
        said = _("**{kind}:** each of the {n} query heads reads a key-value head of its own. Nothing moves.")
    elif how == "mean":
        said = _(
            "**{kind}:** query heads {first} to {last} read the mean of key-value heads {first} to {last}. The map of "
            "head {h} moves: a weight by {mean} on average, and by {most} at most."
        )
    elif h % size == 0:
        said = _("**{kind}:** query heads {first} to {last} read key-value head {first}. For head {h} nothing moves.")
    else:
        said = _(
            "**{kind}:** query heads {first} to {last} read key-value head {first}. The map of head {h} moves: a "
            "weight by {mean} on average, and by {most} at most."
        )
    st.markdown(
        said.format(
            kind=heads_costs.kind(n_heads, n_kv),
            n=n_heads,
            first=h // size * size + 1,
            last=h // size * size + size,
            h=h + 1,
            mean=number(float(labs.ran("movement", moved, own, now).by_head[h]), 4),
            most=number(labs.ran("moved_most", apart, now.weights[h], own.weights[h]), 4),
        )
    )


def _titled(symbol: str, words: str) -> str:
    return f"<b>{symbol}</b> {html(words)}"
