"""Multi-head: heads cut from one matrix, keys they share, a second text that is read, and why maps are not averaged."""

from attnviz.locale import _
from attnviz.ui import labs, page

computed = page.begin(
    _("Several heads read the same tokens, each in its own way. See how they are split, and what they may share."),
    own_heads=True,
)
section = labs.sections(
    split=_("Splitting"), shared=_("Shared keys"), cross=_("Two texts"), average=_("Averaging heads")
)
if section == "split":
    from attnviz.labs.heads import by_view, cut, one_by_one, one_einsum
    from attnviz.ui.labs import heads, home

    heads.show_split(computed)
    home.show(computed, cut, one_einsum, one_by_one, by_view)
elif section == "shared":
    from attnviz.labs.heads_shared import share, shared
    from attnviz.ui.labs import heads_shared, home

    heads_shared.show(computed)
    home.show(computed, share, shared)
elif section == "cross":
    from attnviz.core.multi_head import multi_head
    from attnviz.ui.labs import heads_cross, home

    heads_cross.show(computed)
    home.show(computed, multi_head)
else:
    from attnviz.labs.heads import averaged, opposite
    from attnviz.ui.labs import heads_average, home

    heads_average.show(computed)
    home.show(computed, opposite, averaged)
