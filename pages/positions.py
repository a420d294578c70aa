"""Positions: what tells a token where it stands, by a sum, by a rotation, or by a cost of distance."""

from attnviz.locale import _
from attnviz.ui import labs, page

computed = page.begin(_("Attention alone does not know the order of its tokens. See what each kind of position adds."))
section = labs.sections(shuffle=_("Does order count?"), terms=_("Added"), rotation=_("Rotated"))
if section == "shuffle":
    from attnviz.labs.positions import attend, shuffle
    from attnviz.ui.labs import home, positions_order

    positions_order.show(computed)
    home.show(computed, attend, shuffle)
elif section == "terms":
    from attnviz.labs.positions_inside import concatenate, four_terms
    from attnviz.ui.labs import home, positions_terms

    positions_terms.show(computed)
    home.show(computed, four_terms, concatenate)
else:
    from attnviz.core.positions import rotate
    from attnviz.labs.positions_inside import by_distance, layouts
    from attnviz.ui.labs import home, positions_rotation

    positions_rotation.show(computed)
    home.show(computed, rotate, layouts, by_distance)
