"""Somebody's weights in a notebook: every number drawn is the tensor's, in every layout that they come in."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from torch import Tensor

import attnviz
from tests.figures import reading

GENERATOR = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> Tensor:
    return torch.softmax(torch.randn(*shape, dtype=torch.float64, generator=GENERATOR).float(), dim=-1)


def trace(figure: go.Figure, name: str) -> dict[str, Any]:
    (found,) = [each for each in reading.received(figure)["data"] if each["name"] == name]
    return dict(found)


@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (1, 1, 4, 5), (1, 1, 1, 4, 5)])
def test_one_head_is_a_map_of_its_own_numbers_with_the_sums_of_its_rows(shape: tuple[int, ...]) -> None:
    weights = drawn(*shape)
    figure = attnviz.show(weights, list("abcd"), key_tokens=list("abcde"))
    assert np.array_equal(reading.z(reading.received(figure), "weights"), weights.reshape(4, 5).numpy())
    sums = reading.z(reading.received(figure), "rows of weights")
    assert np.allclose(sums.flatten(), weights.reshape(4, 5).sum(-1).numpy(), atol=1e-7)
    assert "%{z:.6g}" in trace(figure, "weights")["hovertemplate"]


def test_arrays_lists_and_a_tensor_a_layer_are_taken() -> None:
    weights = drawn(4, 4)
    for given in (weights.numpy(), weights.tolist(), weights.double(), weights.half().float()):
        assert np.allclose(reading.z(reading.received(attnviz.show(given)), "weights"), weights, atol=1e-3)
    layers = tuple(drawn(2, 3, 4, 4) for _ in range(5))
    one = reading.z(reading.received(attnviz.show(layers, layer=4, head=2, sequence=1)), "weights")
    assert np.array_equal(one, layers[4][1, 2].numpy())


def test_many_heads_are_tiles_in_their_order() -> None:
    weights = drawn(2, 1, 3, 4, 4)
    found = trace(attnviz.show(weights), "tiles")
    read = np.asarray(reading.array(found["customdata"]), dtype=np.float64)
    for layer in range(2):
        for head in range(3):
            each = (read.shape[0] - 1) // 2, (read.shape[1] - 1) // 3  # cells from tile to tile
            top, left = 1 + layer * each[0], 1 + head * each[1]
            tile = read[top : top + each[0] - 1, left : left + each[1] - 1]
            factor = tile.shape[0] // 4
            assert np.allclose(tile[::factor, ::factor], weights[layer, 0, head].numpy(), atol=0.005)


def test_of_a_longer_head_every_cell_is_exact_while_cells_are_single_tokens() -> None:
    weights = drawn(60, 60)
    figure = attnviz.show(weights, [f"w{i}" for i in range(60)])
    found = trace(figure, "pooled")
    assert np.array_equal(reading.array(found["customdata"]), weights.numpy())
    layout = reading.received(figure)["layout"]
    assert (found["x0"], layout["xaxis"]["range"], layout["yaxis"]["range"]) == (1, [0.5, 60.5], [60.5, 0.5])
    assert (layout["xaxis"]["minallowed"], layout["xaxis"]["maxallowed"]) == (0.5, 60.5)


def test_of_a_long_head_each_cell_is_the_largest_weight_of_its_block_and_says_so() -> None:
    weights = drawn(1030, 1030)
    found = trace(attnviz.show(weights), "pooled")
    read = reading.array(found["customdata"])
    assert read[0, 0] == float(weights[:3, :3].max()) and read[-1, -1] == float(weights[1029:, 1029:].max())
    assert found["hovertemplate"].startswith("block about")


def test_a_token_is_data() -> None:
    figure = attnviz.show(drawn(2, 2), ["</s>", "<b>x"])
    assert reading.received(figure)["layout"]["xaxis"]["ticktext"] == ["&lt;/s&gt;", "&lt;b&gt;x"]


def test_scores_are_drawn_on_a_scale_about_zero() -> None:
    layout = reading.received(attnviz.show(torch.tensor([[-3.0, 1.0], [0.0, 2.0]])))["layout"]
    assert (layout["coloraxis"]["cmin"], layout["coloraxis"]["cmax"]) == (-3, 3)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (torch.zeros(4), {}, r"weights: expected 2 to 5 axes with numbers, got shape \(4,\)"),
        (torch.zeros(0, 4), {}, r"weights: expected 2 to 5 axes with numbers, got shape \(0, 4\)"),
        (torch.eye(3), {"tokens": ["a"]}, "tokens: expected 3, one for each row or column of weights, got 1"),
        (torch.eye(3), {"head": 1}, "head: expected a whole number from 0 below 1, got 1"),
        (torch.zeros(2, 3, 4, 4), {"sequence": -1}, "sequence: expected a whole number from 0 below 2, got -1"),
    ],
)
def test_what_cannot_be_drawn_is_named(given: Tensor, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        attnviz.show(given, **options)
