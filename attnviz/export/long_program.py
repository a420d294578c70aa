"""A long text as a program that needs torch alone: one head of one sequence, and the rows that are on screen.

X, the weights of the head, and its queries, keys and values are there whole; scores and what follows from them are
computed for the query tokens on screen, over all keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.experiment import View
from attnviz.export.literals import literal, mask_literal
from attnviz.export.parts import Part, rotation, start
from attnviz.figures.panels import drawn
from attnviz.locale import _
from attnviz.long import Long, typed

_PRINTED = "precision=6, sci_mode=False, linewidth=120"  # a weight among thousands is small


def parts(held: Long, tokens: Sequence[str], view: View) -> list[Part]:
    """Return the steps in their order; the last prints the window of the weights that `view` shows.

    tokens: of the sequence, padding among them.

    >>> from attnviz.experiment import Experiment
    >>> from attnviz.long import of
    >>> from attnviz.run import without_trace
    >>> experiment = Experiment("the cat sat")
    >>> run = of(without_trace(experiment), experiment, 0, 0)
    >>> print(parts(run.long, run.tokens[0], View())[3].code)
    rows = torch.arange(0, 3)  # query tokens, counted from 0
    S = torch.einsum('sk,uk->su', Q[rows], K)  # (rows, u)
    scaled = S * 0.5
    """
    n = len(tokens)
    rows, columns = drawn("s", n, view), drawn("u", n, view)
    of = _(
        "One head of one sequence of a long text: head {h} of sequence {b}, "
        "and of its scores the query tokens {first} to {last}, which are on screen, with all {n} keys"
    )
    of = of.format(h=held.h + 1, b=held.b + 1, first=rows.start + 1, last=rows.stop, n=n)
    given = _given(held)
    return [
        Part(of, start(tokens, [given], _PRINTED)),
        given,
        Part(_("X to queries, keys and values"), _projected(held)),
        Part(_("The query tokens on screen with every key, scaled"), _scores(held, rows)),
        _masked(held, rows),
        Part(_("The share of its attention that each query gives to each key, and what it reads"), _mix(held, rows)),
        Part(
            _("What is on screen: key tokens {first} to {last}, and the output").format(
                first=columns.start + 1, last=columns.stop
            ),
            f"print(a[:, {columns.start}:{columns.stop}])  # (rows, columns on screen)\nprint(O)  # (rows, d)",
        ),
    ]


def _given(held: Long) -> Part:
    lines = [f"X = {literal(held.x)}  # (s, m), positions and edits in it"]
    weights = (("Q", held.w_q, "k"), ("K", held.w_k, "k"), ("V", held.w_v, "d"))
    lines += [f"W_{name} = {literal(weight)}  # (m, {feature}), of this head" for name, weight, feature in weights]
    return Part(_("What is given"), "\n".join(lines))


def _projected(held: Long) -> str:
    lines = [
        "Q = torch.einsum('sm,mk->sk', X, W_Q)",
        "K = torch.einsum('um,mk->uk', X, W_K)",
        "V = torch.einsum('um,md->ud', X, W_V)",
        *_edits(held),
        *rotation(held.rotary),
    ]
    return "\n".join(lines)


def _edits(held: Long) -> list[str]:
    """The queries, keys and values of this head that a person typed, cell by cell."""
    e, lines = held.experiment, list[str]()
    kv = held.h // (e.n_heads // (e.n_kv_heads or e.n_heads))
    for field, head, size in (("q", held.h, e.d_k), ("k", kv, e.d_k), ("v", kv, e.d_v)):
        cells = typed(e, field, held.b, head, size)
        lines += [f"{field.upper()}[{s}, {feature}] = {value!r}" for s, feature, value in cells]
    return lines


def _scores(held: Long, rows: range) -> str:
    return "\n".join(
        [
            f"rows = torch.arange({rows.start}, {rows.stop})  # query tokens, counted from 0",
            "S = torch.einsum('sk,uk->su', Q[rows], K)  # (rows, u)",
            f"scaled = S * {held.scale!r}",
        ]
    )


def _masked(held: Long, rows: range) -> Part:
    """What hides keys, and what ALiBi takes off, of the rows alone."""
    lines, terms = _hidden(held, rows)
    masked = "scaled"
    if held.slope is not None:
        masked = f"(scaled - {held.slope!r} * (s - u).abs())"  # a cost for each token of distance
    if not terms and held.slope is None:
        return Part(_("Nothing is masked"), "masked = scaled")
    lines.insert(0, "s, u = rows[:, None], torch.arange(len(K))  # (rows, 1), (u,)")
    if terms:
        lines.append(f"mask = {' & '.join(terms)}  # (rows, u), True = may attend")
        masked += ".masked_fill(~mask, float('-inf'))"
    return Part(_("Who may attend to whom"), "\n".join([*lines, f"masked = {masked}"]))


def _hidden(held: Long, rows: range) -> tuple[list[str], list[str]]:
    """The lines that a drawn mask takes, and the conditions under which a query token s may see a key token u."""
    e, lines, terms = held.experiment, [], []
    if e.mask == "causal":
        terms.append("(u <= s)")
    elif e.mask == "window":
        terms.append(f"(u - s >= -{e.window_left}) & (u - s <= {e.window_right})")
    elif e.mask == "prefix":
        terms.append(f"((u <= s) | (u < {e.prefix_length}))")
    elif held.drawn is not None and rows.start < len(held.drawn):
        own = held.drawn[rows.start : rows.stop, : len(held.key)]  # later rows it leaves alone, and later columns
        lines.append("drawn = torch.ones(len(rows), len(K), dtype=torch.bool)  # (rows, u)")
        lines.append(f"drawn[:{own.shape[0]}, :{own.shape[1]}] = {mask_literal(own)}")
        terms.append("drawn")
    if held.length < len(held.key):
        terms.append(f"(u < {held.length})")  # what follows is padding
    return lines, terms


def _mix(held: Long, rows: range) -> str:
    lines = ["a = torch.softmax(masked, dim=-1)  # (rows, u)"]
    if held.hides and _sees_nothing(held, rows):
        nowhere = "(masked == float('-inf')).all(dim=-1, keepdim=True)"
        lines.append(f"a = a.masked_fill({nowhere}, 0)  # a row that may attend nowhere gives nothing")
    return "\n".join([*lines, "O = torch.einsum('su,ud->sd', a, V)  # (rows, d)"])


def _sees_nothing(held: Long, rows: range) -> bool:
    """Say whether a row may attend nowhere."""
    return bool(held.rows(rows.start, rows.stop).masked.isneginf().all(-1).any())
