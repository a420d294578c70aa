"""What is trained: the controls, and the recipes that they make; every setting is part of the link."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.fields import CHOICES
from attnviz.lab import Lab
from attnviz.limits import LIMITS, TEXTS, TRAINING_SYMBOLS, TRAINING_TEXT, TRAINING_WAITING
from attnviz.locale import _, n_
from attnviz.training.job import Job
from attnviz.training.recipe import Recipe
from attnviz.ui import state
from attnviz.ui.training import jobs

# A text that a model can learn something from, for who has none at hand.
EXAMPLE = "a row asks, a column answers; what is asked most is heard most. " * 12


def choose() -> None:
    """Draw the controls."""
    lab = state.view().lab
    tasks = {code: words for code, (words, _line) in task_words(lab.offset).items()}
    st.segmented_control(
        _("Task"),
        list(tasks),
        required=True,
        format_func=tasks.__getitem__,
        **state.of_lab("task", worded=True),
    )
    st.caption(task_words(lab.offset)[lab.task][1])
    if lab.task == "text":
        _text(lab)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for field, words in (("layers", _("Layers")), ("heads", _("Heads")), ("width", _("Width"))):
            _number(field, words, 118)
        if lab.task == "copy":
            _number("offset", _("Places back"), 130)
        names = places()
        st.segmented_control(
            _("Positions"),
            CHOICES["places"],
            required=True,
            format_func=names.__getitem__,
            **state.of_lab("places", worded=True),
        )
        more = st.popover(_("More settings"), width="content", key="more-training", on_change="rerun")
        if more.open:
            with more, st.container(horizontal=True):
                _number("steps", _("Steps"), 130)
                _number("learning_rate", _("Learning rate"), 150, "%g")
                _number("draw", _("Seed"), 150)
    beside = {"none": _("nothing"), "layers": _other_layers(lab), "places": _other_places(lab)}
    st.segmented_control(
        _("Train beside it"),
        list(beside),
        required=True,
        format_func=beside.__getitem__,
        **state.of_lab("beside", worded=True),
    )


def recipes(lab: Lab) -> list[Recipe]:
    """Return what the settings say is trained, the reader's own first. Raises ValueError where they do not fit."""
    own = Recipe(
        lab.task,
        lab.layers,
        lab.heads,
        lab.width,
        lab.places,
        lab.draw,
        lab.learning_rate,
        lab.steps,
        lab.offset,
        lab.learn if lab.task == "text" else "",
    )
    if lab.beside == "layers":
        return [own, replace(own, layers=2 if own.layers == 1 else 1)]
    if lab.beside == "places":
        return [own, replace(own, positions="learned" if own.positions == "none" else "none")]
    return [own]


def problem(lab: Lab) -> str:
    """Say what does not fit and what to do, "" when all does."""
    if lab.width % lab.heads:
        return _("{heads} heads cannot share a width of {width}: choose a width that their number divides.").format(
            width=lab.width, heads=lab.heads
        )
    if lab.places == "rope_half" and lab.width // lab.heads % 2:
        return _("RoPE turns features in pairs, and each head has {d_k}: choose fewer heads or another width.").format(
            d_k=lab.width // lab.heads
        )
    if lab.task != "text":
        return ""
    low, high = int(TRAINING_TEXT.low), int(TRAINING_TEXT.high)
    if not low <= len(lab.learn) <= high:
        return _("Paste a text of {low} to {high} characters to learn from: this one has {n}.").format(
            low=low, high=f"{high:,}", n=len(lab.learn)
        )
    kinds = len(set(lab.learn))
    if kinds < 2:
        return _("The text is one character over and over, which leaves nothing to learn: paste another.")
    if kinds > TRAINING_SYMBOLS:
        return _("The text has {n} different characters; at most {most} can be learned: paste a shorter part.").format(
            n=kinds, most=TRAINING_SYMBOLS
        )
    try:
        recipes(lab)
    except ValueError as error:
        return str(error)
    return ""


def begin(among: list[Recipe], job: Job | None) -> None:
    """Offer to train, and say what it takes or why it cannot be."""
    with st.container(horizontal=True, vertical_alignment="center"):
        words = _("Train") if job is None else _("Train again")
        st.button(words, type="primary", key="train", disabled=jobs.running(job), on_click=jobs.start, args=(among,))
        numbers = " + ".join(f"{recipe.n_parameters:,}" for recipe in among)
        st.caption(
            _("{numbers} numbers are learned in {steps} steps of 64 sequences.").format(
                numbers=numbers, steps=f"{among[0].steps:,}"
            )
        )
    if jobs.refused() == "queue_full":
        st.warning(
            _("The server trains as much as it can, and {n} wait already: try again in a minute.").format(
                n=TRAINING_WAITING
            )
        )


def which(among: list[Recipe]) -> int:
    """Offer which of the models side by side is looked at, and return its place from 0."""
    at = min(state.view().lab.which, len(among) - 1)
    if len(among) > 1:
        bound = state.of_lab("which")
        st.session_state[bound["key"]] = at
        st.segmented_control(
            _("Model that is looked at"),
            range(len(among)),
            required=True,
            format_func=lambda i: named(among[i], among),
            **bound,
        )
    return at


def named(recipe: Recipe, among: list[Recipe]) -> str:
    """Name one of the models that are trained side by side by what sets it apart; a lone one by its layers."""
    words = []
    if len({one.layers for one in among}) > 1 or len(among) == 1:
        words.append(n_("{n} layer", "{n} layers", recipe.layers).format(n=recipe.layers))
    if len({one.positions for one in among}) > 1:
        words.append(places()[recipe.positions])
    return ", ".join(words)


def task_words(offset: int) -> dict[str, tuple[str, str]]:
    """Return what each task is called, and the line that defines it."""
    return {
        "repeat": (
            _("Repeated sequence"),
            _("Random letters that begin again after a while: at each letter, say the next one."),
        ),
        "reverse": (_("Reverse"), _("Ten random letters: at place s, say the letter at the mirrored place.")),
        "sort": (_("Sort"), _("Ten random digits: at place s, say the s-th smallest.")),
        "copy": (
            _("Copy"),
            n_(
                "Ten random letters: at each place, say the letter {n} place before.",
                "Ten random letters: at each place, say the letter {n} places before.",
                offset,
            ).format(n=offset),
        ),
        "text": (_("Next character"), _("Your own text: at each character, say the next one.")),
    }


def places() -> dict[str, str]:
    """Return what each kind of positions is called."""
    return {
        "none": _("no positions"),
        "learned": _("learned"),
        "sinusoidal": _("sinusoidal"),
        "rope_half": "RoPE",
        "alibi": "ALiBi",
    }


def _other_layers(lab: Lab) -> str:
    return _("two layers") if lab.layers == 1 else _("one layer alone")


def _other_places(lab: Lab) -> str:
    return _("learned positions") if lab.places == "none" else _("the same without positions")


def _number(field: str, words: str, width: int, shown: str | None = None) -> None:
    limit = LIMITS[field]
    st.number_input(words, limit.low, limit.high, None, limit.step, shown, width=width, **state.of_lab(field))


def _text(lab: Lab) -> None:
    st.text_area(
        _("The text to learn from"),
        max_chars=TEXTS["learn"],
        height=120,
        placeholder=_("Paste a few hundred characters"),
        **state.of_lab("learn"),
    )
    if not lab.learn:
        st.button(_("Take an example"), key="learn:example", on_click=state.set_lab, kwargs={"learn": EXAMPLE})
    st.caption(
        _(
            "A language is too much for so small a model: its heads stay diffuse. For a head that does one clear "
            "thing, take another task."
        )
    )
