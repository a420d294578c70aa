"""The formula of each step in index letters, coloured as everywhere, and the line of code that computes it."""

from __future__ import annotations

import re

from attnviz.core.arithmetic import EQUATIONS
from attnviz.core.positions import alibi_slopes
from attnviz.experiment import Experiment
from attnviz.figures.colours import Theme
from attnviz.letters import relabel

# _{..} holds index letters.
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
# Of a rotated query or key: R turns token s, or u, and is 0 but for two features k'.
_ROTATED = {
    "query": r"Q_{bsk} = \sum_{k'} R_{sk'k} \sum_{m} X_{bsm}\, W^{Q}_{mk'}",
    "key": r"K_{buk} = \sum_{k'} R_{uk'k} \sum_{m} X_{bum}\, W^{K}_{mk'}",
}
# How a query or key is rotated, in torch: n tokens of d_k features, turned in pairs (a, b).
_ANGLES = """\
angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_k, 2) / d_k)
cos, sin = angle.cos(), angle.sin()"""
_ROTATE = {
    "half": """\
a, b = {name}.chunk(2, dim=-1)
{name} = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)""",
    "interleaved": """\
a, b = {name}[..., 0::2], {name}[..., 1::2]
{name} = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)""",
}
_OPERANDS = {"query": "X, W_Q", "key": "X, W_K", "value": "X, W_V", "scores": "Q, K", "output": "a, V"}
_NAMES = {"query": "Q", "key": "K", "value": "V", "scores": "S", "output": "O"}


def formula(step: str, experiment: Experiment, letters: str, theme: Theme) -> str:
    """Return the formula of a step for KaTeX, each index letter in its hue."""
    text = _FORMULAS[step]
    if experiment.rotation and step in _ROTATED:
        text = _ROTATED[step]
    if step == "scaled":
        text %= _scaled(experiment)
    if step == "masked":
        text %= _masked(experiment)
    return re.sub(
        r"(?<=_)\{([bhsumkd']+)\}",
        lambda found: "{" + "".join(_letter(c, letters, theme) for c in found[1]) + "}",
        text,
    )


def code(step: str, experiment: Experiment, letters: str) -> str:
    """Return the line of torch that computes a step; of a rotation and of ALiBi the lines.

    >>> code("scores", Experiment("a"), "bij")
    "S = torch.einsum('bik,bjk->bij', Q, K)"
    """
    if step in _OPERANDS:
        line = f"{_NAMES[step]} = torch.einsum('{relabel(EQUATIONS[step], letters)}', {_OPERANDS[step]})"
        if experiment.rotation and step in _ROTATED:
            return "\n".join([line, _ANGLES, _ROTATE[experiment.rotation].format(name=_NAMES[step])])
        return line
    if step == "scaled":
        divisor = {"sqrt": " / d_k ** 0.5", "d_k": " / d_k", "none": ""}[experiment.scale]
        return f"scaled = S{divisor}" + (f" / {experiment.temperature:g}" if experiment.temperature != 1 else "")
    if step == "masked" and experiment.positions == "alibi":
        slopes = [round(slope, 8) for slope in alibi_slopes(experiment.n_heads).tolist()]
        slope = f"{slopes}[h]  # of head h, from 0" if len(slopes) > 1 else f"{slopes[0]}"
        added = "(scaled - slope * distance)" if _hides(experiment) else "scaled - slope * distance"
        filled = ".masked_fill(~mask, float('-inf'))" if _hides(experiment) else ""
        distance = "distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()"
        return f"slope = {slope}\n{distance}\nmasked = {added}{filled}"
    if step == "masked":
        return "masked = scaled.masked_fill(~mask, float('-inf'))"
    return "a = torch.softmax(masked, dim=-1)"


def _scaled(experiment: Experiment) -> str:
    divisor = {"sqrt": r"\sqrt{d_k}", "d_k": "d_k", "none": ""}[experiment.scale]
    if experiment.temperature != 1:
        divisor += rf"\cdot {experiment.temperature:g}" if divisor else f"{experiment.temperature:g}"
    return rf"S_{{bsu}} \,/\, {divisor}" if divisor else r"S_{bsu}"


def _masked(experiment: Experiment) -> str:
    terms = [r"\mathrm{scaled}_{bsu}"]
    if experiment.positions == "alibi":
        terms.append(r"\mathrm{ALiBi}_{hsu}")
    if _hides(experiment) or experiment.positions != "alibi":
        terms.append(r"\mathrm{mask}_{bsu}")
    return " + ".join(terms)


def _hides(experiment: Experiment) -> bool:
    """Say whether a mask hides keys, or padding does."""
    chosen = experiment.mask != "none" and (experiment.mask != "drawn" or bool(experiment.drawn))
    return chosen or len(set(map(len, experiment.sequences))) > 1


def _letter(letter: str, letters: str, theme: Theme) -> str:
    if letter == "'":
        return letter
    return rf"\textcolor{{{theme.letters[letter]}}}{{{relabel(letter, letters)}}}"
