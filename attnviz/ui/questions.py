"""A question that learners ask: first the reader's own guess, then the answer, which the experiment gives.

What is guessed is kept for the session; what is revealed is part of the view, and so of the link.
"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz import locale
from attnviz.locale import _
from attnviz.ui import state, widgets


class Question(NamedTuple):
    """One question, in Markdown, with its answers to choose from."""

    number: int  # in the list of questions, from 1
    words: str
    choices: dict[str, str]  # code -> words; the codes are kept, so that the language may change
    right: str  # the code of the right one


def ask(question: Question) -> DeltaGenerator | None:
    """Ask a question; once it is revealed, return the place for the reason and what shows it, else None."""
    answers: dict[int, str] = st.session_state.setdefault("_answers", {})
    guessed = answers.get(question.number)
    revealed = question.number in state.view().lab.reveal
    box = st.container(border=True, key=f"question-{question.number}")
    with box:
        if not revealed:
            key = f"guess.{question.number}.{locale.current()}"
            st.radio(
                question.words,
                list(question.choices),
                index=None,
                format_func=question.choices.__getitem__,
                key=key,
                on_change=_guess,
                args=(question.number, key),
            )
            st.button(_("Show the answer"), key=f"reveal:{question.number}", on_click=_reveal, args=(question.number,))
            return None
        right = question.choices[question.right]
        if guessed is None:
            answer = _("Answer: **{right}**").format(right=right)
        elif guessed == question.right:
            answer = ":green[✓] " + _("You said so: **{right}**").format(right=right)
        else:
            wrong = question.choices.get(guessed, guessed)
            answer = ":red[✗] " + _("You said: {wrong}. Answer: **{right}**").format(wrong=wrong, right=right)
        st.markdown(question.words + "\n\n" + answer)
        place = st.container()
        st.button(
            _("Ask again"),
            key=f"again:{question.number}",
            type="tertiary",
            on_click=_hide,
            args=(question.number,),
        )
    return place


def progress(*numbers: int) -> None:
    """Say how many of a page's questions are done."""
    done = sum(n in state.view().lab.reveal for n in numbers)
    st.caption(_("Questions: {done} of {n} done").format(done=done, n=len(numbers)))


def _guess(number: int, key: str) -> None:
    guessed = widgets.sent(key)
    if guessed is not None:
        st.session_state["_answers"][number] = guessed
        _reveal(number)


def _reveal(number: int) -> None:
    state.set_lab(reveal=tuple({*state.view().lab.reveal, number}))


def _hide(number: int) -> None:
    st.session_state["_answers"].pop(number, None)
    state.set_lab(reveal=tuple({*state.view().lab.reveal} - {number}))
    for key in list(st.session_state):
        if str(key).startswith(f"guess.{number}."):
            del st.session_state[key]
