"""Lines between tokens are those of the weights, the lightest first, and of one row where one is chosen."""

import numpy as np
import plotly.graph_objects as go
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from attnviz.figures.colours import LIGHT
from attnviz.figures.pairs import LEAST, lines, specify

maps = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(0, 1, width=32))


@given(maps)
def test_a_line_is_drawn_for_every_weight_that_counts(weights: np.ndarray) -> None:
    """No line is missing, none is of another cell, and the heaviest is drawn last."""
    found = lines(weights)
    assert {(s, u) for s, u, _ in found} == set(zip(*np.nonzero(weights >= LEAST), strict=True))
    assert all(weight == weights[s, u] for s, u, weight in found)
    assert [weight for *_, weight in found] == sorted(weight for *_, weight in found)
    assert all(s == 0 for s, _, _ in lines(weights, 0))


def test_tokens_that_are_markup_stand_literally_in_their_places() -> None:
    """Each token stands on the height of its number; the chosen row's is bold."""
    weights = np.eye(3, dtype="f")
    figure = go.Figure(specify(weights, ("<s>", "a", "a"), ("x", "#1", "</s>"), LIGHT, row=1))
    left, right = (trace for trace in figure.data if trace.mode == "text")
    assert list(left.text) == ["&lt;s&gt;", "<b>a</b>", "a"] and list(right.text) == ["x", "&#35;1", "&lt;/s&gt;"]
    assert list(left.y) == [0, 1, 2]
    drawn = [trace for trace in figure.data if trace.mode == "lines" and trace.opacity == 1]
    assert [list(trace.y[:2]) for trace in drawn] == [[1, 1]]
