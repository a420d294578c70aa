"""What a page says when something could not be taken, cut or computed: one clear sentence each."""

from __future__ import annotations

import streamlit as st

from attnviz.experiment import PAD, Experiment, Run, View
from attnviz.figures.text import markdown
from attnviz.limits import (
    LIMITS,
    LINK_BYTES,
    LONG_BYTES,
    LONG_TOKENS,
    SEQUENCES,
    TEXT_CHARS,
    TOKENS,
    TOKENS_SHOWN,
    TRACE_BYTES,
)
from attnviz.links import Notice, to_query
from attnviz.locale import _, n_
from attnviz.ui import state


def show_link() -> None:
    """Say what the link asked for and could not have."""
    said = dict.fromkeys(word(notice) for notice in state.notices())
    if said:
        st.warning("\n\n".join(list(said)[:6]))


def word(notice: Notice) -> str:
    """Word one notice, in Markdown."""
    name, value = markdown(notice.name), markdown(notice.value)
    limit = LIMITS.get(notice.name)
    if notice.name == "n_kv_heads" and notice.code != "repeated":
        return _("The link asks for {value} key-value heads; their number must divide that of the heads.").format(
            value=value
        )
    if notice.code == "out_of_range" and limit:
        return _("The link asks for {name} = {value}; it goes from {low} to {high}, so the default is shown.").format(
            name=name, value=value, low=f"{limit.low:g}", high=f"{limit.high:g}"
        )
    if notice.code == "without":
        return {
            "text": _("The text was too long for the link you opened: paste it into the box."),
            "edits": _("The edited numbers were too many for the link you opened: they are not in it."),
            "labs": _("What was typed into the labs was too long for the link you opened: it is not in it."),
        }[notice.name]
    if notice.code == "too_long" and notice.name == "text":
        return _("The link's text is longer than attnviz takes: only its beginning is shown.")
    if notice.code == "replaced":
        return _("The link holds characters that no text can carry: “�” stands in their place.")
    if notice.code == "repeated":
        return _("The link gives {name} more than once: the last one counts.").format(name=name)
    if notice.name == "edits":
        return _("The link holds edited numbers that cannot be read ({value}): they are left out.").format(value=value)
    return _("The link gives {name} a value that attnviz does not know ({value}): the default is shown.").format(
        name=name, value=value
    )


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
