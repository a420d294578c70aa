"""A trained model taken home as a file, or one of its layers opened in Explore."""

from __future__ import annotations

from itertools import product
from typing import Any

import streamlit as st
from torch import Tensor

from attnviz.edits import Cells
from attnviz.experiment import Experiment, Lab
from attnviz.locale import _
from attnviz.training import tasks
from attnviz.training.checkpoint import to_bytes
from attnviz.training.model import Layer, LayerWeights
from attnviz.training.recipe import Recipe
from attnviz.ui import state
from attnviz.ui.training import heads
from attnviz.ui.training.replay import Shown

# The fields of a Lab that are Learning's own
SETTINGS = (
    *("task", "layers", "heads", "width", "places", "draw", "learning_rate", "steps", "offset", "learn", "beside"),
    *("ran", "at_step", "sequence", "which", "layer", "head"),
)
BLANK = "␣"  # a token of its own on Explore, whose tokens stand between blanks


def offer(shown: Shown, tokens: Tensor, layer: int, read: Layer) -> None:
    """Offer the model as a file, and the chosen layer in Explore."""
    with st.container(horizontal=True):
        st.button(
            _("Open layer {layer} in Explore").format(layer=layer + 1),
            key="to-explore",
            on_click=_open,
            args=(shown, tokens, layer, read),
        )
        st.download_button(
            _("Take the weights home"),
            lambda: packed(shown),
            file_name=f"attnviz-{shown.recipe.task}-step-{shown.step}.safetensors",
            mime="application/octet-stream",
            key="take-home",
            help=_("A safetensors file with its recipe and its card inside; attnviz.training.checkpoint reads it."),
        )
    if st.session_state.pop("_to_explore", False):
        st.switch_page("pages/explore.py")


def packed(shown: Shown) -> bytes:
    """Return the model as it is shown, as a file."""
    found = None if shown.training is None else heads.measured(shown.training, shown.step)
    return to_bytes(shown.recipe, shown.weights, step=shown.step, accuracy=found and found.accuracy)


def experiment(recipe: Recipe, words: list[str], weights: LayerWeights, read: Layer) -> Experiment:
    """Return what Explore computes for one trained layer on one sequence: the same trace, as edits of everything.

    X are the vectors that queries and keys are made of. Values are made of vectors without positions: where these
    were added, the values are typed as they are.
    """
    typed = {"w_q": weights.w_q, "w_k": weights.w_k, "w_v": weights.w_v, "x": read.x_qk}
    if read.x_qk is not read.x:
        value = read.trace.value  # (1, h, u, d)
        typed["v"] = value.transpose(1, 2).flatten(2)  # (1, u, h*d)
    cells: dict[str, Any] = {name: _cells(tensor) for name, tensor in typed.items()}
    return Experiment(
        " ".join(BLANK if not word.strip() else word for word in words),
        tokenizer="spaces",
        d_model=recipe.width,
        d_k=recipe.d_k,
        d_v=recipe.d_k,
        n_heads=recipe.heads,
        mask="causal" if tasks.causal(recipe) else "none",
        positions=recipe.positions if recipe.positions in ("rope_half", "alibi") else "none",
        **cells,
    )


def _cells(tensor: Tensor) -> Cells:
    """Every cell of a matrix."""
    return tuple(zip(product(*map(range, tensor.shape)), tensor.detach().flatten().tolist(), strict=True))


def _set_aside() -> None:
    """Keep what Learning is set to for when the reader is back: Explore's own link has no need of it."""
    lab, plain = state.view().lab, Lab()
    st.session_state["_learning"] = {field: getattr(lab, field) for field in SETTINGS}
    state.set_lab(**{field: getattr(plain, field) for field in SETTINGS})


def come_back() -> None:
    """Set Learning as it was when one of its layers was opened in Explore; called before anything is drawn."""
    if not st.session_state.get("_to_explore") and (held := st.session_state.pop("_learning", None)):
        state.keep(**held)


def _open(shown: Shown, tokens: Tensor, layer: int, read: Layer) -> None:
    words = tasks.decode(shown.recipe, tokens)
    state.change(experiment(shown.recipe, words, shown.weights.layers[layer], read))
    state.look(h=min(state.view().lab.head, shown.recipe.heads - 1))
    _set_aside()
    st.session_state["_several"] = False
    st.session_state["_to_explore"] = True
