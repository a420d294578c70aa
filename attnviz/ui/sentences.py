"""A cell read aloud: which tokens it is about, and what it says."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.core.arithmetic import Arithmetic
from attnviz.core.positions import rotary_angles, turning_pair
from attnviz.experiment import Run, View
from attnviz.figures.matrices import shape
from attnviz.figures.text import SUBSCRIPTS, cut, decimals, markdown, number, visible
from attnviz.limits import NAME_CHARS
from attnviz.locale import _


def read(run: Run, view: View, explained: Arithmetic, escape: Callable[[str], str] = markdown) -> str:
    """Say in one sentence what the chosen cell means: in Markdown, or with tokens as `escape` has them."""
    tokens = run.tokens[view.b]
    words = {
        "query": _("In sequence {b}, the query of {s} has {value} at feature {feature}."),
        "key": _("In sequence {b}, the key of {u} has {value} at feature {feature}."),
        "value": _("In sequence {b}, the value of {u} has {value} at feature {feature}."),
        "scores": _("In sequence {b}, the query of {s} and the key of {u} have the dot product {value}."),
        "scaled": _("In sequence {b}, the scaled score of {s} for {u} is {value}."),
        "masked": _("In sequence {b}, the scaled score of {s} for {u} is {value}."),
        "weights": _("In sequence {b}, {s} gives {value} of its attention to {u}."),
        "output": _("In sequence {b}, the output of {s} has {value} at feature {feature}."),
    }
    text = words[view.step]
    if run.rotary is not None and view.step in ("query", "key"):
        text += " " + _("RoPE turned features {pair} by {angle} rad.").format(**_rotation(run, view))
    if run.has_cost and view.step == "masked":
        cost = number(run.cost(view.h, view.s, view.u), 4)
        text += " " + _("ALiBi added {cost} for the distance.").format(cost=cost)
    if view.step in ("masked", "weights") and run.hides(view.b, view.s, view.u):
        text = _("In sequence {b}, {s} may not see {u}: the mask makes its score −∞, and so its weight 0.")
    if view.step in ("weights", "output") and run.sees_nothing(view.b, view.h, view.s):
        text = _("In sequence {b}, {s} may attend nowhere: its row of weights is 0, and so is its output.")
    return text.format(
        b=view.b + 1,
        s=_named(tokens, view.s, escape),
        u=_named(tokens, view.u, escape),
        value=number(explained.cell, _digits(view, explained.cell)),
        feature=view.feature + 1,
    )


def _digits(view: View, value: float) -> int:
    return 4 if view.step != "weights" else 2 if value >= 0.01 else decimals(value)


def _named(tokens: tuple[str, ...], i: int, escape: Callable[[str], str]) -> str:
    """Quote a token, cut where it is very long; with its number where it is not the only one."""
    number_ = str(i + 1).translate(SUBSCRIPTS) if tokens.count(tokens[i]) > 1 else ""
    return f"“{escape(cut(visible(tokens[i][:NAME_CHARS]), 300))}”{number_}"


def place(run: Run, view: View) -> str:
    """Say which cell a program computes, in English: it is a comment in code."""
    tokens = run.tokens[view.b]
    where = {
        "s": f"query token s={view.s + 1} {tokens[view.s][:NAME_CHARS]!r}",
        "u": f"key token u={view.u + 1} {tokens[view.u][:NAME_CHARS]!r}",
    }
    of = {
        "query": (where["s"], f"feature k={view.feature + 1}"),
        "key": (where["u"], f"feature k={view.feature + 1}"),
        "value": (where["u"], f"feature d={view.feature + 1}"),
        "output": (where["s"], f"feature d={view.feature + 1}"),
    }.get(view.step, (where["s"], where["u"]))
    return f"{view.step}: sequence b={view.b + 1}, head h={view.h + 1}, {of[0]}, {of[1]}"


def _rotation(run: Run, view: View) -> dict[str, str]:
    """The two features that turned together, and by how much."""
    assert run.rotary is not None
    d_k, at = shape(run, "query", view.b, view.h)[1], view.s if view.step == "query" else view.u
    first, second, pair = turning_pair(view.feature, d_k, run.rotary.layout)
    angle = float(rotary_angles(at + 1, d_k, run.rotary)[at, pair])
    return {"pair": _("{first} and {second}").format(first=first + 1, second=second + 1), "angle": number(angle, 4)}
