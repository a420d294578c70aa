"""How the attention was meant: mask, scale, soft cap, rotation. What is not set is inferred."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.ui import state, widgets


def show(arrays: dict[str, Tensor], axes: str) -> None:
    """Draw the settings, in a popover, where there are queries and keys; of weights alone, the mask."""
    box = st.popover(_("How it was meant"), key="meant", on_change="rerun")
    if not box.open:
        return
    with box:
        words = {"file": _("as the file has it"), "none": _("no mask"), "causal": _("causal")}
        st.segmented_control(
            _("Mask"),
            list(words),
            required=True,
            format_func=words.__getitem__,
            help=_("Causal: with fewer queries than keys, the last query sees every key.")
            + " "
            + _("Where the file has no mask, causal is taken as meant if the numbers show it, else none."),
            **state.of_lab("given_mask", worded=True),
        )
        if "query" not in arrays:
            return
        _number("given_scale", _("Scale (0: 1/√d_k)"), "%.6g")
        _number("given_softcap", _("Soft cap (0: none)"), "%.6g")
        _number("given_d_model", _("d_model (0: all heads side by side)"))
        if axes == "merged":
            _number("merged_heads", _("Heads (0: as many as the weights have)"))
        rotary = {"none": _("no RoPE"), "half": _("RoPE, halves"), "interleaved": _("RoPE, pairs")}
        st.segmented_control(
            _("Queries and keys still to be rotated"),
            list(rotary),
            required=True,
            format_func=rotary.__getitem__,
            **state.of_lab("rotary", worded=True),
        )
        if state.view().lab.rotary != "none":
            _number("rotary_base", _("Base of RoPE"), "%.6g")


def _number(field: str, words: str, shown: str | None = None) -> None:
    low, high, _default, step = LIMITS[field]
    key = f"meant:{field}"
    st.session_state[key] = getattr(state.view().lab, field)
    st.number_input(words, low, high, None, step, shown, key=key, on_change=_take, args=(field, key))


def _take(field: str, key: str) -> None:
    value = widgets.sent(key)
    if value is not None:
        state.set_lab(**{field: value})
