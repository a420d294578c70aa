"""The statistic by which heads are told apart: its name and definition, its choice, and the heads that it leaves."""

from __future__ import annotations

import math
from typing import NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.figures.text import number
from attnviz.limits import LIMITS
from attnviz.locale import _
from attnviz.models.heads import Overview
from attnviz.ui import state, widgets

UNITS = ("entropy", "distance")  # which are no shares
_STEP = 0.01


class Told(NamedTuple):
    """The statistic that is chosen, and the heads that are within the reader's limits of it."""

    name: str
    found: Tensor  # (l, h)
    within: Tensor  # bool (l, h)


def names() -> dict[str, str]:
    """Return what each statistic is called."""
    return {
        "previous": _("previous token"),
        "next": _("next token"),
        "first": _("first token"),
        "itself": _("itself"),
        "same": _("same token"),
        "induction": _("induction"),
        "separator": _("separators"),
        "entropy": _("entropy"),
        "distance": _("distance"),
    }


def definitions(overview: Overview) -> dict[str, str]:
    """Return what each statistic that these heads have says."""
    words = {
        "previous": _("**Previous token**: the share a row gives to the token just before its own."),
        "next": _("**Next token**: the share a row gives to the token just after its own."),
        "first": _("**First token**: the share a row gives to the first token, where idle heads often rest."),
        "itself": _("**Itself**: the share a row gives to its own token."),
        "same": _("**Same token**: the share a row gives to earlier copies of its own token."),
        "induction": _("**Induction**: the share a row gives to what followed earlier copies of its own token."),
        "separator": _("**Separators**: the share a row gives to special tokens after the first, such as [SEP]."),
        "entropy": _("**Entropy**: how spread a row is, in nats; 0 is one key alone."),
        "distance": _("**Distance**: how many tokens away a row looks, on average."),
    }
    mean = " " + _("Averaged over the rows that have it.")
    return {name: said + mean for name, said in words.items() if name in overview.statistics}


def choose(overview: Overview, n_keys: int) -> Told:
    """Offer the statistics, defined under the question mark, and which heads are shown by them.

    n_keys: tokens that a row may read, which end what its entropy and its distance may be.
    """
    found, words = list(overview.statistics), names()
    name = state.view().lab.statistic
    name = name if name in found else found[0]
    several = overview.maps.shape[0] * overview.maps.shape[1] > 1
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        key = state.of_lab("statistic", worded=True)["key"]
        st.session_state[key] = name
        st.segmented_control(
            _("Tell heads apart by"),
            found,
            required=True,
            format_func=words.__getitem__,
            help="\n\n".join(definitions(overview).values()),
            key=key,
            on_change=_take,
            args=(key, name),
        )
        if several:
            _limits(name, _highest(name, n_keys))
            st.toggle(_("Highest first"), **state.of_lab("ranked"))
    values, lab = overview.statistics[name], state.view().lab
    within = (values >= lab.least) & (values <= lab.most)
    return Told(name, values, within if several else within.new_ones(within.shape))


def say(told: Told, n_shown: int) -> None:
    """Say how many heads are shown, where it is not all of them; of none, what to do."""
    n = told.found.numel()
    if n_shown == n:
        return
    said = _("{k} of {n} heads are shown.").format(k=n_shown, n=n)
    if not n_shown:
        numbers = told.found[~told.found.isnan()]
        low, high = (number(float(end), 4) for end in (numbers.min(), numbers.max()))
        said = _(
            "No head of {n} has “{statistic}” within these limits: here it goes from {low} to {high}. Widen them."
        ).format(n=n, statistic=names()[told.name], low=low, high=high)
        st.info(said)
        st.button(_("Show all heads"), key="all_heads", on_click=_show_all)
        return
    if n_shown < (n_within := int(told.within.sum())):
        said = _("The {k} highest of {n} heads are shown.").format(k=n_shown, n=n_within)
    st.caption(said)


def _highest(name: str, n_keys: int) -> float:
    """The end of the slider: what the statistic cannot exceed."""
    if name not in UNITS:
        return 1.0
    most = math.log(n_keys) if name == "entropy" else n_keys - 1
    return max(1.0, math.ceil(most / _STEP) * _STEP)


def _limits(name: str, high: float) -> None:
    lab, key = state.view().lab, "limits_of_heads"
    st.session_state[key] = (min(lab.least, high), max(min(lab.least, high), min(lab.most, high)))
    st.slider(
        _("Only “{statistic}” between").format(statistic=names()[name]),
        0.0,
        high,
        step=_STEP,
        format="%.2f",
        key=key,
        width=250,
        on_change=_narrow,
        args=(key, high),
    )


def _narrow(key: str, high: float) -> None:
    low, top = widgets.sent(key)
    state.set_lab(least=low, most=top if top < high else LIMITS["most"].default)


def _show_all() -> None:
    state.set_lab(least=LIMITS["least"].default, most=LIMITS["most"].default)


def _take(key: str, before: str) -> None:
    """Choose another statistic: limits of shares stay among shares, those of nats and tokens mean nothing elsewhere."""
    name = widgets.sent(key)
    if name in UNITS or before in UNITS:
        _show_all()
    state.set_lab(statistic=name)
