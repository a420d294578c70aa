"""The window of a pooled map: inside the text whatever is asked for, back from its link, and closer step by step."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.experiment import Experiment, View
from attnviz.lab import Lab
from attnviz.limits import LONG_TOKENS, POOLED_CELLS
from attnviz.links import from_query, to_query
from attnviz.ui.long.map_window import CLICK, LEAST, Window, dragged, fields, of, scaled

SIZES = st.integers(1, LONG_TOKENS)
TOKENS = st.integers(0, LONG_TOKENS)


def inside(window: Window, n_query: int, n_key: int) -> bool:
    return all(0 <= first < end <= n for (first, end), n in zip(window, (n_query, n_key), strict=True))


@given(SIZES, SIZES, TOKENS, TOKENS, TOKENS, TOKENS)
def test_any_window_is_cut_to_the_text_and_comes_back_from_its_link(
    n: int, m: int, s: int, s_end: int, u: int, u_end: int
) -> None:
    window = of(Lab(map_s=s, map_s_end=s_end, map_u=u, map_u_end=u_end), n, m)
    assert inside(window, n, m)
    if s < min(s_end or n, n):
        assert window.rows == (s, min(s_end or n, n))
    query = to_query(Experiment("a"), View(lab=Lab(**fields(window, n, m))))
    assert of(from_query(query)[1].lab, n, m) == window
    assert ("map_" in query) == (window != Window((0, n), (0, m)))


@given(SIZES, SIZES, st.data())
def test_a_step_stays_inside_and_about_its_place(n: int, m: int, data: st.DataObject) -> None:
    spans = [sorted(data.draw(st.lists(st.integers(0, k), min_size=2, max_size=2, unique=True))) for k in (n, m)]
    window = Window((spans[0][0], spans[0][1]), (spans[1][0], spans[1][1]))
    factor = data.draw(st.sampled_from([1 / 8, 1 / 4, 1.0, 4.0]))
    at = (data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, m - 1)))
    made = scaled(window, (factor, factor), n, m, at)
    assert inside(made, n, m)
    for (first, end), old, place, size in zip(made, window, at, (n, m), strict=True):
        assert end - first >= min(size, LEAST)
        assert end - first <= max(LEAST, (old[1] - old[0]) * factor + 1)
        assert first <= place < end


def test_three_clicks_lead_from_the_longest_text_to_single_tokens() -> None:
    n = LONG_TOKENS
    window, clicks = Window((0, n), (0, n)), 0
    while max(end - first for first, end in window) > POOLED_CELLS:
        window = scaled(window, (1 / CLICK, 1 / CLICK), n, n, (20_000.5, 7_000.5))
        clicks += 1
    assert clicks <= 3 and all(first <= at < end for (first, end), at in zip(window, (20_000, 7_000), strict=True))


def test_zooming_out_of_a_corner_shows_the_whole_at_last() -> None:
    window = Window((0, 4), (996, 1000))
    for _ in range(4):
        window = scaled(window, (4, 4), 1000, 1000)
    assert window == Window((0, 1000), (0, 1000))


@pytest.mark.parametrize(
    ("shown", "window"),
    [
        ([-0.5, 999.5, 999.5, -0.5], Window((0, 1000), (0, 1000))),
        ([99.5, 149.5, 39.5, 19.5], Window((20, 40), (100, 150))),  # what a redrawn map says of itself
        ([99.7, 149.2, 39.2, 19.8], Window((20, 40), (100, 150))),  # every token that is in sight
        ([500.1, 500.2, 10.4, 10.3], Window((9, 13), (499, 503))),  # at least LEAST tokens
        ([-80.0, 40.2, 1400.0, 900.0], Window((900, 1000), (0, 41))),
        ([998.9, 999.4, 0.2, -0.4], Window((0, 4), (996, 1000))),
        ([99.6, 619.4, 519.5, -0.5], Window((4, 516), (104, 616))),  # a little too many to be exact
    ],
)
def test_what_is_dragged_is_read_in_whole_tokens(shown: list[float], window: Window) -> None:
    assert dragged({"": shown}, 1000, 1000) == window


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        [],
        "x",
        {"2": [0, 1, 1, 0]},
        {"": None},
        {"": [0, 1, 1]},
        {"": [1, 0, 1, 0]},
        {"": [0, 1, 0, 1]},
        {"": [0, float("nan"), 1, 0]},
        {"": [0, float("inf"), 1, 0]},
        {"": ["0", 1, 1, 0]},
    ],
)
def test_what_is_no_window_is_not_taken(told: Any) -> None:
    assert dragged(told, 1000, 1000) is None
