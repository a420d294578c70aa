"""The masks section, where torch comes in: rows that are wholly hidden, and the two masks of its attention layer."""

from __future__ import annotations

from typing import Any

import streamlit as st
import torch

from attnviz.core.masks import causal
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import number
from attnviz.labs.masks import for_multihead, hide, hide_row, nowhere, on_hidden
from attnviz.letters import relabel
from attnviz.limits import DRAWN
from attnviz.locale import _
from attnviz.ui import labs, painter
from attnviz.ui.compute import Computed
from attnviz.ui.labs.masks_study import Study, bold, share
from attnviz.ui.questions import Question, ask

ROWS: dict[str, Any] = {"scale": "share", "sums": "rows"}


def show(computed: Computed, study: Study) -> list[dict[str, Any]]:
    """Draw the two questions."""
    return [*_nowhere(computed, study), *_multihead(computed, study)]


def _nowhere(computed: Computed, study: Study) -> list[dict[str, Any]]:
    s, _u = painter.cursor(computed)
    empty = bool((~study.mask).all(-1).any())
    place = ask(
        Question(
            13,
            _(
                "**What happens to a row that is wholly masked?** A query may read no key at all. Its weights, by "
                "softmax with −∞ in every cell:"
            ),
            {
                "zero": _("0 everywhere, as everything is hidden"),
                "nan": _("NaN: the sum of the exponentials is 0, and 0 / 0 is no number"),
                "even": _("the same for all keys, as all scores are the same"),
            },
            right="nan",
        )
    )
    if not empty:
        words = _("Hide row {s}, of {token}").format(
            s=relabel("s", computed.view.letters) + f" = {s + 1}", token=study.reader(s)
        )
        off = len(study.mask) > DRAWN  # later keys cannot be hidden by painting
        st.button(words, key="hide-row", on_click=painter.paint, args=("row",), disabled=off)
    if place is None:
        return []
    mask = study.mask
    if not empty:
        mask = labs.ran("row_hidden", hide_row, mask, s)
        place.caption(_("Your mask has no such row: here {s} reads nothing.").format(s=study.reader(s)))
    found = labs.ran("plain_and_safe", nowhere, study.scaled, study.value, mask)
    row = found.rows[0]
    finite = labs.ran("with_minus_10", hide, study.scaled, study.value, mask, hidden=-10.0).weights[row]  # (u,)
    even = labs.ran("most_with_minus_10", torch.max, finite)
    place.markdown(
        _(
            "exp(−∞) is 0 for every key of {s}, so each weight is 0 / 0 = NaN, and so is its output; in training, the "
            "gradient of {spoiled} of {numbers} numbers of V is NaN as well. A safe softmax, as this app and "
            "F.scaled_dot_product_attention have it, makes that row 0. With −10 in place of −∞ the row looks sound, "
            "and is not: {s} gives {even} to each key that it must not read."
        ).format(
            s=study.reader(row),
            spoiled=found.spoiled,
            numbers=study.value.numel(),
            even=number(float(even), 4),
        )
    )
    tokens, of_values = (study.rows, study.keys), (study.rows, Axis("d"))
    with place:
        return [
            labs.maps(
                computed,
                "block-nowhere",
                [
                    Map("plain", bold(_("a, plain")), found.plain, *tokens, **ROWS),
                    Map("plain_output", bold(_("O, plain")), found.plain_output, *of_values),
                    Map("safe", bold(_("a, safe")), found.safe, *tokens, **ROWS),
                    Map("safe_output", bold(_("O, safe")), found.safe_output, *of_values),
                ],
                width=1160,
            )
        ]


def _multihead(computed: Computed, study: Study) -> list[dict[str, Any]]:
    run, view = computed.run, computed.view
    letters = {letter: relabel(letter, view.letters) for letter in "bsu"}
    place = ask(
        Question(
            14,
            _(
                "**attn_mask or key_padding_mask?** torch.nn.MultiheadAttention takes both. You have a batch of "
                "sentences of different lengths, and no token may read later ones. Which goes where?"
            ),
            {
                "same": _("either takes both: they are two names for one thing"),
                "sides": _("attn_mask hides rows, the queries; key_padding_mask hides columns, the keys"),
                "shapes": _("attn_mask says who may read whom; key_padding_mask says which keys are padding"),
            },
            right="shapes",
        )
    )
    mask = painter.chosen(computed)
    if bool(mask.all()):
        mask = study.mask if study.stands_in else labs.ran("causal_mask", causal, *mask.shape)
    length, padded = run.lengths[view.b], view.lab.padded
    batch = len(set(run.lengths)) > 1
    lengths = run.lengths if batch else [max(1, n - padded) for n in run.lengths]
    if not batch:
        st.caption(
            _(
                "No sequence here is padded. Tokens at the end that are taken for padding: {n} (“Padded keys”, above)."
            ).format(n=length - lengths[0])
        )
    layer = labs.ran("for_layer", for_multihead, mask, lengths)
    both = layer.both[view.b, :length]  # (s, u)
    titles = [
        f"<b>attn_mask</b> ({letters['s']}, {letters['u']})",
        f"<b>key_padding_mask</b> ({letters['b']}, {letters['u']})",
        bold(_("one or the other")),
    ]
    rows, keys = study.rows, study.keys
    charts = [
        labs.maps(
            computed,
            "block-multihead",
            [
                Map("attn_mask", titles[0], layer.attn_mask[:length], rows, keys, scale="truth"),
                Map("key_padding_mask", titles[1], layer.key_padding_mask, Axis("b"), keys, scale="truth"),
                Map("both", titles[2], both, rows, keys, scale="truth"),
            ],
            bars={"truth": _("0 = may attend, 1 = hidden (True)")},
        )
    ]
    if place is None:
        return charts
    may_attend = labs.ran("may_attend", torch.logical_not, both)
    meant, turned = (
        labs.ran(name, nowhere, study.scaled, study.value, seen)
        for name, seen in (("as_meant", may_attend), ("wrong_way_round", both))
    )
    place.markdown(
        _(
            "attn_mask, of shape ({s}, {u}), has a cell for each pair, and holds for all sequences. key_padding_mask, "
            "of shape ({b}, {u}), has a row for each sequence and hides whole columns of its map: {n} here. A cell is "
            "hidden where either says so: {all} of {cells}."
        ).format(**letters, n=int(layer.key_padding_mask[view.b].sum()), all=int(both.sum()), cells=both.numel())
    )
    place.markdown(
        _(
            "Mind which way round: in both, **True hides**. In F.scaled_dot_product_attention, and in this app, True "
            "means may attend. Handed over the wrong way round, your mask gives {total} of {whole} of all attention to "
            "keys that should be hidden and get {meant}."
        ).format(
            total=number(float(labs.ran("on_hidden_keys", on_hidden, turned.safe, may_attend)), 4),
            whole=number(float(labs.ran("of_all", torch.sum, turned.safe)), 4),
            meant=share(float(labs.ran("on_hidden_as_meant", on_hidden, meant.safe, may_attend))),
        )
        + (" " + _("Rows that are then wholly hidden, and NaN: {n}.").format(n=len(turned.rows)) if turned.rows else "")
    )
    with place:
        return [
            *charts,
            labs.maps(
                computed,
                "block-turned",
                [
                    Map("meant", bold(_("a, as meant")), meant.plain, rows, keys, **ROWS),
                    Map("turned", bold(_("a, wrong way round")), turned.plain, rows, keys, **ROWS),
                ],
                width=1160,
            ),
        ]
