"""What changes without a head or an edge: the next token's probabilities, or the sentence's embedding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from torch import Tensor

from attnviz.figures.charts import Scale, Series, bars
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import markdown, number, visible
from attnviz.letters import relabel
from attnviz.limits import HEADS_SILENCED
from attnviz.locale import _
from attnviz.models.knockouts import Knockout, angle_moved, share_moved
from attnviz.models.reading import Guess, Reading
from attnviz.ui import labs, state
from attnviz.ui.board import current_theme
from attnviz.ui.compute import Computed
from attnviz.ui.models import silencing, waiting
from attnviz.ui.models.chosen import Chosen, Shown, called, explain_bytes, titled, token_boxes
from attnviz.ui.models.head import windows

if TYPE_CHECKING:
    import pandas as pd

BARS = 8  # next tokens of each of the two that are drawn


def show(chosen: Chosen, computed: Computed) -> Shown:
    """Choose what is silent, and draw what changes."""
    held, n_other = silencing.read(state.view().lab.silenced, chosen.reading.parts)
    if n_other:
        st.caption(_("Some of what the link knocks out does not fit this text or model, and is left alone."))
    now = windows(chosen.queries, chosen.keys, computed)
    token_boxes(now, chosen.keys)
    _offer(chosen, now, held)
    if not held:
        st.markdown(
            _(
                "Nothing is knocked out yet. A silent head's output is 0; the weight of a hidden edge goes to the "
                "others of its row."
            )
        )
        after = chosen.reading
    else:
        job = waiting.job(chosen.job.wanted._replace(knockouts=held), "silenced")
        after = waiting.reading_of(job)
        _say(chosen.reading, after)
    return Shown([labs.maps(now, "maps-silenced", _maps(chosen, after, bool(held)))], now, chosen.keys)


def _offer(chosen: Chosen, now: Computed, held: tuple[Knockout, ...]) -> None:
    head = Knockout(chosen.part.kind, chosen.layer, chosen.head)
    edge = head._replace(s=now.view.s, u=now.view.u)
    letters = {letter: relabel(letter, now.view.letters) for letter in "su"}
    full = len(held) >= HEADS_SILENCED
    offered = (
        (_("This head"), "head", head),
        (
            _("This edge: {s} = {row}, {u} = {column}").format(**letters, row=now.view.s + 1, column=now.view.u + 1),
            "edge",
            edge,
        ),
        (_("All heads of this layer"), "layer", head._replace(head=None)),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for words, key, one in offered:
            is_held = silencing.is_held(held, one)
            again = silencing.add(held, one)
            st.button(words, key=f"silence:{key}", disabled=full or is_held, on_click=_set, args=(again,))
    if held:
        st.caption(_("Knocked out; press one to let it speak again:"))
        with st.container(horizontal=True):
            for i, one in enumerate(held):
                rest = held[:i] + held[i + 1 :]
                st.button(f"✕ {_called(one)}", key=f"speak:{i}", on_click=_set, args=(rest,))
            if len(held) > 1:
                st.button(_("All of them"), key="speak:all", on_click=_set, args=((),))


def _called(one: Knockout) -> str:
    said = _("layer {layer}, all heads").format(layer=one.layer + 1)
    if one.head is not None:
        said = _("layer {layer}, head {head}").format(layer=one.layer + 1, head=one.head + 1)
    if one.s is not None and one.u is not None:
        said += f", {one.s + 1} → {one.u + 1}"
    return said


def _set(held: tuple[Knockout, ...]) -> None:
    state.set_lab(silenced=silencing.write(held))


def _say(before: Reading, after: Reading) -> None:
    if before.probabilities is not None and after.probabilities is not None:
        moved = share_moved(before.probabilities, after.probabilities)
        st.markdown(
            _(
                "**{percent} %** of the next token's probability has moved. Most probable: {before} before, {after} "
                "after."
            ).format(percent=number(100 * moved, 1), before=_quoted(before.guesses[0]), after=_quoted(after.guesses[0]))
        )
        _bars(before, after)
        explain_bytes((*before.guesses[:BARS], *after.guesses[:BARS]))
    elif before.embedding is not None and after.embedding is not None:
        turned = angle_moved(before.embedding, after.embedding)
        cosine = float(before.embedding.double() @ after.embedding.double())
        st.markdown(
            _("The sentence's embedding has turned by **{angle}** rad: the cosine of both is {cosine}.").format(
                angle=number(turned, 4), cosine=number(cosine, 4)
            )
        )


def _quoted(guess: Guess) -> str:
    return f"“{markdown(called(guess))}” ({number(100 * guess.probability, 1)} %)"


def _bars(before: Reading, after: Reading) -> None:
    assert before.probabilities is not None and after.probabilities is not None
    named = {guess.id: called(guess) for guess in (*before.guesses[:BARS], *after.guesses[:BARS])}
    ids, words = list(named), tuple(visible(word) for word in named.values())
    places = list(range(len(ids)))
    series = [
        Series(_("before"), places, before.probabilities[ids].tolist(), "u"),
        Series(_("after"), places, after.probabilities[ids].tolist(), "h"),
    ]
    x = Scale(_("next token"), words=words)
    spec = bars(series, x, Scale(_("probability"), low=0, high=1), current_theme(), size=(760, 260))
    alt = _("Probabilities of the next token before and after the knock-out, for {n} tokens.").format(n=len(ids))
    labs.chart("maps-next", spec, alt, partial(_table, words, series))


def _table(words: tuple[str, ...], series: list[Series]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, object] = {one.name: list(one.y) for one in series}
    return pd.DataFrame({_("next token"): words} | columns)


def _maps(chosen: Chosen, after: Reading, changed: bool) -> list[Map]:
    def of(reading: Reading) -> Tensor:
        return reading.part(chosen.part.kind).layers[chosen.layer].trace(chosen.head).weights[0]

    s, u, mine = Axis("s", chosen.queries), Axis("u", chosen.keys), of(chosen.reading)
    maps = [Map("weights", titled("a", _("before")), mine, s, u, scale="share")]
    theirs = of(after)
    if changed and theirs.shape == mine.shape:
        maps.append(Map("after", titled("a′", _("after")), theirs, s, u, scale="share"))
        maps.append(Map("difference", titled("Δ", _("after − before")), theirs - mine, s, u))
    return maps
