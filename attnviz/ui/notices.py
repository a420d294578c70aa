"""What a page says when something could not be taken, cut or computed: one clear sentence each."""

from __future__ import annotations

import streamlit as st

from attnviz.experiment import PAD, Experiment, Lab, Run, View
from attnviz.figures.text import markdown
from attnviz.limits import (
    LINK_BYTES,
    LONG_BYTES,
    LONG_TOKENS,
    SEQUENCES,
    TEXT_CHARS,
    TOKENS,
    TOKENS_SHOWN,
    TRACE_BYTES,
)
from attnviz.links import to_query
from attnviz.locale import _, n_
from attnviz.ui import linked, state
from attnviz.ui.link_words import words

SENTENCES = 6  # of a link that holds many things that cannot be had


def are_none(experiment: Experiment, run: Run, n_cut: int) -> bool:
    """Say whether nothing is said of a text on one line: what was typed is all computed, and the link holds it."""
    return (
        bool(experiment.sequences)
        and not linked.refused()
        and not linked.is_unchanged()
        and not st.session_state.get("_text_cut")
        and not (experiment.n_left_out or n_cut)
        and len(run.tokens) == 1
        and _is_finite(run, state.view())
        and "without=" not in to_query(experiment, state.view())
    )


def show_link() -> None:
    """Say what the link asked for and could not have."""
    said = words(linked.refused())
    if len(said) > SENTENCES:
        rest = len(said) - SENTENCES
        more = n_(
            "{n} more value in the link is not taken, for such reasons.",
            "{n} more values in the link are not taken, for such reasons.",
            rest,
        )
        said[SENTENCES:] = [more.format(n=rest)]
    if said:
        st.warning("\n\n".join(said))


def show_moved(**shown: int) -> None:
    """Say which numbers the link asks for that there are none of here, and what is `shown` instead, by their names.

    Only while the reader has changed nothing: what is set on the page may move other numbers without a word.
    """
    view = state.view()
    asked = {name: getattr(view.lab if name in Lab.__dataclass_fields__ else view, name) for name in shown}
    moved = [name for name in shown if asked[name] != shown[name]]
    if moved and linked.is_unchanged():
        said = n_(
            "The link asks for {asked}, which is not here: {shown} is shown. A link counts from 0, the page from 1.",
            "The link asks for {asked}, which are not here: {shown} are shown. A link counts from 0, the page from 1.",
            len(moved),
        )
        st.warning(said.format(asked=_equations(asked, moved), shown=_equations(shown, moved)))


def _equations(numbers: dict[str, int], names: list[str]) -> str:
    return ", ".join(f"{markdown(name)} = {numbers[name]}" for name in names)


def show_numbers(run: Run, view: View) -> None:
    """Say what of the numbers of a sequence needs a word: what float32 could not hold, and what padding is."""
    b = view.b
    if not _is_finite(run, view):
        st.warning(
            _("Some numbers are too large for float32: they show as ∞ or NaN, and so does what follows from them.")
        )
    if run.lengths[b] < len(run.tokens[b]):
        st.caption(
            _(
                "{pad} fills up the shorter sequences: as keys they are masked, and nothing reads their own rows."
            ).format(pad=markdown(PAD))
        )


def _is_finite(run: Run, view: View) -> bool:
    """Say whether float32 holds all scores; of a long text, where some may be too large, those of the rows shown."""
    if run.long is None:
        return run.trace is None or bool(run.trace.scores.isfinite().all())
    largest = run.long.query.abs().max() * run.long.key.abs().max() * run.long.key.shape[1]
    return bool(largest.isfinite()) or bool(
        run.long.rows(view.from_s, view.from_s + TOKENS_SHOWN).scores.isfinite().all()
    )


def show_positions(experiment: Experiment) -> None:
    """Say where positions that were asked for cannot be given: RoPE turns features in pairs."""
    if experiment.positions.startswith("rope") and experiment.rotation is None:
        st.info(
            _("RoPE turns features in pairs, and d_k = {d_k} is odd: nothing is rotated. Make d_k even.").format(
                d_k=experiment.d_k
            )
        )


def show_text(experiment: Experiment, n_cut: int, *, long: bool = False) -> None:
    """Say what of the text is not computed or not in the link; long: as far as a page without a whole trace goes."""
    if st.session_state.get("_text_cut") and len(experiment.text) == TEXT_CHARS:
        st.info(
            _("The text is longer than the {most} characters that are taken: its beginning is computed.").format(
                most=f"{TEXT_CHARS:,}"
            )
        )
    if experiment.n_left_out:
        st.info(
            n_(
                "{n} further line is not computed: a batch takes {most} sequences.",
                "{n} further lines are not computed: a batch takes {most} sequences.",
                experiment.n_left_out,
            ).format(n=experiment.n_left_out, most=SEQUENCES)
        )
    if n_cut:
        st.info(
            n_(
                "{n} token is not computed: at most {most} of a sequence, {mb} MB in all. The text stays in the box.",
                "{n} tokens are not computed: at most {most} of a sequence, {mb} MB in all. The text stays in the box.",
                n_cut,
            ).format(n=n_cut, most=LONG_TOKENS if long else TOKENS, mb=(LONG_BYTES if long else TRACE_BYTES) // 2**20)
        )
    left_out = to_query(experiment, state.view()).partition("without=")[2]
    if "text" in left_out:
        st.info(
            _("The text is not in the link: a link holds {most} bytes. Send the text along with it.").format(
                most=LINK_BYTES
            )
        )
    if "labs" in left_out:
        st.info(_("What you typed into the labs is not in the link: it is more than a link holds."))
    if "edits" in left_out:
        st.info(_("The edited numbers are not in the link: they are more than a link holds."))
