"""What training measures, step by step: the loss, the accuracy, and how much each head does what it should."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.figures.charts import Scale, Series, lines
from attnviz.figures.text import number
from attnviz.locale import _
from attnviz.training.trainer import Training
from attnviz.ui import labs
from attnviz.ui.board import current_theme
from attnviz.ui.training import settings

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT = 384, 230  # pixels of a chart: three stand in a line of 1200
HUES = ("s", "u", "d", "k")  # letters whose hues the models side by side take
SCORE_HUES = {"previous": "s", "entropy": "m"}  # of a score; any other has that of u


def show(trainings: Sequence[Training], which: int) -> None:
    """Draw the three charts; the last is of one of the models."""
    with st.container(horizontal=True, gap="small"):
        _losses(trainings)
        _accuracies(trainings)
        _heads(trainings[which])


def score_words() -> dict[str, str]:
    """Return what each score of a head is called."""
    return {
        "previous": _("previous token"),
        "induction": _("induction"),
        "entropy": _("entropy, share of the most"),
        "reverse": _("mirrored place"),
        "sort": _("s-th smallest"),
        "copy": _("places back"),
    }


def _losses(trainings: Sequence[Training]) -> None:
    made = []
    for training, hue in zip(trainings, HUES, strict=False):
        history = list(training.history)
        made.append(Series(_name(training, trainings), [p.step for p in history], [p.loss for p in history], hue))
    _chart("loss", _("loss, in nats an answer"), made, Scale("", low=None), trainings)


def _accuracies(trainings: Sequence[Training]) -> None:
    made = []
    for training, hue in zip(trainings, HUES, strict=False):
        measured = [p for p in list(training.history) if p.accuracy is not None]
        right = [float(p.accuracy or 0) for p in measured]
        made.append(Series(_name(training, trainings), [p.step for p in measured], right, hue))
    _chart("accuracy", _("accuracy on held-out sequences"), made, Scale("", low=0, high=1.04), trainings)


def _heads(training: Training) -> None:
    """Draw of each layer and score the head that has most of it now."""
    measured = [p for p in list(training.history) if p.scores]
    best: dict[tuple[str, int], tuple[int, int]] = {}
    last = measured[-1].scores if measured else {}
    for head, scores in last.items():
        for name, value in scores.items():
            other = best.get((name, head[0]))
            if other is None or value > last[other][name]:
                best[name, head[0]] = head
    words = score_words()
    made = [
        Series(
            _("{score}, layer {layer} head {head}").format(score=words[name], layer=layer + 1, head=head + 1),
            [p.step for p in measured],
            [p.scores[layer, head][name] for p in measured],
            SCORE_HUES.get(name, "u"),
            ("solid", "dash", "dot", "solid")[layer],
        )
        for (name, _layer), (layer, head) in best.items()
    ]
    title = _("attention where a perfect head has it; of each layer the best head")
    _chart("heads", title, made, Scale("", low=0, high=1.04), [training])


def _name(training: Training, trainings: Sequence[Training]) -> str:
    return settings.named(training.recipe, [one.recipe for one in trainings])


def _chart(key: str, words: str, made: list[Series], y: Scale, trainings: Sequence[Training]) -> None:
    most = max(training.recipe.steps for training in trainings)
    size = (WIDTH, HEIGHT + 16 * max(0, len(made) - 2))
    spec = lines(made, Scale(_("step"), low=0, high=most), y, current_theme(), size=size)
    for drawn in spec["data"]:
        drawn["mode"] = "lines"
    if len(made) > 1:
        spec["layout"]["margin"]["t"] = 18 + 18 * len(made)
        spec["layout"]["legend"] |= {"orientation": "v"}
    ends = "; ".join(
        f"{one.name}: {number(float(one.y[0]), 3)} → {number(float(one.y[-1]), 3)}" for one in made if len(one.x)
    )
    alt = _("{name} over {n} steps: {ends}.").format(name=words, n=most, ends=ends or "–")
    with st.container(width=WIDTH, gap=None):
        st.markdown(words)
        labs.chart(f"training-{key}", spec, alt, partial(_table, made))


def _table(made: list[Series]) -> pd.DataFrame:
    import pandas as pd

    columns = {one.name: pd.Series(list(one.y), index=list(one.x)) for one in made}
    return pd.DataFrame(columns).rename_axis(_("step"))
