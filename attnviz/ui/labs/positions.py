"""Positions: what the parts of the page share, and the kinds of positions on the reader's own sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st
import torch
from torch import Tensor

from attnviz import locale
from attnviz.core.embeddings import embed
from attnviz.core.positions import alibi_slopes
from attnviz.figures.maps import Axis, Map
from attnviz.figures.panels import matrix
from attnviz.figures.text import MINUS, html, markdown, number
from attnviz.figures.titles import role
from attnviz.labs.positions import ADDED, ROTATIONS, Head, attend, picture
from attnviz.letters import relabel
from attnviz.locale import _
from attnviz.ui import controls, labs, state, widgets
from attnviz.ui.compute import Computed


def length(computed: Computed) -> int:
    """Return how many tokens the chosen sequence has, without its padding."""
    return computed.run.lengths[computed.view.b]


def words_of(computed: Computed) -> tuple[str, ...]:
    """Return the tokens of the chosen sequence, without its padding."""
    return computed.run.tokens[computed.view.b][: length(computed)]


def head(computed: Computed) -> Head:
    """Return the head that is shown, of the chosen sequence without its padding."""
    e, run, view, n = computed.experiment, computed.run, computed.view, length(computed)
    w_q, w_k, w_v = (matrix(run, name, view.b, view.h) for name in ("w_q", "w_k", "w_v"))
    seen = None if run.seen is None else run.seen[view.b, 0, :n, :n]  # (s, u)
    own = embed(words_of(computed), e.d_model, e.seed) if e.positions in ADDED else run.x[view.b, :n]  # (s, m)
    return Head(
        own,
        w_q,
        w_k,
        w_v,
        run.scale,
        e.positions,
        e.seed,
        float(alibi_slopes(e.n_heads)[view.h]),
        None if seen is None or bool(seen.all()) else seen,
        _typed(computed),
    )


def _typed(computed: Computed) -> dict[str, Tensor]:
    """The numbers that were typed into this head: (s, features), NaN where none was."""
    e, view, n = computed.experiment, computed.view, length(computed)
    kv = view.h * (e.n_kv_heads or e.n_heads) // e.n_heads
    first = {"x": 0, "q": view.h * e.d_k, "k": kv * e.d_k, "v": kv * e.d_v}
    sizes = {"x": e.d_model, "q": e.d_k, "k": e.d_k, "v": e.d_v}
    typed: dict[str, Tensor] = {}
    for name in e.edits.keys() & first.keys():
        cells = torch.full((n, sizes[name]), torch.nan)
        for (b, s, feature), value in e.edits[name]:
            if b == view.b and s < n and 0 <= feature - first[name] < sizes[name]:
                cells[s, feature - first[name]] = value
        typed[name] = cells
    return typed


def choose() -> None:
    """Offer the kinds of positions. The popover above has the same control, so that this one has a key of its own."""
    words, key = controls.positions(), f"lab:positions.{locale.current()}"
    st.session_state[key] = state.experiment().positions
    st.segmented_control(
        _("Positions"),
        list(words),
        required=True,
        format_func=words.__getitem__,
        key=key,
        on_change=_take,
        args=(key,),
    )


def _take(key: str) -> None:
    state.change(replace(state.experiment(), positions=widgets.sent(key)))


def say(shown: Head) -> None:
    """Say in a sentence what the chosen positions do, and to what."""
    said = {
        "none": _("No positions: a token is its vector, wherever it stands."),
        "sinusoidal": _("p is added to X: waves of the place, sin in one feature and cos in the next."),
        "learned": _("p is added to X: a vector for each place, random here as before any training."),
        "rope_half": _("Queries and keys are rotated: feature i turns with i + d_k/2 by the angles below."),
        "rope_interleaved": _("Queries and keys are rotated: feature 2i − 1 turns with 2i by the angles below."),
        "alibi": _("A cost is added to the scores: {slope} a token of distance, in this head."),
    }[shown.positions].format(slope=number(-shown.slope, 4))
    if shown.positions == "alibi" and shown.slope < 0.01:
        said += " " + _("That is little: with 8 heads the first one pays 0.5.")
    st.caption(said.replace("d_k", r"d\_k"))


def small(value: float) -> str:
    """Print a difference that may be tiny.

    >>> small(0.0), small(1.2e-7), small(0.25)
    ('0', '1.2e−07', '0.2500')
    """
    if value == 0:
        return "0"
    return f"{value:.1e}".replace("-", MINUS) if abs(value) < 0.001 else number(value, 4)


def compare(computed: Computed, shown: Head) -> dict[str, Any]:
    """Draw the weights without positions, with those that are chosen, and these themselves."""
    words = words_of(computed)
    tokens = (Axis("s", words), Axis("u", words))
    bare = shown._replace(positions="none")
    bare_weights = None if shown.positions == "none" else labs.ran("without_positions", attend, bare).weights
    weights = labs.ran("attended", attend, shown).weights
    title = html(controls.positions()[shown.positions])
    drawn = [Map("weights", f"<b>a</b> {title}", weights, *tokens, scale="share", sums="rows")]
    if bare_weights is not None:
        title = html(_("no positions"))
        drawn.insert(0, Map("bare", f"<b>a</b> {title}", bare_weights, *tokens, scale="share", sums="rows"))
    itself = picture(shown)
    if itself is not None:
        name = "added" if shown.positions in ADDED else "angles" if shown.positions in ROTATIONS else "cost"
        labs.made(name, itself, picture, shown)
        drawn.append(_itself(shown.positions, itself, *tokens))
    bars = {
        "added": _("p, added to X"),
        "amount angle": _("angle in radians"),
        "cost": _("ALiBi, added to the scores"),
    }
    return labs.maps(computed, "maps-positions", drawn, bars=bars)


def _itself(positions: str, values: Tensor, s: Axis, u: Axis) -> Map:
    if positions in ADDED:
        return Map("positions", "<b>p</b>", values, s, Axis("m"), scale="added")
    if positions in ROTATIONS:
        pairs, title = Axis("", (), _("pair")), html(_("angles"))
        return Map("positions", f"<b>{title}</b>", values, s, pairs, scale="amount angle")
    return Map("positions", "<b>ALiBi</b>", values, s, u, scale="cost")


def pick(computed: Computed) -> tuple[int, int]:
    """Offer a query token and a key token by number, which a click on a map sets as well; return them, from 0."""
    words, at = words_of(computed), []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for letter in "su":
            i, key = min(getattr(computed.view, letter), len(words) - 1), f"pick:{letter}"
            st.session_state[key] = i + 1  # on screen, tokens count from 1
            label = f"{role(letter)} {relabel(letter, computed.view.letters)} = {markdown(words[i])}"
            st.number_input(label, 1, len(words), None, key=key, on_change=state.look_at, args=(letter, key), width=240)
            at.append(i)
    return at[0], at[1]
