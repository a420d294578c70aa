"""The controls that every page shares: the text in sight, heads, mask and scale open, the rest in one popover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.experiment import CHOICES, Experiment
from attnviz.figures.text import markdown
from attnviz.limits import LIMITS, TEXT_CHARS
from attnviz.locale import _
from attnviz.presets import PRESETS, preset
from attnviz.ui import following, state, widgets

_GIVEN = "_text_given"  # the key of: a text was put into the box, which has not been drawn since
LIVE = "120ms"  # of quiet after a key, before the page follows


def show() -> DeltaGenerator:
    """Draw the controls that define the experiment, and return their row, which may take some more."""
    _text()
    row = st.container(horizontal=True, vertical_alignment="bottom", key="settings")
    with row:
        _number("n_heads", _("Heads"), width=130)
        _choice("mask", _("Mask"), _masks())
        _choice("scale", _("Scale"), _scales())
        _mask_sizes()
        more = st.popover(_("More settings"), width="content", key="more", on_change="rerun")
        if more.open:  # a closed one costs nothing
            with more:
                _more()
        st.toggle(_("Several sequences"), key="several", on_change=_switch_box)
    return row


def text(examples: Sequence[str]) -> None:
    """Draw the text alone, for a page that computes nothing else of the experiment, with examples of its own."""
    _text(examples)


def _text(texts: Sequence[str] = ()) -> None:
    st.session_state[_GIVEN] = False
    several = st.session_state.setdefault("_several", "\n" in state.experiment().text)
    st.session_state.setdefault("several", several)
    if several:
        _seed_text("text_area")
        st.text_area(
            _("Sequences, one a line"),
            key="text_area",
            on_change=_take_text,
            args=("text_area",),
            height=112,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if several:
            st.button(_("Apply"), type="primary", help=_("Or press Ctrl+Enter in the box."))
        else:
            _seed_text("text_line")
            st.text_input(
                _("Text"),
                key="text_line",
                on_change=_take_line,
                args=("text_line",),
                live=LIVE,
                placeholder=_("Type a few words"),
                autocomplete="off",
            )
        examples = st.popover(_("Examples"), width="content", key="examples", on_change="rerun")
        if examples.open:
            with examples:
                for i, words in enumerate(texts):
                    st.button(markdown(words), key=f"text.{i}", on_click=_take_example, args=(words,), width="stretch")
                for code, words in _presets().items() if not texts else ():
                    st.button(words, key=f"preset.{code}", on_click=_take_preset, args=(code,), width="stretch")


def _seed_text(key: str) -> None:
    if key not in st.session_state:
        st.session_state[key] = state.experiment().text


def _take_text(key: str) -> None:
    if st.session_state.get(_GIVEN):  # the other box, or a preset, has its place already
        return
    text = widgets.sent(key) or ""
    st.session_state["_text_cut"] = len(text) > TEXT_CHARS
    state.change(replace(state.experiment(), text=text[:TEXT_CHARS]))


def _take_line(key: str) -> None:
    _take_text(key)
    following.ask()


def _switch_box() -> None:
    """Carry the text over to the other box: a line of text has no borders, so that they become spaces there."""
    _take_text("text_area" if st.session_state["_several"] else "text_line")  # what was typed and not sent comes along
    text = state.experiment().text
    several = st.session_state["_several"] = bool(widgets.sent("several"))
    if several:
        kept = st.session_state.get("_lines", text)
        text = kept if " ".join(kept.splitlines()) == text else text
    else:
        st.session_state["_lines"] = text
        text = " ".join(text.splitlines())
    _give_text(replace(state.experiment(), text=text))


def _take_preset(code: str) -> None:
    chosen = preset(code)
    st.session_state["_several"] = st.session_state["several"] = "\n" in chosen.text
    _give_text(chosen)


def _take_example(words: str) -> None:
    st.session_state["_several"] = st.session_state["several"] = False
    _give_text(replace(state.experiment(), text=words))


def _give_text(new: Experiment) -> None:
    """Put an experiment in place, and its text into whichever box is drawn next."""
    state.change(new)
    for key in ("text_line", "text_area"):
        st.session_state.pop(key, None)
    st.session_state[_GIVEN] = True


def _more() -> None:
    _choice("tokenizer", _("Tokens"), _tokenizers())
    with st.container(horizontal=True):
        for field in ("d_model", "d_k", "d_v"):
            _number(field, f"`{field}`", width=130)
    heads = state.experiment().n_heads
    st.session_state["n_kv_heads"] = state.experiment().n_kv_heads or heads
    with st.container(horizontal=True):
        st.selectbox(
            _("Key-value heads"),
            [n for n in range(1, heads + 1) if heads % n == 0],
            key="n_kv_heads",
            on_change=_take_groups,
            width=130,
        )
        _number("seed", _("Seed"), width=170)
        _number("temperature", _("Temperature"), width=150)
    _choice("positions", _("Positions"), positions())
    st.segmented_control(_("Index letters"), CHOICES["letters"], required=True, **state.of_view("letters"))


def _mask_sizes() -> None:
    mask = state.experiment().mask
    if mask == "window":
        _number("window_left", _("Keys to the left"), width=150)
        _number("window_right", _("Keys to the right"), width=150)
    if mask == "prefix":
        _number("prefix_length", _("Length of the prefix"), width=170)


def _take_groups() -> None:
    groups = widgets.sent("n_kv_heads")
    state.change(replace(state.experiment(), n_kv_heads=groups if groups != state.experiment().n_heads else None))


def _number(field: str, label: str, *, width: int) -> None:
    limit = LIMITS[field]
    st.number_input(
        label, limit.low, limit.high, value=None, step=limit.step, width=width, **state.of_experiment(field)
    )


def _choice(field: str, name: str, words: dict[str, str]) -> None:
    wording: Callable[[str], str] = words.__getitem__
    st.segmented_control(
        name,
        list(words),
        required=True,
        format_func=wording,
        **state.of_experiment(field, worded=True),
    )


def _masks() -> dict[str, str]:
    words = {"none": _("none"), "causal": _("causal"), "window": _("window"), "prefix": _("prefix")}
    if state.experiment().drawn or state.experiment().mask == "drawn":
        words["drawn"] = _("drawn")
    return words


def _scales() -> dict[str, str]:
    return {"sqrt": "1/√d_k", "d_k": "1/d_k", "none": _("off")}


def positions() -> dict[str, str]:
    """Return what each kind of positions is called."""
    return {
        "none": _("no positions"),
        "sinusoidal": _("sinusoidal"),
        "learned": _("learned"),
        "rope_half": _("RoPE, halves"),
        "rope_interleaved": _("RoPE, pairs"),
        "alibi": "ALiBi",
    }


def _tokenizers() -> dict[str, str]:
    return {"words": _("words"), "characters": _("characters"), "spaces": _("spaces")}


def _presets() -> dict[str, str]:
    words = {
        "cat": _("The cat sat on the mat"),
        "repeat": _("Repeated tokens"),
        "chinese": _("A Chinese sentence"),
        "batch": _("Three sequences, padded"),
        "causal": _("Causal mask"),
        "worked": _("A published worked example"),
        "emoji": _("Emoji"),
    }
    return {code: words[code] for code in PRESETS}
