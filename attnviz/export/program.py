"""A whole view as a program that needs torch alone: from X, or from Q, K and V, to the output, step by step.

The parts are those of a script and the cells of a notebook. What the experiment drew or a person typed stands in
the program as numbers; all else is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.masks import causal
from attnviz.core.positions import alibi_slopes
from attnviz.experiment import Experiment, Run, View
from attnviz.export import long_program
from attnviz.export.literals import literal, mask_literal
from attnviz.export.parts import Part, rotation, start
from attnviz.locale import _


class About(NamedTuple):
    """What every export carries: a title, the link that restores the view, and the version of attnviz."""

    title: str
    link: str
    version: str

    @property
    def lines(self) -> list[str]:
        """The title, the link and the version, each on one line, whatever the title is made of."""
        return [" ".join(line.split()) for line in (self.title, self.link, f"attnviz {self.version}") if line]


def script(about: About, experiment: Experiment, run: Run, view: View) -> str:
    """Return the program as one text, of a long text that of its rows on screen.

    Raises ValueError for a run that holds neither a trace nor a long text.

    >>> experiment = Experiment("the cat")
    >>> print(script(About("the cat", "", "1"), experiment, experiment.run(), View()).splitlines()[0])
    # the cat
    """
    return written(about, parts(experiment, run, view))


def written(about: About, parts: Sequence[Part]) -> str:
    """Return the parts of a program as one text."""
    head = "\n".join(f"# {printable(line)}" for line in about.lines)
    return "\n\n".join([head, *(f"# {part.words}\n{part.code}" for part in parts)]) + "\n"


def parts(experiment: Experiment, run: Run, view: View) -> list[Part]:
    """Return the steps in their order; the last prints the weights of sequence view.b and head view.h.

    Of a long text they are those of long_program. Raises ValueError for a run that holds neither a trace nor a long
    text.
    """
    if run.long is not None:
        return long_program.parts(run.long, run.tokens[run.long.b], view)
    if run.trace is None:
        raise ValueError("run.trace must be a trace, not None: the experiment is above limits.TRACE_BYTES")
    given = _projected(experiment, run) if run.w_q.numel() else _typed(run)
    at, tokens = f"{view.b}, {view.h}", [list(sequence) for sequence in run.tokens]
    return [
        Part(_("torch, and the tokens"), start(tokens, given, "precision=4, sci_mode=False")),
        *given,
        Part(_("Every query with every key, scaled"), _scores(run)),
        *_masks(experiment, run),
        Part(_("The share of its attention that each query gives to each key, and what it reads"), _mix(run)),
        Part(
            _("What is on screen: sequence {b}, head {h}").format(b=view.b + 1, h=view.h + 1),
            f"print(a[{at}])  # (s, u)\nprint(O[{at}])  # (s, d)",
        ),
    ]


def _projected(experiment: Experiment, run: Run) -> list[Part]:
    trace = run.trace
    assert trace is not None
    n_heads, n_kv_heads = trace.query.shape[-3], trace.key.shape[-3]
    made = [f"X = {literal(run.x)}  # (b, s, m), positions and edits in it"]
    made += [f"W_{name} = {literal(weight)}" for name, weight in zip("QKV", (run.w_q, run.w_k, run.w_v), strict=True)]
    made.append(f"n_heads, n_kv_heads = {n_heads}, {n_kv_heads}")
    lines = [
        "Q = torch.einsum('bsm,mk->bsk', X, W_Q)",
        "K = torch.einsum('bum,mk->buk', X, W_K)",
        "V = torch.einsum('bum,md->bud', X, W_V)",
        *_edits(experiment),
        "Q = Q.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (b, h, s, k)",
        "K = K.unflatten(-1, (n_kv_heads, -1)).transpose(1, 2)  # (b, h, u, k)",
        "V = V.unflatten(-1, (n_kv_heads, -1)).transpose(1, 2)  # (b, h, u, d)",
        *(["projected_Q, projected_K = Q, K  # before they are rotated"] if run.rotary else []),
        *rotation(run.rotary),
        *_grouped(trace.query, trace.key),
    ]
    return [Part(_("What is given"), "\n".join(made)), Part(_("X to queries, keys and values"), "\n".join(lines))]


def _typed(run: Run) -> list[Part]:
    """Of a trained head, whose X is not shown, the queries, keys and values as the model has them."""
    trace = run.trace
    assert trace is not None
    made = [f"Q = {literal(trace.query)}  # (b, h, s, k)"]
    made += [f"K = {literal(trace.key)}  # (b, h, u, k)", f"V = {literal(trace.value)}  # (b, h, u, d)"]
    return [Part(_("What is given"), "\n".join(made + _grouped(trace.query, trace.key)))]


def _edits(experiment: Experiment) -> list[str]:
    """The queries, keys and values that a person typed: cells one by one, in the order (b, s, feature)."""
    cells = (
        (name.upper(), index, value)
        for name in ("q", "k", "v")
        for index, value in experiment.edits.get(name, ())
        if experiment.has_cell(name, index)
    )
    return [f"{name}[{', '.join(map(str, index))}] = {value!r}" for name, index, value in cells]


def _grouped(query: Tensor, key: Tensor) -> list[str]:
    times = query.shape[-3] // key.shape[-3]
    if times == 1:
        return []
    return [f"{name} = {name}.repeat_interleave({times}, dim=1)  # a group of query heads reads one" for name in "KV"]


def _scores(run: Run) -> str:
    return f"S = torch.einsum('bhsk,bhuk->bhsu', Q, K)\nscaled = S * {run.scale!r}"


def _masks(experiment: Experiment, run: Run) -> list[Part]:
    if run.mask is None:
        return [Part(_("Nothing is masked"), "masked = scaled")]
    lines, masked = ["n = S.shape[-1]"], "scaled"
    if run.bias is not None and run.w_q.numel():
        slopes = ", ".join(repr(slope) for slope in alibi_slopes(run.bias.shape[0]).tolist())
        lines.append(f"slope = torch.tensor([{slopes}])[:, None, None]  # (h, 1, 1)")
        lines.append("distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()  # (s, u)")
        masked = "(scaled - slope * distance)"
    elif run.mask.is_floating_point():
        lines.append(f"added = {literal(run.mask)}  # (b, h, s, u)")
        return [Part(_("What is added to the scaled scores"), "\n".join([*lines, "masked = scaled + added"]))]
    seen = _seen(experiment, run)
    lines += [f"mask = {seen}  # True = may attend"] if seen else []
    lines.append(f"masked = {masked}.masked_fill(~mask, float('-inf'))" if seen else f"masked = {masked}")
    return [Part(_("Who may attend to whom"), "\n".join(lines))]


def _seen(experiment: Experiment, run: Run) -> str:
    """The expression of the mask that hides, "" where nothing is hidden."""
    seen = run.seen if run.seen is not None or run.mask is None or run.bias is not None else run.mask
    if seen is None:
        return ""
    n, one = seen.shape[-1], seen.reshape(-1, *seen.shape[-2:])
    padded = len(set(run.lengths)) > 1
    terms = [f"(torch.arange(n) < torch.tensor({list(run.lengths)})[:, None, None, None])"] if padded else []
    own = one[max(range(len(run.lengths)), key=run.lengths.__getitem__)]  # the longest sequence has no padding
    if own.all():
        return "".join(f"{term}.expand(-1, -1, n, -1)" for term in terms)
    return " & ".join([_chosen(experiment, own, n), *terms])


def _chosen(experiment: Experiment, own: Tensor, n: int) -> str:
    if torch.equal(own, causal(n, n)):
        return "torch.ones(n, n, dtype=torch.bool).tril()"
    if experiment.mask == "window":
        distance = "(torch.arange(n) - torch.arange(n)[:, None])"
        return f"({distance} >= -{experiment.window_left}) & ({distance} <= {experiment.window_right})"
    if experiment.mask == "prefix":
        return f"(torch.ones(n, n, dtype=torch.bool).tril() | (torch.arange(n) < {experiment.prefix_length}))"
    return mask_literal(own)


def _mix(run: Run) -> str:
    assert run.trace is not None
    nowhere = bool((run.trace.masked == float("-inf")).all(-1).any())
    softmax = "a = torch.softmax(masked, dim=-1)"
    softmax += ".nan_to_num(0)  # a row that may attend nowhere gives nothing" if nowhere else ""
    return f"{softmax}\nO = torch.einsum('bhsu,bhud->bhsd', a, V)"


def printable(line: str) -> str:
    """Return a line without what could end it: a comment stays one line, whatever its text."""
    return "".join(c if c.isprintable() else " " for c in line)
