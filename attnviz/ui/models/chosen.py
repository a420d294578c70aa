"""The part, the layer and the head that are looked at, and what its tokens are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st
import torch
from torch import Tensor

from attnviz.experiment import Experiment, Run
from attnviz.figures.text import html, markdown
from attnviz.figures.titles import role
from attnviz.letters import relabel
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _, n_
from attnviz.models.heads import Overview
from attnviz.models.reading import Guess, LayerRead, Part, Reading
from attnviz.models.tokens import Token, shown
from attnviz.ui import state, widgets
from attnviz.ui.board import Charts
from attnviz.ui.compute import Computed
from attnviz.ui.models.jobs import Job
from attnviz.ui.models.waiting import reading_of
from attnviz.ui.traced import one_head


class Chosen(NamedTuple):
    """A head of a reading."""

    job: Job
    reading: Reading
    part: Part
    overview: Overview
    layer: int
    head: int
    queries: tuple[str, ...]  # what the tokens of s are called
    keys: tuple[str, ...]

    @property
    def read(self) -> LayerRead:
        """The layer of the head."""
        return self.part.layers[self.layer]

    @property
    def square(self) -> bool:
        """Say whether the part reads its own text."""
        return self.part.kind != "cross"


def of(job: Job) -> Chosen:
    """Return what the view asks for, moved inside what was read."""
    reading, lab = reading_of(job), state.view().lab
    kinds = [part.kind for part in reading.parts]
    part = reading.part(lab.part if lab.part in kinds else kinds[0])
    layer = min(lab.layer, len(part.layers) - 1)
    head = min(lab.head, part.layers[layer].query.shape[0] - 1)
    queries = names(reading, part.queries, markers=lab.markers)
    keys = queries if part.keys is part.queries else names(reading, part.keys, markers=lab.markers)
    return Chosen(job, reading, part, job.overviews[part.kind], layer, head, queries, keys)


def names(reading: Reading, tokens: tuple[Token, ...], *, markers: bool) -> tuple[str, ...]:
    """Return what tokens are called: as the reader wrote them, or with the tokenizer's signs for spaces and parts."""
    if not markers:
        return tuple(token.shown for token in tokens)
    found: dict[int, str] = {}
    for number, text in enumerate(reading.texts):
        mine = [i for i, token in enumerate(tokens) if token.text == number and not token.special]
        words = shown([tokens[i].piece for i in mine], [tokens[i].span for i in mine], text, markers=True)
        found |= dict(zip(mine, words, strict=True))
    return tuple(found.get(i, token.shown) for i, token in enumerate(tokens))


def called(guess: Guess) -> str:
    """Return what a next token is called; one that stands for no text by its number."""
    return guess.shown or f"#{guess.id}"


def explain_bytes(guesses: Sequence[Guess]) -> None:
    """Say what next tokens are that stand for no whole character, where there are any."""
    if broken := dict.fromkeys(f"“{markdown(called(guess))}”" for guess in guesses if not guess.whole):
        said = n_(
            "{tokens} is bytes, in hexadecimal, of a character that is not complete yet.",
            "{tokens} are bytes, in hexadecimal, of characters that are not complete yet.",
            len(broken),
        )
        st.caption(said.format(tokens=", ".join(broken)))


def titled(symbol: str, words: str) -> str:
    """Return the title of a map in Plotly's markup: its symbol, which is markup, and words, which are not."""
    return f"<b>{symbol}</b> {html(words)}"


