"""Which head is looked at, and how well it and the model did when they were last measured."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.text import number
from attnviz.locale import _
from attnviz.training.trainer import Progress, Training
from attnviz.ui import state
from attnviz.ui.training import curves
from attnviz.ui.training.replay import Shown


def choose(shown: Shown) -> tuple[int, int]:
    """Offer the layer and the head, and return them, counted from 0."""
    lab = state.view().lab
    found = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for field, words, count in (
            ("layer", _("Layer"), shown.recipe.layers),
            ("head", _("Head"), shown.recipe.heads),
        ):
            at = min(getattr(lab, field), count - 1)
            found.append(at)
            if count > 1:
                bound = state.of_lab(field)
                st.session_state[bound["key"]] = at
                st.segmented_control(words, range(count), required=True, format_func=lambda i: str(i + 1), **bound)
    return found[0], found[1]


def called(shown: Shown, layer: int, head: int) -> str:
    """Return in words which head of which model this is."""
    words = _("after step {step}, layer {layer}, head {head}")
    return words.format(step=f"{shown.step:,}", layer=layer + 1, head=head + 1)


def measured(training: Training, step: int) -> Progress | None:
    """Return the last measurement on held-out sequences up to a step."""
    return next((p for p in reversed(list(training.history)) if p.step <= step and p.accuracy is not None), None)


def say(shown: Shown) -> None:
    """Say how the model did at this step: its loss, its accuracy, and what each head gave to the perfect keys."""
    found = None if shown.training is None else measured(shown.training, shown.step)
    if found is None or found.accuracy is None:
        return
    words = curves.score_words()
    parts = [
        _("accuracy {value}").format(value=number(found.accuracy, 3)),
        _("loss {value}").format(value=number(found.loss, 3)),
    ]
    for (layer, head), scores in found.scores.items():
        best = max(scores, key=scores.__getitem__)
        parts.append(
            _("layer {layer} head {head}: {score} {value}").format(
                layer=layer + 1, head=head + 1, score=words[best], value=number(scores[best], 3)
            )
        )
    st.caption(_("On held-out sequences, at step {step}:").format(step=found.step) + " " + " · ".join(parts))
