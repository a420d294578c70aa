"""What a weight proves: weights beside what they carry, and beside what the output loses without them."""

from attnviz.labs.proof import knock_out
from attnviz.locale import _
from attnviz.ui import board, labs, page, source
from attnviz.ui.compute import Computed
from attnviz.ui.labs import proof, proof_ranking, proof_words
from attnviz.ui.questions import progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the lab."""
    progress(24)
    head = proof.head(computed)
    proof_words.question(head)
    proof.choose(head)
    board.windows(computed)
    charts = proof.maps(computed, head)
    proof_ranking.show(head, computed.view)
    charts += proof.knocked(computed, head)
    proof_words.note()
    labs.connect(computed, charts, selected={"name": "weights", "row": head.s, "col": head.u})


show(page.begin(_("A high weight looks like a reason. See what happens to the output when it is taken away.")))
source.show(knock_out)
