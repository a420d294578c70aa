"""The board in a notebook: the same figure as on the page, without Streamlit."""

from __future__ import annotations

import plotly.graph_objects as go

from attnviz.experiment import Experiment, View
from attnviz.figures.board import block_layout, draw
from attnviz.figures.colours import theme
from attnviz.figures.layout import BLOCKS
from attnviz.figures.panels import within


def board(experiment: Experiment, view: View | None = None, *, dark: bool = False) -> go.Figure:
    """Draw the whole board of an experiment, X to the output, for one sequence and one head.

    experiment: what is computed; view: the sequence b, the head h and the letters, the first of each when None.
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
    return draw(layouts, run, experiment, view, theme("dark" if dark else "light"))
