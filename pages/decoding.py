"""Decoding: one token at a time with a KV cache; what a step computes, what it reads, and what that saves."""

from attnviz.labs.decoding import step
from attnviz.locale import _
from attnviz.ui import labs, page
from attnviz.ui.compute import Computed
from attnviz.ui.labs import decoding, decoding_costs, home
from attnviz.ui.questions import progress


@labs.live
def show(computed: Computed) -> None:
    """Draw the lab."""
    decoding.say_causal(computed)
    progress(22)
    decoding.question(decoding.now(computed))
    step_by_step(computed)


@labs.part("decoded", connects=True)
def step_by_step(computed: Computed) -> None:
    """Draw what depends on the step."""
    now = decoding.now(computed)
    decoding.choose(now)
    charts = decoding.maps(computed, now)
    decoding_costs.show(now.sizes, now.t, now.n)
    decoding.only_causal(now)
    labs.connect(computed, charts, in_part=True)


computed = page.begin(_("A text is written one token at a time. See what each step computes anew, and what it keeps."))
show(computed)
home.show(computed, step)
