"""Your tensors: a file of somebody's own attention, drawn, and what is wrong with it named."""

from attnviz.locale import _
from attnviz.ui.tensors import page

page.show(
    _(
        "Your own layer gives odd weights, or an output that disagrees with the reference? Bring its tensors: see "
        "every map, and be told which known mistake gives exactly your numbers, with the line of code that mends it."
    )
)
