"""Tiles hold each head's weights as bytes, and a cell of the matrix is found again as a head and its tokens."""

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.figures.colours import DARK, LIGHT, Theme
from attnviz.figures.tiles import TOP, Tiles, at, names, place, specify


def drawn(n: int, rows: int, columns: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.rand(n, rows, columns, generator=generator)


def tiles(n: int, rows: int, columns: int, across: int, *, block: int = 1, titled: bool = False) -> Tiles:
    heads = [divmod(i, across) for i in range(n)]
    titles = tuple(f"{layer}.{head}" for layer, head in heads) if titled else ()
    return Tiles(drawn(n, rows, columns), block, across, names(heads), titles, "layer", "head")


@given(st.integers(1, 7), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_every_cell_is_the_weight_of_the_tokens_it_is_found_at(
    n: int, rows: int, columns: int, across: int, titled: bool
) -> None:
    """With a cell for each token, a byte is the square root of its weight, and each weight has its cells."""
    given_ = tiles(n, rows, columns, across, titled=titled)
    placed = place(given_, 60)
    found = set()
    for row, column in np.ndindex(placed.bytes_.shape):
        where = at(placed, row, column)
        byte = int(placed.bytes_[row, column])
        if where is None or where[0] >= n:
            assert byte > TOP
            continue
        weight = float(given_.maps[where])
        assert abs((byte / TOP) ** 2 - weight) < 1.5 / TOP
        found.add(where)
    assert found == set(np.ndindex(n, rows, columns))


def test_a_long_text_is_pooled_to_the_largest_weight_and_says_so() -> None:
    """64 blocks of 8 tokens on 64 pixels are 32 blocks of 16, each of its largest weight."""
    given_ = tiles(1, 64, 64, 1, block=8)
    placed = place(given_, 64)
    assert placed.block == 16 and placed.each == 1
    largest = given_.maps[0].reshape(32, 2, 32, 2).amax((1, 3))
    assert np.abs((placed.bytes_[1:-1, 1:-1] / TOP) ** 2 - largest.numpy()).max() < 1.5 / TOP
    spec, panel, _ = specify(tiles(30 * 9, 64, 64, 30, block=8), LIGHT, width=1200)
    assert panel["tile"]["block"] == 32
    assert "32 × 32 tokens" in spec["layout"]["coloraxis"]["colorbar"]["title"]["text"]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("titled", [False, True])
def test_the_figure_is_one_heatmap_that_plotly_accepts(theme: Theme, titled: bool) -> None:
    """go.Figure validates each of its properties; every head is named once."""
    spec, panel, placed = specify(tiles(6, 5, 5, 3, titled=titled), theme, width=1200)
    figure = go.Figure(spec)
    (trace,) = figure.data
    assert trace.type == "heatmap" and np.array_equal(trace.z, placed.bytes_)
    assert panel["tile"]["called"] == list(names([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]))
    assert [note.text for note in figure.layout.annotations] == (
        ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"] if titled else []
    )
    assert figure.layout.width <= 1200


def test_a_map_that_is_not_square_keeps_its_shape() -> None:
    """A cross map of 20 rows and 5 columns is four times as high as it is wide."""
    spec, _, placed = specify(tiles(1, 20, 5, 1), LIGHT, width=1200)
    height, width = placed.step[0] - placed.gap, placed.step[1] - 1
    assert height == 4 * width
    assert spec["layout"]["height"] < 400


def test_a_head_that_is_left_out_leaves_a_gap_and_the_others_where_they_were() -> None:
    """No byte of it is a weight, it has no name to hover over, and nothing else moves."""
    all_of_them = tiles(6, 5, 5, 3)
    without = all_of_them._replace(hidden=frozenset({1, 5}))
    whole, rest = place(all_of_them, 60), place(without, 60)
    assert whole.bytes_.shape == rest.bytes_.shape
    for row, column in np.ndindex(rest.bytes_.shape):
        where = at(rest, row, column)
        left_out = where is not None and where[0] in (1, 5)
        assert rest.bytes_[row, column] == (whole.bytes_[0, 0] if left_out else whole.bytes_[row, column])
    _, panel, _ = specify(without, LIGHT, width=1200)
    assert [i for i, called in enumerate(panel["tile"]["called"]) if not called] == [1, 5]
