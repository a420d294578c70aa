"""One head: the board and the cells of Explore with a trained model's own numbers, and whether they are its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
import torch

from attnviz.core.arithmetic import explain
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import bold, html
from attnviz.figures.titles import plain_symbol
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import board, labs, state, terms
from attnviz.ui.board import Charts, current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.models.chosen import Chosen, Shown, stand_in, token_boxes
from attnviz.ui.tables import table

EQUAL = 1e-6  # of weights
STEPS = ("scores", "weights", "output")  # that are written out without a board


def has_board(chosen: Chosen) -> bool:
    """Say whether the head can be drawn as Explore's board, whose map is square and whose scores are only scaled."""
    return chosen.square and chosen.read.softcap is None


def show(chosen: Chosen, computed: Computed) -> Shown:
    """Draw the head's numbers: as the board, else as maps and the cell in words."""
    st.caption(_real())
    if chosen.read.bias is not None:
        st.caption(
            _("This model adds a bias for the distance of two tokens to the scaled scores: it stands in the mask.")
        )
    if state.view().lab.grouped:
        st.caption(_("The board is of pieces, whose numbers it can write out; words stand under “Lines and text”."))
    if has_board(chosen):
        panels = ("query", "key", "scores", "masked", "weights", "value", "output")
        labs.tables("board", [(plain_symbol(name), partial(table, computed, name)) for name in panels])
        return Shown(board.show(computed, "scores", "output"), computed, chosen.keys)
    now = windows(chosen.queries, chosen.keys, computed)
    charts = [labs.maps(now, "maps-head", _maps(chosen))]
    _cell(chosen, now)
    return Shown(charts, now, chosen.keys)


def _real() -> str:
    return _("Q, K and V are the model's own, after all that it does to them before they meet: norms and rotation.")


def check(chosen: Chosen) -> None:
    """Say how far our numbers are from the model's own, or from torch's."""
    try:
        found = chosen.job.check(chosen.part.kind, chosen.layer)
    except ValueError:  # a soft cap, and no weights returned
        return
    words = {
        "model": _("Check, all heads of layer {layer}: softmax(q·k) equals the weights that the model itself returned"),
        "torch": _(
            "Check, all heads of layer {layer}: softmax(q·k) equals torch's own fused attention on the same tensors"
        ),
    }[found.by].format(layer=chosen.layer + 1)
    if found.weights > EQUAL:
        words = _(
            "Check, all heads of layer {layer}: softmax(q·k) is not within 1e-6 of what it is compared with"
        ).format(layer=chosen.layer + 1)
    sign = "✓" if found.weights <= EQUAL else "⚠"
    apart = _("largest difference {weights} of a weight, {output} of an output.").format(
        weights=f"{found.weights:.1e}", output=f"{found.output:.1e}"
    )
    st.caption(f"{sign} {words}: {apart}")


def groups(chosen: Chosen) -> Charts:
    """Draw which query heads read the same key-value head, where they share."""
    n_heads, n_kv = chosen.read.query.shape[0], chosen.read.key.shape[0]
    if n_heads == n_kv:
        return []
    mine = chosen.head * n_kv // n_heads
    others = [h + 1 for h in range(n_heads) if h * n_kv // n_heads == mine]
    st.caption(
        _("{n} query heads read {n_kv} key-value heads: heads {heads} share number {mine}.").format(
            n=n_heads, n_kv=n_kv, heads=", ".join(map(str, others)), mine=mine + 1
        )
    )
    reads = torch.arange(n_heads)[:, None] * n_kv // n_heads == torch.arange(n_kv)  # (h, h_kv)
    one = Map(
        "reads",
        html(_("which K and V a head reads")),
        reads,
        Axis("h", (), _("query head")),
        Axis("", (), _("key-value head")),
        "truth",
    )
    return [labs.maps(stand_in(chosen.queries, chosen.keys), "maps-groups", [one])]


def windows(queries: Sequence[str], keys: Sequence[str], computed: Computed) -> Computed:
    """Offer which tokens of long texts are drawn, each of its own length, and return the view with them."""
    starts: dict[str, Any] = {}
    sizes = {"from_s": len(queries), "from_u": len(keys)}
    words = {"from_s": _("First query shown"), "from_u": _("First key shown")}
    with st.container(horizontal=True):
        for field, size in sizes.items():
            last = max(0, size - TOKENS_SHOWN)
            starts[field] = min(getattr(state.view(), field), last)
            if last:
                key = f"first:{field}"
                st.session_state[key] = starts[field] + 1  # on screen, tokens count from 1
                st.slider(words[field], 1, last + 1, key=key, on_change=state.look_at, args=(field, key))
    return computed._replace(view=replace(computed.view, **starts))


def _maps(chosen: Chosen) -> list[Map]:
    trace, hues = chosen.read.trace(chosen.head), current_theme().letters
    s, u = Axis("s", chosen.queries), Axis("u", chosen.keys)
    return [
        Map("query", f"<b style='color:{hues['s']}'>Q</b>", trace.query[0], s, Axis("k")),
        Map("key", f"<b style='color:{hues['u']}'>K</b>", trace.key[0], u, Axis("k")),
        Map("scores", "<b>S</b>", trace.scores[0], s, u),
        Map("masked", bold(_("masked")), trace.masked[0], s, u),
        Map("weights", "<b>a</b>", trace.weights[0], s, u, scale="share", sums="rows"),
        Map("value", f"<b style='color:{hues['d']}'>V</b>", trace.value[0], u, Axis("d")),
        Map("output", f"<b style='color:{hues['d']}'>O</b>", trace.output[0], s, Axis("d")),
    ]


def _cell(chosen: Chosen, computed: Computed) -> None:
    """Write out the chosen cell of maps that are no board: its sum, term by term."""
    token_boxes(computed, chosen.keys)
    trace, view = chosen.read.trace(chosen.head), computed.view
    view = replace(
        view,
        step=view.step if view.step in STEPS else "weights",
        feature=min(view.feature, trace.output.shape[-1] - 1),
    )
    row, column = view.s, view.feature if view.step == "output" else view.u
    explained = explain(trace, view.step, (0, row, column))
    st.markdown(terms.equals(view, explained))
    of_keys = computed._replace(run=computed.run._replace(tokens=(chosen.keys,)))  # what is summed over u
    terms.show_table(of_keys, view, explained)


def clicked(cell: dict[str, Any], letters: tuple[str, str]) -> dict[str, Any]:
    """Return what a click on a map changes of the view: its tokens, and the cell that is written out."""
    at = dict(zip(letters, (int(cell["row"]), int(cell["col"])), strict=True))
    found: dict[str, Any] = {letter: i for letter, i in at.items() if letter in ("s", "u")}
    if found and cell["name"] in STEPS:
        found["step"] = cell["name"]
    if cell["name"] == "output":
        found["feature"] = at["d"]
    return found
