"""Beyond one head's weights: how much each key really adds, and what reaches a token through all layers."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.maps import Axis, Map
from attnviz.locale import _
from attnviz.ui import labs
from attnviz.ui.compute import Computed
from attnviz.ui.models.chosen import Chosen, Shown, titled
from attnviz.ui.models.head import windows


def show(chosen: Chosen, computed: Computed) -> Shown:
    """Draw the weights, what they add, and the rollout."""
    read, s, u = chosen.read, Axis("s", chosen.queries), Axis("u", chosen.keys)
    weights = read.trace(chosen.head).weights[0]  # (s, u)
    maps = [Map("weights", titled("a", _("weight")), weights, s, u, scale="share")]
    said = [_("**a**: the weights of this head.")]
    if read.carried is not None:
        added = weights * read.carried[chosen.head]  # (s, u)
        maps.append(Map("added", titled("a ‖v W<sub>O</sub>‖", _("what it adds")), added, s, u, scale="amount"))
        said.append(
            _(
                "**a ‖v W_O‖**: the length of what each key adds to the row, in the model's own units. A large weight "
                "on a short value adds little; sinks often are such (Kobayashi et al. 2020)."
            )
        )
    if chosen.square:
        with st.spinner(_("All layers are multiplied"), show_time=False):
            rolled = chosen.job.rollout(chosen.part.kind)
        maps.append(Map("rollout", titled("rollout", _("all layers")), rolled, s, u, scale="share"))
        said.append(
            _(
                "**Rollout**: how much of each first token is in each last one, were heads averaged and each layer's "
                "half its own input (Abnar and Zuidema 2020). It is of all layers, whichever head is chosen."
            )
        )
    st.markdown("\n\n".join(said))
    now = windows(chosen.queries, chosen.keys, computed)
    charts = [labs.maps(now, "maps-beyond", maps, bars={"amount": _("length, in the model's units")})]
    st.markdown(_note())
    return Shown(charts, now, chosen.keys)


def _note() -> str:
    return _(
        "**What a weight does not prove.** That a token was looked at does not say that it mattered: other weights may "
        "give the same answer (Jain and Wallace 2019), though not just any (Wiegreffe and Pinter 2019), and what a "
        "token holds in a late layer is a mix of all. Knock a head or an edge out to see whether the answer changes."
    )
