"""Einsum: operands and result as maps, of tensors with more axes the slice at the chosen element, tied to the browser.

Not through labs.maps and labs.connect, whose axes have the design's letters: here an axis has the letter that was
typed, in words, hue and hover.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.figures.map_places import plain
from attnviz.figures.maps import Axis, Map, sentence, specify
from attnviz.figures.text import html, visible, width
from attnviz.labs.equations import Problem
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import bridge, labs, state
from attnviz.ui.board import CONFIG, windows
from attnviz.ui.chart import Specified
from attnviz.ui.compute import Computed
from attnviz.ui.labs.einsum_letters import Letters, called, mark, shape

KEY = "maps-einsum"
OPERANDS = 6  # that are drawn
CELLS = 64  # of an axis that are drawn, as many as a tensor has features; of tokens a window is


class Part(NamedTuple):
    """A tensor as a map, and the letters of its rows and columns, "" for none."""

    map: Map
    rows: str
    columns: str


def show(
    computed: Computed, problem: Problem, found: Tensor, index: tuple[int, ...], letters: Letters
) -> Callable[[], None]:
    """Draw the maps; return what ties them to the browser, where a click chooses the element that is written out."""
    at = dict(zip(problem.equation.output, index, strict=True))
    tokens = tokens_of(computed, problem, at)
    if any(len(words) > TOKENS_SHOWN for words in tokens.values()):
        windows(computed)
    parts = _parts(problem, found, at, tokens, letters)
    spec, panels = _specified(computed, problem, parts, letters)
    whole = spec["layout"]["width"]
    with st.container(key=KEY, width=whole):
        alt = " ".join(sentence(part.map) for part in parts)
        st.plotly_chart(Specified(spec), width=whole, theme=None, key=f"chart-{KEY}", config=CONFIG, alt=alt)
    labs.keep(KEY, [part.map for part in parts], panels, lambda: _specified(computed, problem, parts, letters)[0], alt)
    if len(problem.operands) > OPERANDS:
        st.caption(_("Of {n} operands the first {shown} are drawn.").format(n=len(problem.operands), shown=OPERANDS))
    long = [letter for letter, n in problem.sizes.items() if n > CELLS and letter not in tokens]
    if long:
        words = _("Of {letters} the first {shown} places are drawn.")
        st.caption(words.format(letters=", ".join(f"`{called(letter)}`" for letter in long), shown=CELLS))
    return partial(_connect, computed, {"key": KEY, "panels": panels}, parts, problem, at, tokens, letters)


def _specified(
    computed: Computed, problem: Problem, parts: list[Part], letters: Letters
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    spec, panels = specify([part.map for part in parts], computed.view, letters.theme)
    for part, panel in zip(parts, panels, strict=True):
        _letter(spec["layout"], panel["axis"], part, problem, letters)
        panel["symbol"] = plain(part.map.title).partition(" ")[0]
    return spec, panels


def tokens_of(computed: Computed, problem: Problem, at: dict[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the tokens along each axis that has the reader's, by letter."""
    subscripts = zip(problem.equation.operands, problem.own, strict=True)
    ours = {letter for operand, own in subscripts if own for letter in operand}
    b = next((at.get(a, 0) for a in ours if problem.meaning[a] == "b"), computed.view.b)
    words = computed.run.tokens[b]
    return {a: words[: problem.sizes[a]] for a in ours if problem.meaning[a] in ("s", "u")}


