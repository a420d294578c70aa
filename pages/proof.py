"""What a weight proves: weights beside what they carry, and beside what the output loses without them."""

from attnviz.labs.proof import knock_out
from attnviz.locale import _
from attnviz.ui import board, labs, page
from attnviz.ui.board import Charts
from attnviz.ui.compute import Computed
from attnviz.ui.labs import home, proof, proof_ranking, proof_words
from attnviz.ui.questions import progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the lab."""
    progress(24)
    head = proof.head(computed)
    proof_words.question(head)
    proof.choose(head)
    board.windows(computed)
    knocked_out(computed, head, proof.maps(computed, head))


@labs.part("knocked", connects=True)
def knocked_out(computed: Computed, head: proof.Head, charts: Charts) -> None:
    """Draw the row or the column that is knocked out, below the charts of the whole head."""
    proof.choose_knocked()
    proof_ranking.show(head, computed.view)
    after = proof.knocked(computed, head)
    proof_words.note()
    labs.connect(computed, [*charts, *after], selected={"name": "weights", "row": head.s, "col": head.u}, in_part=True)


computed = page.begin(_("A high weight looks like a reason. See what happens to the output when it is taken away."))
show(computed)
home.show(computed, knock_out)
