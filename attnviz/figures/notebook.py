"""The board in a notebook: the same figure as on the page, without Streamlit."""

from __future__ import annotations

import plotly.graph_objects as go

from attnviz.experiment import Experiment, View
from attnviz.figures.board import block_layout, draw
from attnviz.figures.colours import theme
from attnviz.figures.layout import BLOCKS
from attnviz.figures.panels import drawn, within
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _

_TITLE = 26  # pixels of the line that says which tokens are drawn


def board(experiment: Experiment, view: View | None = None, *, dark: bool = False) -> go.Figure:
    """Draw the whole board of an experiment, X to the output, for one sequence and one head.

    experiment: what is computed; view: the sequence b, the head h and the letters, the first of each when None. Of more
    than 24 tokens 24 queries and 24 keys are drawn, which the figure says: View(from_s=24, from_u=48) begins with the
    25th query and the 49th key. Every number is of the whole text.
    ValueError when the text has no tokens, or the trace would exceed limits.TRACE_BYTES (see Experiment.fitting).

    >>> figure = board(Experiment("the cat sat"))
    >>> sorted({trace.name for trace in figure.data})[:4]
    ['key', 'key_t', 'masked', 'output']
    """
    if not isinstance(experiment, Experiment):
        raise TypeError(f"experiment must be an attnviz.Experiment, not {type(experiment).__name__}")
    if not experiment.sequences:
        raise ValueError("experiment must have at least one token, its text has none")
    run = experiment.run()
    if run.trace is None:
        raise ValueError("experiment is too large for a whole trace: draw experiment.fitting()[0] instead")
    view = within(view or View(), run)
    layouts = [block_layout(experiment, run, view, block) for block in BLOCKS]
    figure = draw(layouts, run, experiment, view, theme("dark" if dark else "light"))
    n = len(run.tokens[view.b])
    if n > TOKENS_SHOWN:
        _say_window(figure, n, view)
    return figure


def _say_window(figure: go.Figure, n: int, view: View) -> None:
    """Say above a board of n tokens which of them it draws; the panels keep their size and their places."""
    queries, keys = drawn("s", n, view), drawn("u", n, view)
    words = _("{n} tokens: query tokens {s} to {s_end} and key tokens {u} to {u_end} are drawn.").format(
        n=f"{n:,}",
        s=f"{queries.start + 1:,}",
        s_end=f"{queries.stop:,}",
        u=f"{keys.start + 1:,}",
        u_end=f"{keys.stop:,}",
    )
    figure.update_layout(
        title={"text": words, "font": {"size": 14}, "x": 0, "xref": "paper", "y": 1, "yanchor": "top", "pad": {"t": 4}},
        margin={"t": _TITLE},
        height=figure.layout.height + _TITLE,
    )