def _parts(
    problem: Problem, found: Tensor, at: dict[str, int], tokens: dict[str, tuple[str, ...]], letters: Letters
) -> list[Part]:
    drawn = [
        (f"operand{number}", name, axes, x, own)
        for number, (name, axes, x, own) in enumerate(
            zip(problem.names, problem.equation.operands, problem.operands, problem.own, strict=True), 1
        )
    ]
    parts = []
    for key, name, axes, x, own in [*drawn[:OPERANDS], ("result", problem.output, problem.equation.output, found, "")]:
        slice_ = x[tuple(at.get(letter, 0) for letter in axes[:-2])]
        values = slice_.reshape((1,) * (2 - slice_.ndim) + slice_.shape)  # (rows, columns)
        rows, columns = ("", "", *axes)[-2:]
        values = values[tuple(slice(None if a in tokens else CELLS) for a in (rows, columns))]
        fixed = [f"{called(a)}={at.get(a, 0) + 1}" for a in axes[:-2] if problem.sizes[a] > 1]
        where = " " + html(_("at {place}").format(place=", ".join(fixed))) if fixed else ""
        symbol = re.sub("^W_(.)$", r"W<sub>\1</sub>", html(name))  # as on the board
        title = f"<b>{symbol}</b> {shape(axes, problem, letters)}{where}"
        made = [Axis(_key(a, problem, tokens) if a else "", tokens.get(a, ())) for a in (rows, columns)]
        scale = "share" if own == "a" else "signed"
        parts.append(Part(Map(key, title, values, made[0], made[1], scale=scale), rows, columns))
    return parts


def _key(letter: str, problem: Problem, tokens: dict[str, tuple[str, ...]]) -> str:
    """The design's letter for an axis, under which it has its hue and tokens; else one that means nothing elsewhere."""
    ours = problem.meaning.get(letter, "")
    return ours if ours and (ours not in ("s", "u") or letter in tokens) else f"={letter}"


def _letter(layout: dict[str, Any], axis: str, part: Part, problem: Problem, letters: Letters) -> None:
    """Write the typed letters at the axes of a map, where the design's would stand."""
    for side, size, letter in (("xaxis", "width", part.columns), ("yaxis", "height", part.rows)):
        made = layout[side + axis]
        if not letter:
            made["showticklabels"] = False
        if not made["showticklabels"]:
            continue
        role = _role(problem.meaning.get(letter, ""))
        length = (made["domain"][1] - made["domain"][0]) * layout[size]
        words = f"{role} {called(letter)}" if role and width(f"{role} {letter}") < length + 12 else called(letter)
        made["title"] = {"text": mark(words, letter, letters), "standoff": 4, "font": {"size": 11}}
        made["tickfont"] = {**made["tickfont"], "color": letters.hue(letter)}


def _role(letter: str) -> str:
    """What an axis with the design's letter counts."""
    return {
        "b": _("sequence"),
        "h": _("head"),
        "s": _("query token"),
        "u": _("key token"),
        "m": _("feature"),
        "k": _("feature"),
        "d": _("feature"),
    }.get(letter, "")


def _connect(
    computed: Computed,
    chart: dict[str, Any],
    parts: list[Part],
    problem: Problem,
    at: dict[str, int],
    tokens: dict[str, tuple[str, ...]],
    letters: Letters,
) -> None:
    axes = {_key(letter, problem, tokens): letter for letter in problem.sizes}
    row, column = (at.get(letter, 0) for letter in ("", "", *problem.equation.output)[-2:])
    spec = {
        "tokens": [visible(token) for token in max(tokens.values(), key=len, default=())],
        "letters": {key: called(letter) for key, letter in axes.items()},
        "hues": {key: letters.hues.get(letter, letters.theme.ink) for key, letter in axes.items()},
        "ink": letters.theme.ink,
        "ground": "#2b2f3a" if letters.theme.name == "dark" else "#ffffff",
        "selected": {"name": "result", "row": row, "col": column},
    }
    by_name = {part.map.name: part for part in parts}

    def clicked() -> None:
        cell = bridge.event("cell")
        if not cell or cell["name"] not in by_name:
            return
        part = by_name[cell["name"]]
        moved = at | {part.rows: int(cell["row"]), part.columns: int(cell["col"])}
        state.set_lab(at=", ".join(str(moved[letter] + 1) for letter in problem.equation.output))

    labs.tie(computed, [chart], spec, clicked)
