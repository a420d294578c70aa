"""The formula of each step in index letters, coloured as everywhere, and the line of code that computes it."""

from __future__ import annotations

import re

from attnviz.core.arithmetic import EQUATIONS
from attnviz.experiment import Experiment
from attnviz.figures.colours import Theme
from attnviz.letters import relabel

# {..} holds index letters; | stands between the terms that a table lists.
_FORMULAS = {
    "query": r"Q_{bsk} = \sum_{m} X_{bsm}\, W^{Q}_{mk}",
    "key": r"K_{buk} = \sum_{m} X_{bum}\, W^{K}_{mk}",
    "value": r"V_{bud} = \sum_{m} X_{bum}\, W^{V}_{md}",
    "scores": r"S_{bsu} = \sum_{k} Q_{bsk}\, K_{buk}",
    "scaled": r"\mathrm{scaled}_{bsu} = %s",
    "masked": r"\mathrm{masked}_{bsu} = %s",
    "weights": r"a_{bsu} = \mathrm{softmax}_{u}(\mathrm{masked}_{bsu})",
    "output": r"O_{bsd} = \sum_{u} a_{bsu}\, V_{bud}",
}
_OPERANDS = {"query": "X, W_Q", "key": "X, W_K", "value": "X, W_V", "scores": "Q, K", "output": "a, V"}
_NAMES = {"query": "Q", "key": "K", "value": "V", "scores": "S", "output": "O"}


def formula(step: str, experiment: Experiment, letters: str, theme: Theme) -> str:
    """Return the formula of a step for KaTeX, each index letter in its hue."""
    text = _FORMULAS[step]
    if step == "scaled":
        text %= _scaled(experiment)
    if step == "masked":
        text %= r"\mathrm{scaled}_{bsu} + \mathrm{mask}_{bsu}"
    return re.sub(
        r"(?<=_)\{([bhsumkd]+)\}",
        lambda found: "{" + "".join(_letter(c, letters, theme) for c in found[1]) + "}",
        text,
    )


def code(step: str, experiment: Experiment, letters: str) -> str:
    """Return the line of torch that computes a step.

    >>> code("scores", Experiment("a"), "bij")
    "S = torch.einsum('bik,bjk->bij', Q, K)"
    """
    if step in _OPERANDS:
        return f"{_NAMES[step]} = torch.einsum('{relabel(EQUATIONS[step], letters)}', {_OPERANDS[step]})"
    if step == "scaled":
        divisor = {"sqrt": " / d_k ** 0.5", "d_k": " / d_k", "none": ""}[experiment.scale]
        return f"scaled = S{divisor}" + (f" / {experiment.temperature:g}" if experiment.temperature != 1 else "")
    if step == "masked":
        return "masked = scaled.masked_fill(~mask, float('-inf'))"
    return "a = torch.softmax(masked, dim=-1)"


def _scaled(experiment: Experiment) -> str:
    divisor = {"sqrt": r"\sqrt{d_k}", "d_k": "d_k", "none": ""}[experiment.scale]
    if experiment.temperature != 1:
        divisor += rf"\cdot {experiment.temperature:g}" if divisor else f"{experiment.temperature:g}"
    return rf"S_{{bsu}} \,/\, {divisor}" if divisor else r"S_{bsu}"


def _letter(letter: str, letters: str, theme: Theme) -> str:
    return rf"\textcolor{{{theme.letters[letter]}}}{{{relabel(letter, letters)}}}"
