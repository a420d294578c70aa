"""What a page has drawn and computed: a part that runs alone replaces its own, and leaves nothing stale behind."""

import torch

from attnviz.experiment import Experiment, View
from attnviz.export.calls import Call
from attnviz.export.figure import Figure
from attnviz.ui.compute import Computed
from attnviz.ui.drawn import Drawn

EXPERIMENT = Experiment("a b")
COMPUTED = Computed(EXPERIMENT, EXPERIMENT.run(), View(), None, 0)


def call(name: str, value: float = 1.0) -> Call:
    return Call(name, torch.neg, (torch.tensor(value),), {}, torch.tensor(-value))


def names(drawn: Drawn) -> tuple[list[str], list[str]]:
    drawn.publish(COMPUTED, {}, "")
    assert drawn.published is not None
    return [one.key for one in drawn.published.figures], [one.name for one in drawn.published.calls]


def test_a_part_that_draws_less_leaves_nothing_and_the_order_stays() -> None:
    drawn = Drawn()
    drawn.call(call("first"))
    drawn.figure(Figure("above", []))
    with drawn.part("part"):
        drawn.call(call("second"))
        drawn.call(call("third"))
        drawn.figure(Figure("own", []))
        drawn.figure(Figure("more", []))
    drawn.figure(Figure("below", []))
    drawn.call(call("last"))
    assert names(drawn) == (["above", "own", "more", "below"], ["first", "second", "third", "last"])
    with drawn.part("part"):
        drawn.call(call("second", 2.0))
        drawn.figure(Figure("own", []))
        # published inside the part, as connect() does, it is what the part has drawn so far
        assert names(drawn) == (["above", "own", "below"], ["first", "second", "last"])
    assert names(drawn) == (["above", "own", "below"], ["first", "second", "last"])
    assert drawn.published is not None and float(drawn.published.calls[1].result) == -2.0


def test_a_part_that_fails_leaves_the_others() -> None:
    drawn = Drawn()
    drawn.call(call("first"))
    try:
        with drawn.part("part"):
            raise RuntimeError
    except RuntimeError:
        pass
    drawn.call(call("second"))
    with drawn.part("part"):
        pass
    assert names(drawn)[1] == ["first", "second"]


def test_what_was_published_stands_until_it_is_published_again() -> None:
    drawn = Drawn()
    drawn.figure(Figure("one", []))
    drawn.publish(COMPUTED, {"tokens": ["a"]}, "text=a")
    drawn.begin()
    assert drawn.published is not None and [one.key for one in drawn.published.figures] == ["one"]
    drawn.figure(Figure("two", []))
    drawn.publish(COMPUTED, None, "text=b")  # a part, which tells linked.js nothing new
    assert drawn.published.hover == {"tokens": ["a"]} and drawn.published.query == "text=b"
    assert [one.key for one in drawn.published.figures] == ["two"]
