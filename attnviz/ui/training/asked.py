"""The questions of this page, each answered by numbers of a training that the session has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from attnviz.figures.text import number
from attnviz.labs.learning import heads_form, loss_falls
from attnviz.locale import _
from attnviz.training.job import Job
from attnviz.training.recipe import Recipe
from attnviz.training.trainer import Training
from attnviz.ui import state
from attnviz.ui.questions import Question, ask, progress
from attnviz.ui.training import jobs, settings

WORK = ("learned", "sinusoidal", "rope_half")  # positions with which a previous-token head can form
PAIR: dict[str, Any] = {"task": "repeat", "layers": 2, "places": "learned"}
NUMBERS = (28, 29, 30, 31)


def show(job: Job | None) -> None:
    """Ask the four, two in a line where there is room."""
    progress(*NUMBERS)
    trainings = [] if job is None or jobs.running(job) else job.trainings
    for pair in ((_first, _loss), (_one_layer, _no_positions)):
        for column, question in zip(st.columns(2), pair, strict=True):
            with column:
                question(trainings, jobs.running(job))


def _answer(
    question: Question,
    found: Training | Sequence[Training] | None,
    needs: dict[str, Any],
    words: Callable[[], str],
    waits: bool,
) -> None:
    place = ask(question)
    if place is None:
        return
    if waits:
        place.markdown(_("The answer comes with the numbers of the training that is under way."))
    elif found is None:
        place.markdown(_("The answer is in the numbers of a training of repeated sequences, which takes some seconds."))
        place.button(_("Train it"), key=f"train:{question.number}", on_click=_train, args=(needs,))
    else:
        place.markdown(words())


def _train(needs: dict[str, Any]) -> None:
    """Choose what a question needs, and begin. A callback."""
    state.set_lab(**needs)
    if not settings.problem(state.view().lab):
        jobs.start(settings.recipes(state.view().lab))


def _first(trainings: Sequence[Training], waits: bool) -> None:
    found = next((t for t in trainings if _can_learn(t.recipe)), None)

    def words() -> str:
        assert found is not None
        previous, induction = heads_form(found.history)
        if previous is None or induction is None:
            return _("In this training they have not both formed: train more steps.")
        return _(
            "Layer {low} head {low_head} gave half of its attention to the previous token from step **{previous}** on, "
            "layer {high} head {high_head} half of its to what followed the same letter from step **{induction}** on, "
            "of {steps} steps. The upper head needs what the lower one writes into each token, and the lower one is "
            "paid only by the upper: so they form together."
        ).format(
            low=previous.layer + 1,
            low_head=previous.head + 1,
            previous=previous.step,
            high=induction.layer + 1,
            high_head=induction.head + 1,
            induction=induction.step,
            steps=found.recipe.steps,
        )

    question = Question(
        28,
        _(
            "**Which head forms first?** Two layers learn to go on with a repeated sequence: one head looks at the "
            "previous token, one at what followed the same letter before."
        ),
        {
            "previous": _("the previous-token head, long before the other"),
            "together": _("both at about the same time"),
            "induction": _("the other one, long before it"),
        },
        right="together",
    )
    _answer(question, found, PAIR, words, waits)


def _loss(trainings: Sequence[Training], waits: bool) -> None:
    found = next((t for t in trainings if _can_learn(t.recipe)), None)

    def words() -> str:
        assert found is not None
        fall = loss_falls(found.history)
        if fall is None:
            return _("In this training the loss has not fallen: train more steps.")
        return _(
            "For the first {begin} steps it went from {first} to {high}, and by step {end} it was at **{low}**: most "
            "of the way in {n} of {steps} steps. That is when the heads form: what they do together cannot be had by "
            "halves."
        ).format(
            begin=fall.begin,
            first=number(fall.first, 2),
            high=number(fall.high, 2),
            end=fall.end,
            low=number(fall.low, 2),
            n=fall.end - fall.begin,
            steps=found.recipe.steps,
        )

    question = Question(
        29,
        _("**What does the loss do when the heads form?**"),
        {
            "even": _("it falls evenly from the first step to the last"),
            "cliff": _("it hardly falls for a while, then suddenly"),
            "rise": _("it rises first, since what was learned is unlearned"),
        },
        right="cliff",
    )
    _answer(question, found, PAIR, words, waits)


def _one_layer(trainings: Sequence[Training], waits: bool) -> None:
    both = _beside(trainings, lambda recipe: recipe.layers == 1, lambda recipe: _can_learn(recipe))

    def words() -> str:
        assert both is not None
        less, more = both
        return _(
            "One layer ends at an accuracy of **{less}**, {n} layers at **{more}**. A key of the first layer is made "
            "of its own token alone: it cannot say which letter stood before it. A second layer reads keys into "
            "which a head below has written just that."
        ).format(less=_accuracy(less), n=more.recipe.layers, more=_accuracy(more))

    question = Question(
        30,
        _("**Can one layer learn to go on with a repeated sequence?**"),
        {
            "slower": _("yes, it only takes longer"),
            "wider": _("yes, if it is wide enough"),
            "cannot": _("no, one head must build on another"),
        },
        right="cannot",
    )
    _answer(question, both, PAIR | {"beside": "layers"}, words, waits)


def _no_positions(trainings: Sequence[Training], waits: bool) -> None:
    both = _beside(trainings, lambda recipe: recipe.positions == "none" and recipe.layers > 1, _can_learn)

    def words() -> str:
        assert both is not None
        less, more = both
        return _(
            "Without positions it ends at an accuracy of **{less}**, with them at **{more}**. Letters alone do not say "
            "which of them is the previous one; the causal mask hides what comes later, but all that came before looks "
            "alike, near or far."
        ).format(less=_accuracy(less), more=_accuracy(more))

    question = Question(
        31,
        _("**And without positions?** Two layers, as before, but nothing tells a token where it stands."),
        {
            "same": _("it learns as well: letters are enough"),
            "worse": _("it does not learn it"),
            "mask": _("it learns as well: the causal mask tells the order"),
        },
        right="worse",
    )
    _answer(question, both, PAIR | {"beside": "places"}, words, waits)


def _can_learn(recipe: Recipe) -> bool:
    return recipe.task == "repeat" and recipe.layers > 1 and recipe.positions in WORK


def _beside(
    trainings: Sequence[Training], less: Callable[[Recipe], bool], more: Callable[[Recipe], bool]
) -> tuple[Training, Training] | None:
    """One training of each kind, of repeated sequences."""
    repeat = [training for training in trainings if training.recipe.task == "repeat"]
    first = next((training for training in repeat if less(training.recipe)), None)
    second = next((training for training in repeat if more(training.recipe)), None)
    return None if first is None or second is None else (first, second)


def _accuracy(training: Training) -> str:
    last = next((p.accuracy for p in reversed(training.history) if p.accuracy is not None), None)
    return "–" if last is None else number(last, 3)
