"""Projections: X to Q, K and V, and why their parameters do not grow with the sentence."""

from attnviz.core.attention import project
from attnviz.core.heads import split_heads
from attnviz.figures.layout import names
from attnviz.locale import _
from attnviz.ui import labs, page, source

computed = page.begin(
    _(
        "Each token's vector, a row of X, is multiplied by three matrices and becomes a query, a key and a value. "
        "One X, three matrices, three different tables."
    ),
    long=True,
    parts=("step", "parameters"),
)
if labs.sections(step=_("The step"), parameters=_("Parameters")) == "step":
    charts = page.board(computed, "projections")
    page.cell(computed, charts, ("query", "key", "value"))
    page.home(computed, ("projections",), ("query", "key", "value"))
    page.numbers(computed, *names("projections"))
    source.show(project, split_heads)
else:
    from attnviz.labs.sizes import costs
    from attnviz.ui.labs import home, parameters

    parameters.show(computed)
    home.show(computed, costs)
