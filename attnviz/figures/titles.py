"""What each panel is called: its symbol and shape, in the letters and hues of the reader's choice."""

from __future__ import annotations

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.colours import Theme
from attnviz.figures.panels import AXES, Panel
from attnviz.figures.text import html, number
from attnviz.letters import relabel
from attnviz.limits import NAME_CHARS
from attnviz.locale import _, n_

SYMBOLS = {
    "x": "X",
    "w_q": "W<sub>Q</sub>",
    "w_k": "W<sub>K</sub>",
    "w_v": "W<sub>V</sub>",
    "query": "Q",
    "key": "K",
    "value": "V",
    "key_t": "K<sup>T</sup>",
    "scores": "S",
    "weights": "a",
    "row_sums": "Σ",
    "output": "O",
}
_HUES = {
    "w_q": "s",
    "query": "s",
    "w_k": "u",
    "key": "u",
    "key_t": "u",
    "w_v": "d",
    "value": "d",
    "output": "d",
}


def scale_symbol(experiment: Experiment) -> str:
    """Return how the scores become scaled: S / √d_k, S / d_k or S, divided by a temperature if there is one."""
    unscaled = "S" if experiment.temperature != 1 else html(_("S, not scaled"))
    scaled = {"sqrt": "S / √d<sub>k</sub>", "d_k": "S / d<sub>k</sub>", "none": unscaled}[experiment.scale]
    return scaled if experiment.temperature == 1 else f"{scaled} / {experiment.temperature:g}"


def masked_symbol(run: Run) -> str:
    """Return what is added to the scaled scores: " + ALiBi", " + mask", both or nothing."""
    return (" + ALiBi" if run.has_cost else "") + (" + " + html(_("mask")) if run.has_mask else "")


def title(panel: Panel, experiment: Experiment, run: Run, view: View, theme: Theme, difference: bool) -> str:
    """Return the title of a panel in Plotly's markup, such as "Q  (s=6, k=4)"."""
    symbol = SYMBOLS.get(panel.name, "")
    if panel.positions == "rope":
        symbol = _rotated(symbol)
    if panel.name == "masked":
        symbol = scale_symbol(experiment) + masked_symbol(run)
    if panel.name == "row_sums":
        u = relabel("u", view.letters)
        return f"<span style='color:{theme.quiet}'>Σ<sub>{u}</sub></span>"
    hue = theme.letters[_HUES[panel.name]] if panel.name in _HUES else theme.ink
    delta = "Δ " if difference else ""
    shape = ", ".join(
        f"<span style='color:{theme.letters[letter]}'>{relabel(letter, view.letters)}</span>={size}"
        for letter, size in zip(AXES[panel.name], panel.shape, strict=True)
    )
    states = {"partly": _("partly overridden"), "wholly": _("overridden")}
    shared = key_value_head(experiment, view.h) if panel.name in ("key", "key_t", "value") else ""
    whole = bool(panel.edited) and len(panel.edited) == panel.values.size
    said = [*([_("all typed")] if whole else []), *([states[panel.overridden]] if panel.overridden else [])]
    state = f" <i>{html(', '.join(said))}</i>" if said else ""
    return (
        f"<b style='color:{hue}'>{delta}{symbol}</b>"
        f" <span style='color:{theme.quiet};font-size:11px'>({shape}){shared}{state}</span>"
    )


def key_value_head(experiment: Experiment, h: int) -> str:
    """Say which key-value head the query head h reads, where several share one."""
    groups = experiment.n_kv_heads or experiment.n_heads
    if groups == experiment.n_heads:
        return ""
    return " " + html(_("head {n} of {groups}").format(n=h // (experiment.n_heads // groups) + 1, groups=groups))


def plain_symbol(name: str) -> str:
    """Return the symbol without markup, as tables and sentences write it."""
    if name in ("scaled", "masked"):
        return {"scaled": "S_scaled", "masked": "S_masked"}[name]
    symbol = SYMBOLS[name]
    for mark, plain in (("<sub>", "_"), ("</sub>", ""), ("<sup>", "^"), ("</sup>", "")):
        symbol = symbol.replace(mark, plain)
    return symbol


def _rotated(symbol: str) -> str:
    """Write a symbol as that of what was rotated: Q becomes RoPE(Q)."""
    return f"RoPE({symbol[0]}){symbol[1:]}"


def sized(symbol: str, rows: int, columns: int) -> str:
    """Say how large a matrix is, as the beginning of a sentence.

    >>> sized("q", 1, 4)
    'q, 1 row by 4 columns'
    """
    return _("{symbol}, {rows} by {columns}").format(
        symbol=symbol,
        rows=n_("{n} row", "{n} rows", rows).format(n=rows),
        columns=n_("{n} column", "{n} columns", columns).format(n=columns),
    )


def sentence(panel: Panel, tokens: tuple[str, ...]) -> str:
    """Say in one sentence what a panel shows, for those who cannot see it."""
    symbol = plain_symbol(panel.name)
    words = sized(_rotated(symbol) if panel.positions == "rope" else symbol, *panel.shape)
    finite = [
        (value, i, j)
        for i, row in enumerate(panel.values.tolist())
        for j, value in enumerate(row)
        if abs(value) != float("inf") and value == value
    ]
    if not finite:
        return words + "."
    value, i, j = max(finite)
    return words + _(", largest {value} in row {row}, column {column}.").format(
        value=number(value, 4),
        row=_place(AXES[panel.name][0], i + panel.start[0], tokens),
        column=_place(AXES[panel.name][1], j + panel.start[1], tokens),
    )


def _place(letter: str, i: int, tokens: tuple[str, ...]) -> str:
    return f"{i + 1} “{tokens[i][:NAME_CHARS]}”" if letter in ("s", "u") else str(i + 1)


def role(letter: str) -> str:
    """Return what an axis with this letter counts."""
    return {"s": _("query token"), "u": _("key token")}.get(letter) or _("feature")
