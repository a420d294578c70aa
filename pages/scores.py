"""Scores to weights: queries meet keys, the scale, the mask, and the softmax of each row."""

from attnviz.core.attention import attention
from attnviz.figures.layout import names
from attnviz.locale import _
from attnviz.ui import labs, page, source

computed = page.begin(
    _(
        "Every query is compared with every key: their dot product is a score. Scores are scaled, masked, and each "
        "row is turned by softmax into weights that sum to 1. Row {s} is the token that reads, column {u} the one "
        "that is read."
    ),
    long=True,
    parts=("step", "scale", "softmax", "masks"),
)
section = labs.sections(step=_("The step"), scale=_("Scale"), softmax=_("Softmax"), masks=_("Masks"))
if section == "step":
    charts = page.board(computed, "scores")
    page.cell(computed, charts, ("scores", "scaled", "masked", "weights"))
    page.home(computed, ("scores",), ("scores", "scaled", "masked", "weights"))
    page.numbers(computed, *names("scores"))
    source.show(attention)
elif section == "scale":
    from attnviz.labs.scale import drawn, gradient
    from attnviz.ui.labs import home, scale

    scale.show(computed)
    home.show(computed, drawn, gradient)
elif section == "softmax":
    from attnviz.labs.softmax import dropped, over_axis
    from attnviz.ui.labs import home, softmax

    softmax.show(computed)
    home.show(computed, over_axis, dropped)
elif section == "masks":
    from attnviz.labs.masks import for_multihead, hide, nowhere
    from attnviz.ui.labs import home, masks

    masks.show(computed)
    home.show(computed, hide, nowhere, for_multihead)
