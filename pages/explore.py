"""Explore: type tokens and see self-attention, from X to the output."""

from attnviz.experiment import STEPS
from attnviz.figures.layout import BLOCKS, names
from attnviz.locale import _
from attnviz.ui import page
from attnviz.ui.labs import notation

blocks = tuple(BLOCKS)
computed = page.begin(_("Type a sentence. Every number below is computed from it by torch, as you type."), long=True)
charts = page.board(computed, *blocks)
page.cell(computed, charts, STEPS)
notation.show(computed)
page.home(computed, blocks, STEPS)
page.numbers(computed, *dict.fromkeys(name for block in blocks for name in names(block)))
