"""What a diagnosis says, on the page: the causes in words, how well they explain the numbers, the lines of code."""

from __future__ import annotations

import math

import streamlit as st

from attnviz.core.diagnosis import Diagnosis, Finding
from attnviz.core.diagnosis_lines import Lines, lines
from attnviz.core.diagnosis_masks import as_causal, split_mask
from attnviz.figures.text import MINUS
from attnviz.locale import _
from attnviz.ui.tensors import causes
from attnviz.ui.tensors.given import Given


def show(given: Given, found: Diagnosis) -> None:
    """Say what is wrong, or that it is right."""
    alone = given.brought.query is None
    if found.correct:
        st.success(_right(alone, found))
        return
    for i, finding in enumerate(found.findings):
        number = f"{i + 1}. " if len(found.findings) > 1 else ""
        st.error(number + causes.sentence(finding) + " " + _explained(finding, alone))
        _same(finding)
        _code(given, finding)
    names = {"weights": _("the weights"), "output": _("the output")}
    for claim in found.unexplained:
        st.warning(
            _(
                "**Nothing on the list explains {claim}**: no known mistake, alone or with another, gives these "
                "numbers. They differ by up to {residual} of the largest one."
            ).format(claim=names[claim], residual=amount(found.residual))
        )
    if found.first_step is not None:
        st.markdown(_("The first step that differs: **{step}**.").format(step=steps()[found.first_step]))


def _right(alone: bool, found: Diagnosis) -> str:
    if alone:
        return _(
            "**The weights show no mistake**: no number is below 0 or NaN, and rows sum to 1 within {residual}. "
            "Whether they are the right ones, only queries and keys can tell."
        ).format(residual=amount(found.residual))
    return _(
        "**Correct**: every number is that of attention(q, k, v). The largest difference is {residual} of the largest "
        "number, which is rounding."
    ).format(residual=amount(found.residual))


def _explained(finding: Finding, alone: bool) -> str:
    before, after = amount(finding.residual_before), amount(finding.residual_after)
    without_distance = math.isinf(finding.residual_before)  # NaN has none, nor have numbers in another shape
    if alone:
        return "" if without_distance else _("(off by {before})").format(before=before)
    if without_distance:
        words = _("With this mistake made on purpose, your numbers differ by {after} of the largest one.")
        return words.format(after=after)
    return _(
        "Your numbers differ by up to {before} of the largest one; with this mistake made on purpose, by {after}."
    ).format(before=before, after=after)


def _same(finding: Finding) -> None:
    """Name the causes that no number tells from this one."""
    for other in finding.same:
        said = " ".join(causes.sentence(Finding(code, 0.0, 0.0, value=finding.value)) for code in other.split("+"))
        st.markdown(_("The same numbers come from another mistake, and nothing tells them apart:") + " " + said)


def _code(given: Given, finding: Finding) -> None:
    """Draw the line as it probably stands, and as it should."""
    written = line(given, finding)
    for column, title, code in zip(
        st.columns(2),
        (_("As it probably stands"), _("As it should stand")),
        (written.wrong, written.right),
        strict=True,
    ):
        with column:
            st.caption(title)
            if code:
                st.code(code, language="python", wrap_lines=True)
            else:
                st.markdown(_("*(no such line)*"))


def line(given: Given, finding: Finding) -> Lines:
    """Return the lines of a finding, with the numbers that were meant."""
    n_query, n_key = len(given.queries), len(given.keys)
    visible, _bias = split_mask(given.mask(), n_query, n_key)
    read = None if visible is None else as_causal(visible)
    offset = 0 if read is None or read[0] is None else read[0]
    return lines(
        finding.cause,
        value=finding.value,
        scale=given.scale,
        softcap=given.softcap,
        layout="interleaved" if given.lab.rotary == "interleaved" else "half",
        base=given.lab.rotary_base,
        offset=offset,
        corner=0 if offset == n_key - n_query else n_key - n_query,
    )


def amount(x: float) -> str:
    """Write a share of a number in few digits.

    >>> amount(0.25), amount(3.1e-8), amount(float("inf")), amount(0.0)
    ('0.25', '3.1e−8', '∞', '0')
    """
    if math.isinf(x) or math.isnan(x):
        return "∞"
    digits, _e, power = f"{x:.2g}".partition("e")
    return digits + (f"e{int(power)}".replace("-", MINUS) if power else "")


def steps() -> dict[str, str]:
    """Return what each step of attention is called."""
    return {
        "query": _("the queries"),
        "key": _("the keys"),
        "value": _("the values"),
        "scores": _("the scores q·k"),
        "scaled": _("the scaled scores"),
        "masked": _("the masked scores"),
        "weights": _("the weights, after the softmax"),
        "output": _("the output"),
    }
