"""Positions: the part that asks whether attention knows the order of its tokens, and lets one shuffle them."""

from __future__ import annotations

from typing import Any

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.masks import causal
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, markdown
from attnviz.figures.titles import role
from attnviz.labs.positions import Head, Order, Shuffled, changed, random_order, read_order, shuffle
from attnviz.limits import TEXTS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import board, controls, labs, state
from attnviz.ui.compute import Computed
from attnviz.ui.labs import positions
from attnviz.ui.labs.positions import small
from attnviz.ui.questions import Question, ask, progress

ROUNDING = 1e-6  # of weights, which are 1 at the most: what is closer differs by float32's rounding alone


@labs.live
def show(computed: Computed) -> None:
    """Draw the part."""
    progress(16)
    head, place = _head(computed), _ask()
    positions.choose()
    positions.say(head)
    board.windows(computed)
    charts = [positions.compare(computed, head), *_order(computed, head, place)]
    labs.connect(computed, charts, selected={"name": "weights", "row": computed.view.s, "col": computed.view.u})


def _head(computed: Computed) -> Head:
    """The head, which the program that is taken home makes once."""
    head, default = positions.head(computed), Head._field_defaults
    said = {field: one for field, one in head._asdict().items() if field not in default or one != default[field]}
    return labs.made("head", head, Head, **said)


@labs.part("order")
def _order(computed: Computed, head: Head, place: DeltaGenerator | None) -> list[dict[str, Any]]:
    read = read_order(computed.view.lab.order, positions.length(computed))
    charts = []
    _type(computed, read)
    if read.order != tuple(range(len(head.x))):
        found = labs.ran("shuffled", shuffle, head, read.order)
        _say(head, found)
        charts.append(_shuffled(computed, read, found))
    if place is not None:
        place.markdown(_answer(head, read))
    return charts


def _ask() -> DeltaGenerator | None:
    return ask(
        Question(
            16,
            _(
                "**Does attention know the order of its tokens?** There are no positions and no mask, and you shuffle "
                "the words. What happens to the weights?"
            ),
            {
                "rows": _("they all change: row 1 belongs to whatever word comes first"),
                "same": _("each moves with its two tokens, and keeps its value"),
                "near": _("words that become neighbours read each other more"),
            },
            right="same",
        )
    )


def _answer(head: Head, read: Order) -> str:
    n = len(head.x)
    if n == 1:
        return _("One token has one order only: type a second word.")
    as_it_was = read.order == tuple(range(n))
    order = read.order[::-1] if as_it_was else read.order
    bare = head._replace(positions="none", seen=None)
    kind = "sinusoidal" if head.positions == "none" else head.positions
    earlier = labs.ran("earlier_tokens", causal, n, n)
    nothing, places, hidden = (
        labs.ran(name, changed, one, order)
        for name, one in (
            ("changed_without_both", bare),
            ("changed_with_positions", bare._replace(positions=kind)),
            ("changed_with_mask", bare._replace(seen=earlier)),
        )
    )
    return _(
        "A score is the product of two tokens' vectors, and where they stand is not among them. {shuffled}, your "
        "weights keep their values (largest difference {weights}), and so do the outputs ({outputs}): what is left "
        "is rounding. With positions ({kind}) weights change by up to **{places}**; with a causal mask alone by "
        "**{hidden}**, for it says who comes first."
    ).format(
        shuffled=_("Read backwards") if as_it_was else _("Shuffled"),
        weights=small(nothing.weights),
        outputs=small(nothing.output),
        kind=controls.positions()[kind],
        places=small(places.weights),
        hidden=small(hidden.weights),
    )


