"""Scores to weights: queries meet keys, the scale, the mask, and the softmax of each row."""

from attnviz.core.attention import attention
from attnviz.figures.layout import names
from attnviz.locale import _
from attnviz.ui import page, source

computed = page.begin(
    _(
        "Every query is compared with every key: their dot product is a score. Scores are scaled, masked, and each "
        "row is turned by softmax into weights that sum to 1. Row {s} is the token that reads, column {u} the one "
        "that is read."
    )
)
charts = page.board(computed, "scores")
page.cell(computed, charts, ("scores", "scaled", "masked", "weights"))
page.numbers(computed, *names("scores"))
source.show(attention)
