"""What a model does after any step of its training: the maps of all heads on a sequence, and its answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st
import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.core.positions import alibi
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, markdown
from attnviz.limits import TEXTS
from attnviz.locale import _
from attnviz.training import tasks
from attnviz.training.model import Forward, Weights, attended, forward, initial
from attnviz.training.recipe import Recipe
from attnviz.training.trainer import Training
from attnviz.ui import headings, labs, state, traced
from attnviz.ui.compute import Computed
from attnviz.ui.controls import LIVE
from attnviz.ui.training import curves

CELL, CELLS_LARGE = 10, 12  # pixels of a cell of a longer sequence, so that four maps stand in a line
MAP = "map"  # maps are called map.layer.head, from 0


class Shown(NamedTuple):
    """A model as it was after one step."""

    recipe: Recipe
    step: int
    weights: Weights
    training: Training | None  # none yet, when it is untrained


def untrained(recipe: Recipe) -> Shown:
    """Return a model as it is before its training."""
    return Shown(recipe, 0, initial(recipe), None)


def choose(training: Training) -> Shown:
    """Offer the steps of a training, and return the model after the chosen one."""
    snapshots = list(training.snapshots)
    steps = [step for step, _weights in snapshots]
    wanted = state.view().lab.at_step
    at = max(step for step in steps if step <= wanted)
    if len(steps) > 1:
        bound = state.of_lab("at_step")
        st.session_state[bound["key"]] = at
        st.select_slider(_("Step of the training"), steps, **bound)
    return Shown(training.recipe, at, dict(snapshots)[at], training)


def tokens(shown: Shown, typed: str) -> tuple[Tensor, str]:
    """Return the sequence that is read, (s,), and what is wrong with the one that was typed: then it is the model's."""
    recipe = shown.recipe
    own = tasks.held_out(recipe, 1).tokens[0]
    symbols = tasks.split(recipe, typed)
    if not symbols:
        return own, ""
    if len(symbols) > recipe.seq_len:
        words = _("The model reads {most} at most, and this is {n}: the rest was left out.")
        return tokens(shown, "".join(symbols[: recipe.seq_len]))[0], words.format(most=recipe.seq_len, n=len(symbols))
    unknown = next((symbol for symbol in symbols if symbol not in recipe.vocabulary), None)
    if unknown is None:
        return tasks.encode(recipe, symbols), ""
    known = {
        "sort": _("“{symbol}” is no digit: type digits from 0 to 9."),
        "text": _("“{symbol}” does not occur in the text that was learned: type characters that do."),
    }.get(recipe.task, _("“{symbol}” is no letter that the model knows: type letters from a to z."))
    return own, known.format(symbol=markdown(unknown))


def type_own(shown: Shown) -> Tensor:
    """Let the reader type a sequence, and return the one that is read: (s,)."""
    own = "".join(tasks.decode(shown.recipe, tasks.held_out(shown.recipe, 1).tokens[0]))
    st.text_input(
        _("Your own sequence"),
        live=LIVE,
        max_chars=TEXTS["sequence"],
        placeholder=own,
        autocomplete="off",
        width=520,
        help=_("While it is empty, the model reads one that it has never seen."),
        **state.of_lab("sequence"),
    )
    read, problem = tokens(shown, state.view().lab.sequence)
    if problem:
        st.warning(problem)
    return read


def read(shown: Shown, tokens: Tensor) -> Forward:
    """Run the model on one sequence (s,), with every step of every layer."""
    with torch.no_grad():
        return forward(shown.recipe, shown.weights, tokens[None], keep=True)


def one_head(shown: Shown, tokens: Tensor, run: Forward, layer: int, head: int) -> Computed:
    """Return one head as the board knows it."""
    recipe, n = shown.recipe, len(tokens)
    trace = AttentionTrace(*(tensor[0, head : head + 1] for tensor in run.layers[layer].trace))
    bias = alibi(n, n, recipe.heads)[head : head + 1] if recipe.positions == "alibi" else None
    added = attended(recipe, n)
    if added is not None and added.ndim == 3:
        added = added[head : head + 1]
    words = tasks.decode(recipe, tokens)
    return traced.one_head(state.view(), words, trace, mask=tasks.mask(recipe, n), bias=bias, added=added)


def maps(shown: Shown, tokens: Tensor, run: Forward | None = None) -> dict[str, Any]:
    """Draw the maps of all heads, and those that a perfect solution would show."""
    recipe = shown.recipe
    run = run or read(shown, tokens)
    words = tuple(tasks.decode(recipe, tokens))
    axes = (Axis("s", words), Axis("u", words))
    drawn = []
    for i, layer in enumerate(run.layers):
        for h, one in enumerate(layer.trace.weights[0]):
            title = html(_("layer {layer} · head {head}").format(layer=i + 1, head=h + 1))
            drawn.append(Map(f"{MAP}.{i}.{h}", title, one, *axes, "share"))
    for name, one in tasks.perfect(recipe, tokens).items():
        title = html(_("perfect: {name}").format(name=curves.score_words()[name]))
        drawn.append(Map(f"perfect.{name}", f"<i>{title}</i>", one, *axes, "share"))
    computed = one_head(shown, tokens, run, 0, 0)
    return labs.maps(computed, "maps-trained", drawn, cell=CELL if len(tokens) > CELLS_LARGE else None)


def choose_head(cell: dict[str, Any]) -> None:
    """Look at the head whose map was clicked, and at its cell. A callback."""
    kind, *numbers = str(cell["name"]).split(".")
    if kind == MAP:
        layer, head = map(int, numbers)
        state.set_lab(layer=layer, head=head)
        state.look(step="weights", s=int(cell["row"]), u=int(cell["col"]))


def answers(shown: Shown, tokens: Tensor, run: Forward) -> None:
    """Say what the model answers at each place, and whether that is right."""
    import pandas as pd

    recipe = shown.recipe
    chances = run.logits[0].softmax(dim=-1)  # (s, v)
    asked = tasks.question(recipe, tokens[None])
    counted, targets = asked.counted[0], asked.targets[0]
    best = chances.argmax(dim=-1)  # (s,)
    right = int(((best == targets) & counted).sum())
    said = _("It answers {right} of {n} places right, of those that have one answer.")
    headings.line("**" + _("What the model answers") + "** · " + said.format(right=right, n=int(counted.sum())))
    rows = {
        _("reads"): tasks.decode(recipe, tokens),
        _("answers"): tasks.decode(recipe, best),
        _("right answer"): [
            word if asks else "" for word, asks in zip(tasks.decode(recipe, targets), counted.tolist(), strict=True)
        ],
        _("with probability"): [f"{p:.3f}" for p in chances.amax(dim=-1).tolist()],
    }
    columns = [str(i + 1) for i in range(len(tokens))]
    st.dataframe(pd.DataFrame.from_dict(rows, orient="index", columns=columns), key="frame:answers")