def choose(reading: Reading) -> None:
    """Draw what chooses the part and how tokens are written."""
    kinds = [part.kind for part in reading.parts]
    words = {
        "encoder": _("encoder"),
        "decoder": _("decoder"),
        "cross": _("cross: the decoder reads the encoder"),
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(kinds) > 1:
            bound = state.of_lab("part", worded=True)
            if st.session_state[bound["key"]] not in kinds:
                st.session_state[bound["key"]] = kinds[0]
            st.segmented_control(_("Part"), kinds, required=True, format_func=words.__getitem__, **bound)
        st.toggle(
            _("Words, not pieces"),
            help=_("A word's pieces are one row and one column: summed over key columns, averaged over query rows."),
            **state.of_lab("grouped"),
        )
        st.toggle(
            _("Markers"),
            help=_("The tokenizer's own signs: ## or ▁ or Ġ before what continues a word or follows a space."),
            **state.of_lab("markers"),
        )


def number_boxes(chosen: Chosen) -> None:
    """Draw the boxes for the layer and the head, from 1: a click on a map sets them too."""
    sizes = {"layer": len(chosen.part.layers), "head": chosen.read.query.shape[0]}
    words = {"layer": _("Layer"), "head": _("Head")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for field, at in (("layer", chosen.layer), ("head", chosen.head)):
            box(words[field], field, at, sizes[field])


def box(words: str, field: str, at: int, size: int) -> None:
    """Draw a number box, from 1, for a setting that counts from 0."""
    key = f"number:{field}"
    st.session_state[key] = at + 1
    st.number_input(f"{words} (1–{size})", 1, size, None, key=key, width=140, on_change=_move, args=(field, key))


def _move(field: str, key: str) -> None:
    value = widgets.sent(key)
    if value is not None:
        state.set_lab(**{field: value - 1})


class Shown(NamedTuple):
    """What a section drew: its charts, and whose tokens they are of."""

    charts: Charts
    computed: Computed
    keys: tuple[str, ...]


def computed(chosen: Chosen) -> Computed:
    """Return the head as the board knows an experiment; of a part that reads another text, without a trace."""
    if not chosen.square:
        return stand_in(chosen.queries, chosen.keys)
    return of_head(chosen.read, chosen.head, chosen.queries)


def of_head(read: LayerRead, h: int, tokens: tuple[str, ...]) -> Computed:
    """Return one head of a layer that reads its own tokens as the board knows an experiment."""
    view = replace(state.view(), b=0, h=0)
    mask, added = _of_head(read.mask, h), _of_head(read.added, h)
    if mask is None and read.bias is not None:  # the mask is what is added, though it hides nothing
        mask = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    return one_head(view, tokens, read.trace(h), mask=mask, added=added, scale=read.scale)


def _of_head(x: Tensor | None, h: int) -> Tensor | None:
    """What is added for one head: (s, u)."""
    return x if x is None or x.ndim == 2 else x[h if len(x) > 1 else 0]


def stand_in(queries: tuple[str, ...], keys: tuple[str, ...]) -> Computed:
    """Return tokens as the labs know an experiment that has no trace; the view is moved inside them."""
    view, n, m, empty = state.view(), len(queries), len(keys), torch.zeros(0, 0)
    run = Run((queries,), torch.zeros(1, n, 0), empty, empty, empty, None, None, (n,), 1.0, ())
    starts = {
        name: max(0, min(getattr(view, name), size - TOKENS_SHOWN)) for name, size in (("from_s", n), ("from_u", m))
    }
    return Computed(
        Experiment(""), run, replace(view, b=0, h=0, s=min(view.s, n - 1), u=min(view.u, m - 1), **starts), None, 0
    )


def token_boxes(computed: Computed, keys: tuple[str, ...], letters: str = "su") -> None:
    """Draw boxes for the chosen query and key token, from 1: a click on a map sets them too."""
    view, tokens = computed.view, {"s": computed.run.tokens[0], "u": keys}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for letter in letters:
            at, key = getattr(view, letter), f"token:{letter}"
            st.session_state[key] = at + 1
            words = f"{role(letter)} {relabel(letter, view.letters)} = {markdown(tokens[letter][at])}"
            st.number_input(
                words, 1, len(tokens[letter]), None, key=key, width=260, on_change=state.look_at, args=(letter, key)
            )
