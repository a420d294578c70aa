"""What a diagnosis says, on the page: the causes in words, how well they explain the numbers, the lines of code."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from attnviz.core.diagnosis import Diagnosis, Finding
from attnviz.core.diagnosis_lines import LINES, Lines, lines
from attnviz.core.diagnosis_masks import as_causal, split_mask
from attnviz.figures.text import MINUS, markdown
from attnviz.locale import _, n_
from attnviz.ui.tensors import causes
from attnviz.ui.tensors.given import Given


def show(given: Given, found: Diagnosis, first: tuple[int, int] = (0, 0)) -> None:
    """Say what is wrong, or that it is right. first: the sequence and the head at which what was diagnosed begins."""
    alone = given.brought.query is None
    if found.correct:
        for right in _right(given, alone, found):
            st.success(right)
        return
    for i, finding in enumerate(found.findings):
        number = f"{i + 1}. " if len(found.findings) > 1 else ""
        said = [number + _about(given, finding) + causes.sentence(finding), _explained(found.findings, i, alone)]
        if finding.where:
            said.append(_where(given, finding.where, first))
        st.error(" ".join(part for part in said if part))
        _same(finding)
        if finding.cause in LINES:
            _code(given, finding)
    for claim, residual in zip(found.unexplained, found.unexplained_by, strict=True):
        st.warning(_unexplained(claim, residual))
    if found.first_step is not None:
        st.markdown(_("The first step that differs: **{step}**.").format(step=steps()[found.first_step]))


def _right(given: Given, alone: bool, found: Diagnosis) -> list[str]:
    residual = amount(found.residual)
    if alone and found.findings:
        n = round(found.findings[0].value or 0)
        words = n_(
            "**The weights show no mistake, as far as {n} decimal tells**: they were rounded to it, and rows sum to "
            "1 but for {residual}, as rounding explains. Whether they are the right ones, only queries and keys can "
            "tell.",
            "**The weights show no mistake, as far as {n} decimals tell**: they were rounded to them, and rows sum to "
            "1 but for {residual}, as rounding explains. Whether they are the right ones, only queries and keys can "
            "tell.",
            n,
        )
        return [words.format(n=n, residual=residual)]
    if alone:
        words = _(
            "**The weights show no mistake**: no number is below 0 or NaN, and rows sum to 1 within {residual}. "
            "Whether they are the right ones, only queries and keys can tell."
        )
        return [words.format(residual=residual)]
    largest = _("The largest difference is {residual} of the largest number, which is rounding.")
    if found.findings:
        said = [(_about(given, each) + causes.sentence(each), amount(each.residual_before)) for each in found.findings]
        return [f"{words} {largest.format(residual=apart)}" for words, apart in said]
    right = _("**Correct**: every number is that of attention(q, k, v).")
    return [f"{right} {largest.format(residual=residual)}"]


def _about(given: Given, finding: Finding) -> str:
    """Name the numbers that a finding is about, where others were brought too and it is not about all of them."""
    if given.brought.weights is None or given.brought.output is None or len(finding.claims) > 1:
        return ""
    return {"weights": _("Weights:"), "output": _("Output:")}[finding.claims[0]] + " "


def _unexplained(claim: str, residual: float) -> str:
    names = {"weights": _("the weights"), "output": _("the output")}
    words = _(
        "**Nothing on the list explains {claim}**: no known mistake, alone or with another, gives these numbers."
    ).format(claim=names[claim])
    if math.isinf(residual):
        return words + " " + _("Some of them are NaN or infinite where the right ones are not, or the other way round.")
    apart = _("They differ from the right ones by up to {residual} of the largest one.")
    return words + " " + apart.format(residual=amount(residual))


def _explained(findings: Sequence[Finding], i: int, alone: bool) -> str:
    """Say how far the numbers are off before and after a mistake is allowed for; of two, each in its turn."""
    finding = findings[i]
    before, after = amount(finding.residual_before), amount(finding.residual_after)
    without_distance = math.isinf(finding.residual_before)  # NaN has none, nor have numbers in another shape
    if math.isinf(finding.residual_after) or (alone and without_distance):
        return ""
    if alone:
        return _("(off by {before})").format(before=before)
    if without_distance:
        words = _("With this mistake made on purpose, your numbers differ by {after} of the largest one.")
    elif i and _goes_on(findings[i - 1], finding):
        words = _(
            "Largest difference, as a share of the largest number: {before} → {after}, with this mistake made on "
            "purpose besides those above."
        )
    elif i + 1 < len(findings) and _goes_on(finding, findings[i + 1]):
        words = _(
            "Largest difference, as a share of the largest number: {before} → {after}, with this mistake made on "
            "purpose alone; the next one explains the rest."
        )
    else:
        words = _(
            "Largest difference, as a share of the largest number: {before} → {after}, with this mistake made on "
            "purpose."
        )
    return words.format(before=before, after=after)


def _goes_on(one: Finding, other: Finding) -> bool:
    """Whether two findings explain the same numbers together, and not each some of its own."""
    return one.claims == other.claims and one.residual_after == other.residual_before


def _where(given: Given, where: tuple[int, ...], first: tuple[int, int]) -> str:
    """Say where the first row of a finding is: where, of what was diagnosed, is (b, h, s)."""
    b, h, s = where
    place = _("layer {layer}, head {head}").format(layer=given.layer + 1, head=first[1] + h + 1)
    query = str(s + 1)  # where tokens have no names, they are called so
    if given.queries[s] != query:
        query += f", “{markdown(given.queries[s])}”"
    words = _("The first is in {place}: query {query}.")
    if given.brought.main.shape[1] > 1:
        words = _("The first is in sequence {b}, {place}: query {query}.")
    return words.format(b=first[0] + b + 1, place=place, query=query)


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