def _type(computed: Computed, read: Order) -> None:
    n = positions.length(computed)
    moved, bound = read.order != tuple(range(n)), state.of_lab("order")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            _("Order of the tokens, by number"),
            max_chars=TEXTS["order"],
            placeholder=" ".join(map(str, range(1, min(n, 12) + 1))) + (" …" if n > 12 else ""),
            autocomplete="off",
            width=420,
            **(bound if moved else labs.whole(bound)),  # which then has one figure more
        )
        st.button(_("Shuffle"), key="order:shuffle", on_click=_shuffle, args=(n, read.order), disabled=n == 1)
        as_it_was = not computed.view.lab.order
        st.button(_("As it was"), key="order:reset", on_click=_reset, disabled=as_it_was)
    if read.problem:
        words = {
            "word": _("“{at}” is no number: write the tokens' numbers, 1 to {n}, with spaces or commas between them."),
            "range": _("There is no token {at}: write numbers from 1 to {n}."),
            "twice": _("Token {at} stands there twice: write each number once."),
            "missing": _("Token {at} is missing: write all numbers from 1 to the largest."),
        }[read.problem]
        st.warning(words.format(at=markdown(read.at), n=n))


def _shuffle(n: int, now: tuple[int, ...]) -> None:
    """Write another order into the box. A callback."""
    pressed = st.session_state.get("_shuffles", 0)
    while (order := random_order(n, pressed)) == now and n > 2:
        pressed += 1
    st.session_state["_shuffles"] = pressed + 1
    state.set_lab(order=" ".join(str(i + 1) for i in order))
    if now == tuple(range(n)):
        st.rerun("lab")


def _reset() -> None:
    """Empty the box. A callback."""
    state.set_lab(order="")
    st.rerun("lab")


def _say(head: Head, found: Shuffled) -> None:
    """Say what the shuffle changed, and why."""
    weights, outputs = small(found.weights), small(found.output)
    if not abs(found.weights) < float("inf"):
        words = _("Some numbers are ∞ or NaN here, so that nothing can be compared.")
    elif found.weights <= ROUNDING:
        words = _(
            "Put back, **nothing has changed**: largest difference {weights} in the weights and {outputs} in the "
            "outputs, which is rounding. Rows, columns and outputs moved with their tokens."
        )
    elif head.positions == "none" and head.seen is None:
        words = _("Put back, weights differ by up to {weights}: your scores are so large that rounding shows.")
    else:
        words = _("Put back, weights differ by up to **{weights}** and outputs by **{outputs}**: {why}.")
    if head.positions == "none":
        why = _("the mask knows places")
    else:
        why = _("positions know places") if head.seen is None else _("positions and mask know places")
    st.markdown(words.format(weights=weights, outputs=outputs, why=why))


def _shuffled(computed: Computed, read: Order, found: Shuffled) -> dict[str, Any]:
    """Draw the weights of the shuffled text, put back, and their difference to those before."""
    names, view = positions.words_of(computed), computed.view
    # A map of other tokens than the page's has letters of its own; it is cut to the window that the others show.
    rows, columns = (slice(max(0, min(first, len(names) - TOKENS_SHOWN)), None) for first in (view.from_s, view.from_u))
    moved = tuple(names[i] for i in read.order)
    tokens = (Axis("s", names), Axis("u", names))
    shuffled, put_back = html(_("shuffled")), html(_("put back"))
    after = Map(
        "after",
        f"<b>a</b> {shuffled}",
        found.after.weights[rows, columns][:TOKENS_SHOWN, :TOKENS_SHOWN],
        Axis("", moved[rows][:TOKENS_SHOWN], role("s")),
        Axis("", moved[columns][:TOKENS_SHOWN], role("u")),
        scale="share",
    )
    back = Map("back", f"<b>a</b> {put_back}", found.back, *tokens, scale="share")
    difference = labs.ran("difference", torch.sub, found.back, found.before.weights)  # (s, u)
    words = symbol = _("put back − before")
    if 0 < found.weights <= ROUNDING:
        words = _("put back − before: equal up to rounding")
    change = Map("change", html(words), difference, *tokens, least=ROUNDING)
    made = labs.maps(computed, "maps-shuffled", [after, back, change], bars={"signed": _("difference")})
    made["panels"][-1]["symbol"] = symbol  # in the tooltip, whatever is left of the difference
    return made
