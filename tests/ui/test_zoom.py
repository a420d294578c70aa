"""What a browser says it zoomed in on: whole cells, and nothing that is no range."""

import math

import pytest

from attnviz.ui.zoom import _read


def test_a_range_grows_to_whole_cells() -> None:
    # Cell i reaches from i - 0.5 to i + 0.5; y runs downwards, so that its first end is the larger.
    assert _read({"3": [0.7, 2.2, 4.4, 1.6]}) == {"3": (0.5, 2.5, 4.5, 1.5)}
    assert _read({"": [-0.5, 5.5, 5.5, -0.5]}) == {"": (-0.5, 5.5, 5.5, -0.5)}


@pytest.mark.parametrize("shown", [[2, 1, 4, 1], [0, 1, 1, 4], [0, math.inf, 4, 1], [0, 1, math.nan, 1]])
def test_what_is_no_range_is_left_out(shown: list[float]) -> None:
    assert _read({"2": shown}) == {}
