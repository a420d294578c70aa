"""Weights to output: each token's output is the values of all tokens, mixed by its row of weights."""

from attnviz.core.attention import self_attention
from attnviz.figures.layout import names
from attnviz.labs.roles import mixed, value_table
from attnviz.locale import _
from attnviz.ui import labs, page, source

computed = page.begin(
    _(
        "Row {s} of the weights says how much of each value token {s} takes. Its output is that sum: "
        "a weight of 1 copies one value, equal weights average them all."
    ),
    long=True,
    parts=("step", "value"),
)
section = labs.sections(step=_("The step"), value=_("What is V for?"))
if section == "step":
    charts = page.board(computed, "output")
    page.cell(computed, charts, ("weights", "output"))
    page.home(computed, ("output",), ("weights", "output"))
    page.numbers(computed, *names("output"))
    source.show(self_attention)
elif section == "value":
    from attnviz.ui.labs import home, value

    value.show(computed)
    home.show(computed, mixed, value_table)
