"""The mask painter: a grid of the tokens whose cells a click hides or shows, the same by keyboard, presets and undo.

What is painted is the experiment's own mask, so that the link and every page have it. Callbacks read the session, not
what the page last computed: a second click may come before the page has run again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st
import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.drawing import read_drawing, write_drawing
from attnviz.experiment import PAD
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import markdown
from attnviz.figures.titles import role
from attnviz.labs.masks import segment_ids
from attnviz.letters import relabel
from attnviz.limits import DRAWN, LIMITS, UNDO
from attnviz.locale import _
from attnviz.ui import compute, labs, state
from attnviz.ui.compute import Computed

GRID = "mask"  # the name of the map that is painted on
_PAST, _REFUSED = "_painted", "_not_painted"  # keys of the session


def show(computed: Computed) -> dict[str, Any]:
    """Draw the painter, and return what connect() needs of its grid."""
    _begin_with()
    _say(computed)
    words, seen = computed.run.tokens[computed.view.b], holds(computed)
    if computed.run.seen is None or bool(computed.run.seen.all()):  # no step of attention has such a mask
        labs.made("nothing_hidden", seen, masks.window, *seen.shape, left=None, right=None)
    with st.container(horizontal=True, gap="medium"):
        grid = Map(
            GRID, "<b>" + _("mask") + "</b>", seen, Axis("s", words[: len(seen)]), Axis("u", words), scale="truth"
        )
        chart = labs.maps(computed, "block-painter", [grid], bars={"truth": _("1 = may attend, 0 = hidden")}, width=760)
        with st.container(width=330):
            _by_keyboard(computed, seen)
    return chart


def chosen(computed: Computed) -> Tensor:
    """Return the mask that is chosen, without that of padding: bool (s, u), True = may attend."""
    run, n = computed.run, len(computed.run.tokens[0])
    longest = run.lengths.index(n)  # of its keys no padding is hidden
    return torch.ones(n, n, dtype=torch.bool) if run.seen is None else run.seen[longest, 0]


def holds(computed: Computed) -> Tensor:
    """Return the mask that holds for the sequence shown, padding in it; no rows of padding: bool (s, u)."""
    run, b = computed.run, computed.view.b
    mask = chosen(computed) if run.seen is None else run.seen[b, 0]
    return mask[: run.lengths[b]]


def cursor(computed: Computed) -> tuple[int, int]:
    """Return the cell that the keyboard paints: its s and u."""
    return min(computed.view.s, computed.run.lengths[computed.view.b] - 1), computed.view.u


def clicked(cell: dict[str, Any]) -> None:
    """Hide or show the cell of a click. A callback."""
    state.look(s=int(cell["row"]), u=int(cell["col"]))
    paint("cell")


def paint(what: str) -> None:
    """Change the mask: "cell", "row" or "column" of the cursor, "all", "nothing", or a preset. A callback."""
    computed = compute.computed()
    (s, u), n = cursor(computed), computed.run.lengths[computed.view.b]
    if what in ("causal", "window", "prefix"):
        return _change(mask=what)
    refused = _refused(what, s, u, n)
    if refused:
        st.session_state[_REFUSED] = refused
        return None
    seen, part = _canvas(computed), min(n, DRAWN)
    if what in ("cell", "row", "column"):
        rows = slice(part) if what == "column" else slice(s, s + 1)
        columns = slice(part) if what == "row" else slice(u, u + 1)
        seen[rows, columns] = not bool(seen[rows, columns].any())
    elif what in ("all", "nothing"):
        seen[:] = what == "all"
    elif what == "invert":
        seen = ~seen
    elif what == "padding":
        keys = max(0, part - computed.view.lab.padded)
        seen[:part, :part] = masks.padding([keys], part)[0]  # (1, u)
    elif what == "segments":
        seen[:part, :part] = masks.segments(segment_ids(computed.run.tokens[computed.view.b][:part]))
    return _change(mask="drawn", drawn=write_drawing(seen.tolist()))


def undo() -> None:
    """Take back the last change of the painter. A callback."""
    if past := st.session_state.get(_PAST):
        mask, drawn = past[-1]
        st.session_state[_PAST] = past[:-1]
        state.change(replace(state.experiment(), mask=mask, drawn=drawn))


def _refused(what: str, s: int, u: int, n: int) -> str:
    """Say by a code why a cell cannot be painted, "" when it can."""
    rows, columns = what in ("cell", "row"), what in ("cell", "column")
    if (rows and s >= DRAWN) or (columns and u >= DRAWN):
        return "beyond"
    return "padding" if columns and u >= n else ""


def _canvas(computed: Computed) -> Tensor:
    """A copy of the mask to paint on: of the first DRAWN tokens, and what an older drawing holds beyond them."""
    seen = chosen(computed)[:DRAWN, :DRAWN].clone()
    experiment = computed.experiment
    if experiment.mask == "drawn" and experiment.drawn:
        older = torch.tensor(read_drawing(experiment.drawn))
        if len(older) > len(seen):  # of a longer text, which may come back
            older[: len(seen), : len(seen)] = seen
            return older
    return seen


def _change(**fields: str) -> None:
    old = state.experiment()
    new = replace(old, **fields)  # type: ignore[arg-type]  # both are texts
    if new != old:
        st.session_state[_PAST] = [*st.session_state.get(_PAST, []), (old.mask, old.drawn)][-UNDO:]
        state.change(new)


def _begin_with() -> None:
    words = {
        "causal": _("causal"),
        "window": _("window"),
        "prefix": _("prefix"),
        "segments": _("segments"),
        "padding": _("padding"),
    }
    limit = LIMITS["padded"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for code, word in words.items():
            st.button(word, key=f"paint:{code}", on_click=paint, args=(code,))
        st.number_input(_("Padded keys"), limit.low, limit.high, None, limit.step, width=150, **state.of_lab("padded"))
        st.button(_("Invert"), key="paint:invert", on_click=paint, args=("invert",))
        st.button(_("Undo"), key="unpaint", on_click=undo, disabled=not st.session_state.get(_PAST))


def _say(computed: Computed) -> None:
    n = len(computed.run.tokens[0])
    if n > DRAWN:
        st.caption(_("A painted mask holds the first {n} tokens; between later ones it hides nothing.").format(n=DRAWN))
    if len(computed.run.lengths) > 1:
        st.caption(_("A painted mask holds for every sequence; {pad} is hidden besides.").format(pad=markdown(PAD)))
    if code := st.session_state.pop(_REFUSED, ""):
        words = {
            "beyond": _("This cell lies beyond token {n}, where a painted mask ends: choose an earlier one."),
            "padding": _("This column is padding, which no query may read: choose a token."),
        }
        st.warning(words[code].format(n=DRAWN))


def _by_keyboard(computed: Computed, seen: Tensor) -> None:
    (s, u), n = cursor(computed), computed.run.lengths[computed.view.b]
    tokens = computed.run.tokens[computed.view.b]
    with st.container(horizontal=True, gap="small"):
        for letter, at, most in (("s", s, n), ("u", u, len(tokens))):
            words = f"{role(letter)} {relabel(letter, computed.view.letters)} = {markdown(tokens[at])}"
            key = f"painted_{letter}"
            st.session_state[key] = at + 1
            st.number_input(words, 1, most, None, key=key, on_change=state.look_at, args=(letter, key), width=156)
    letters = {letter: relabel(letter, computed.view.letters) for letter in "su"}
    named = {
        "cell": (_("Hide the cell"), _("Show the cell")),
        "row": (_("Hide row {s}"), _("Show row {s}")),
        "column": (_("Hide column {u}"), _("Show column {u}")),
    }
    part = min(n, DRAWN)
    shown = {"cell": seen[s, u], "row": seen[s, :part].any(), "column": seen[:part, u].any()}
    with st.container(horizontal=True, gap="small"):
        for what, (hide, reveal) in named.items():
            word = (hide if bool(shown[what]) else reveal).format(**letters)
            off = bool(_refused(what, s, u, n))
            st.button(word, key=f"paint:{what}", on_click=paint, args=(what,), disabled=off)
        st.button(_("Show all"), key="paint:all", on_click=paint, args=("all",))
        st.button(_("Hide all"), key="paint:nothing", on_click=paint, args=("nothing",))
