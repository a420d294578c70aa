"""What V is for: the section draws the same weights whatever stands for V, and the output that follows."""

import numpy as np
import pytest

from attnviz.figures.panels import matrix
from attnviz.figures.text import number
from attnviz.labs.roles import mixed, value_table
from tests.pages.session import Session

QUERIES: list[dict[str, str]] = [
    {},
    {"mask": "causal", "lang": "zh"},
    {"text": "a cat sat here\na b", "b": "1", "n_heads": "4", "n_kv_heads": "2", "h": "2", "d_k": "3", "d_v": "5"},
]


@pytest.mark.parametrize("query", QUERIES, ids=["plain", "causal", "grouped and padded"])
def test_the_weights_stay_and_the_output_changes(query: dict[str, str]) -> None:
    session = Session("output", section="value", **query)
    run, view = session.experiment.run(), session.view
    n = run.lengths[view.b]
    weights, value, key, x = (matrix(run, name, view.b, view.h)[:n] for name in ("weights", "value", "key", "x"))
    weights = weights[:, :n]
    for kind in ("k", "x", "i", "v"):
        session.set("value_is", kind)
        assert session.sound() and session.linked[1].lab.value_is == kind
        table = value_table(kind, value=value, key=key, x=x)
        maps = session.maps()
        assert np.array_equal(maps["weights"], weights.numpy())
        assert np.array_equal(maps["table"], table.numpy())
        assert np.array_equal(maps["output"], mixed(weights, table).numpy())
        assert (kind == "i") == np.array_equal(maps["output"], maps["weights"])


def test_the_answer_names_the_share_of_the_chosen_cell() -> None:
    session = Session("output", section="value", reveal="8", value_is="i").click("output", 1, 3)
    assert (session.view.s, session.view.u) == (1, 3)  # with V := I the columns of the output are key tokens
    share = float(matrix(session.experiment.run(), "weights", 0, 0)[1, 3])
    assert f"(largest difference 0): “cat” gives “on” the share {number(share, 4)}" in session.words()
    assert "4 numbers of each token" in session.words()
    assert session.bridge["selected"] == {"name": "weights", "row": 1, "col": 3}


def test_the_step_is_still_there() -> None:
    session = Session("output", section="value").set("section", "step")
    assert session.sound() and set(session.numbers()) == {"value", "weights", "output"}
