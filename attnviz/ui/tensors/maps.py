"""One head that was brought: its map beside the one that should be, their difference, and the cell that is chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.core.diagnosis_claims import read_output
from attnviz.core.shapes import widened
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import bold, markdown, number
from attnviz.limits import TOKENS, TOKENS_SHOWN
from attnviz.locale import _
from attnviz.models.files_axes import as_claimed
from attnviz.ui import board, labs, state
from attnviz.ui.board import Charts
from attnviz.ui.compute import Computed
from attnviz.ui.long import map as long
from attnviz.ui.models.chosen import stand_in, token_boxes
from attnviz.ui.models.head import windows
from attnviz.ui.tensors.given import Given

OF_CELLS = ("theirs", "ours", "difference")
DIGITS = 7  # of a weight that is read: what float32 holds
WIDE, FEW, CELL = 1290, 12, 13  # pixels of a line of maps; tokens from which cells are smaller, and how small
ROUNDING = 1e-5  # of the largest number: a difference that is not drawn


class Head(NamedTuple):
    """The maps of the chosen head: what was brought, and what should be; None where it is not there."""

    theirs: Tensor | None  # (s, u)
    ours: Tensor | None
    output: Tensor | None  # (s, d), brought
    our_output: Tensor | None


def of(given: Given) -> Head:
    """Return the numbers of the chosen head."""
    theirs = None if given.theirs() is None else widened(given.map())
    if given.brought.query is None:
        return Head(theirs, None, None, None)
    trace = given.read().trace(given.head)
    return Head(theirs, widened(trace.weights[0]), _output(given), widened(trace.output[0]))


def _output(given: Given) -> Tensor | None:
    """The output of the chosen head as it was brought: (s, d)."""
    output, value = given.brought.output, given.brought.value
    if output is None or value is None:
        return None
    _l, b, h, s = given.brought.main.shape[:4]
    read = read_output(as_claimed(output[given.layer], h), (b, h, s, value.shape[-1]))
    return read[given.sample, given.head]


def show(given: Given, head: Head) -> tuple[Charts, Computed]:
    """Draw the maps, and return what the hover needs of them."""
    computed = stand_in(given.queries, given.keys)
    shown = head.theirs if head.theirs is not None else head.ours
    assert shown is not None
    if max(shown.shape) > TOKENS:
        _long(given, shown, computed)
        return [], computed
    if given.square:
        board.windows(computed)
    else:
        computed = windows(given.queries, given.keys, computed)
    n_shown = min(TOKENS_SHOWN, len(given.keys))
    cell = CELL if n_shown > FEW else None  # so that three maps stand side by side
    weights = _weights(given, head)
    charts = [labs.maps(computed, "maps-brought", weights, width=WIDE, cell=cell)]
    if len(weights) == 2:
        st.caption(_("They differ by rounding alone, which is not drawn."))
    if head.output is not None and head.our_output is not None:
        outputs = _outputs(given, head.output, head.our_output)
        charts.append(labs.maps(computed, "maps-outputs", outputs, width=WIDE))
    token_boxes(computed, given.keys)
    st.markdown(_cell(given, head, computed))
    return charts, computed


def _weights(given: Given, head: Head) -> list[Map]:
    s, u = Axis("s", given.queries), Axis("u", given.keys)
    found = []
    for name, title, x in (("theirs", _("your weights"), head.theirs), ("ours", _("as they should be"), head.ours)):
        if x is not None:
            share = bool(((x >= 0) & (x <= 1.001) | x.isnan()).all())
            found.append(Map(name, f"<b>a</b>, {bold(title)}", x, s, u, "share" if share else "signed", sums="rows"))
    return found + _difference("difference", head.theirs, head.ours, s, u)


def _outputs(given: Given, theirs: Tensor, ours: Tensor) -> list[Map]:
    s, d = Axis("s", given.queries), Axis("d")
    yours, should = bold(_("your output")), bold(_("as it should be"))
    found = [
        Map("their output", f"<b>O</b>, {yours}", theirs, s, d),
        Map("our output", f"<b>O</b>, {should}", ours, s, d),
    ]
    return found + _difference("output difference", theirs, ours, s, d)


def _difference(name: str, theirs: Tensor | None, ours: Tensor | None, rows: Axis, columns: Axis) -> list[Map]:
    """The map of a difference; none of rounding alone, which its scale would blow up to full colour."""
    if theirs is None or ours is None:
        return []
    apart = theirs - ours
    if bool((apart.abs() <= ROUNDING * ours.abs().amax()).all()):
        return []
    return [Map(name, bold(_("yours − as they should be")), apart, rows, columns, "difference")]


def _cell(given: Given, head: Head, computed: Computed) -> str:
    """Read the chosen cell aloud, with every digit."""
    s, u = computed.view.s, computed.view.u
    words = _("“{s}” gives {value} of its attention to “{u}”.")
    if head.theirs is not None and head.ours is not None:
        words = _("In your weights, “{s}” gives {value} of its attention to “{u}”; it should be {ours}.")
    x = head.theirs if head.theirs is not None else head.ours
    assert x is not None
    return words.format(
        s=markdown(given.queries[s]),
        u=markdown(given.keys[u]),
        value=number(float(x[s, u]), DIGITS),
        ours="" if head.ours is None else number(float(head.ours[s, u]), DIGITS),
    )


def _long(given: Given, shown: Tensor, computed: Computed) -> None:
    called = _("layer {layer}, head {head}").format(layer=given.layer + 1, head=given.head + 1)
    name = ("brought", given.name, given.layer, given.head)
    long.show(
        long.of_weights(shown, name),
        chart_key="maps-long",
        called=called,
        tokens=given.queries,
        key_tokens=None if given.square else given.keys,
        selected=(computed.view.s, computed.view.u),
        on_cell=lambda s, u: state.look(s=s, u=u),
    )


def clicked(cell: dict[str, Any]) -> None:
    """Choose the cell of a map that was clicked."""
    if cell["name"] in OF_CELLS:
        state.look(s=int(cell["row"]), u=int(cell["col"]))
    elif cell["name"].endswith("of theirs") or "output" in cell["name"]:
        state.look(s=int(cell["row"]))
