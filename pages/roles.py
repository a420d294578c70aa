"""Query, key, value: what each is, why there are three tables and two matrices for the scores, and who reads whom."""

from attnviz.labs.lookup import look_up
from attnviz.labs.roles import diagonal, largest_difference, mirror, product
from attnviz.locale import _
from attnviz.ui import labs, page

computed = page.begin(
    _(
        "Queries, keys and values are three readings of the same tokens. Change how they are made, and see what each "
        "is for."
    )
)
section = labs.sections(
    lookup=_("A soft look-up"), tables=_("Three tables"), order=_("Who reads whom"), matrices=_("W_Q and W_K")
)
if section == "lookup":
    from attnviz.ui.labs import home, roles_lookup

    roles_lookup.show(computed)
    home.show(computed, look_up)
elif section == "tables":
    from attnviz.ui.labs import home, roles

    roles.show_tables(computed)
    home.show(computed, largest_difference)
elif section == "order":
    from attnviz.ui.labs import home, roles_order

    roles_order.show(computed)
    home.show(computed, mirror, diagonal)
else:
    from attnviz.ui.labs import home, roles_matrices

    roles_matrices.show(computed)
    home.show(computed, mirror, diagonal, product)
