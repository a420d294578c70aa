"""Einsum: any equation on the reader's own numbers, its letters, its loop, and one element written out."""

from attnviz.core.einsum import einsum
from attnviz.core.einsum_terms import unrolled
from attnviz.locale import _
from attnviz.ui import page
from attnviz.ui.labs import einsum as lab
from attnviz.ui.labs import home

computed = page.begin(
    _(
        "An einsum names each axis of its tensors by a letter. Type any equation: see which axes meet, which are "
        "summed, and the loop that runs."
    )
)
lab.show(computed)
home.show(computed, einsum, unrolled)
