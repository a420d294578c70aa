"""Einsum: any equation on the reader's own numbers, its letters, its loop, and one element written out."""

from attnviz.core.einsum import einsum, element
from attnviz.locale import _
from attnviz.ui import page, source
from attnviz.ui.labs import einsum as lab

computed = page.begin(
    _(
        "An einsum names each axis of its tensors by a letter. Type any equation: see which axes meet, which are "
        "summed, and the loop that runs."
    )
)
lab.show(computed)
source.show(einsum, element)
