"""A row, its strongest keys and the strongest pairs of a window are those of the whole matrix."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core import masks
from attnviz.core.attention import attention
from attnviz.core.pooling import pooled_weights
from attnviz.core.pooling_rows import row_weights, strongest, strongest_edges
from tests.core.pooling_drawn import KINDS, asked_as, draw, mask_of

QUICK = settings(max_examples=40, deadline=None)


@QUICK
@given(
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 20)),
    kind=st.sampled_from(KINDS),
    count=st.integers(1, 30),
    seed=st.integers(0, 2**31),
    data=st.data(),
)
def test_a_row_is_that_of_the_whole_matrix(sizes: tuple[int, int], kind: str, count: int, seed: int, data: Any) -> None:
    n_query, n_key = sizes
    row = data.draw(st.integers(0, n_query - 1))
    query, key = draw((2, 4, n_query, 3), (2, 2, n_key, 3), seed=seed)
    mask = mask_of(kind, 4, n_query, n_key, seed)
    asked = asked_as(kind, mask)
    expected = attention(query, key, key, mask=mask).weights[..., row, :]
    torch.testing.assert_close(row_weights(query, key, row, mask=asked), expected, rtol=1e-12, atol=0)
    found = strongest(query, key, row, mask=asked, count=count)
    assert found.keys.shape == (2, 4, min(count, n_key))
    torch.testing.assert_close(found.weights, expected.gather(-1, found.keys), rtol=1e-12, atol=0)
    torch.testing.assert_close(found.weights, expected.topk(min(count, n_key)).values, rtol=1e-12, atol=0)


def test_of_equal_weights_the_earlier_key_comes_first() -> None:
    query, key = torch.zeros(2, 3), torch.zeros(9, 3)
    assert strongest(query, key, 1, count=4).keys.tolist() == [0, 1, 2, 3]


@QUICK
@given(
    size=st.integers(1, 12),
    kind=st.sampled_from(KINDS),
    count=st.integers(1, 40),
    seed=st.integers(0, 2**31),
    window=st.sampled_from([(None, None), ((3, 11), (2, 14)), ((0, 2), None), ((5, 6), (4, 5))]),
)
def test_the_strongest_pairs_are_those_of_the_window(size: int, kind: str, count: int, seed: int, window: Any) -> None:
    query, key = draw((2, 4, 12, 3), (2, 2, 15, 3), seed=seed)
    mask = mask_of(kind, 4, 12, 15, seed)
    asked = asked_as(kind, mask)
    rows, cols = window
    pooled = pooled_weights(query, key, mask=asked, rows=rows, cols=cols, size=size)
    found = strongest_edges(query, key, pooled, mask=asked, count=count)
    weights = attention(query, key, key, mask=mask).weights
    inside = weights[..., slice(*(rows or (None,))), slice(*(cols or (None,)))].flatten(-2)
    n = min(count, inside.shape[-1])
    torch.testing.assert_close(found.weights, inside.topk(n).values, rtol=1e-12, atol=0)
    pairs = found.queries * 15 + found.keys
    torch.testing.assert_close(found.weights, weights.flatten(-2).gather(-1, pairs), rtol=1e-12, atol=0)
    assert all(len(set(each)) == n for each in pairs.flatten(0, 1).tolist())


@pytest.mark.parametrize("mask", [None, "causal"])
def test_one_map_without_leading_axes(mask: Any) -> None:
    query, key = draw((30, 4), (30, 4))
    found = strongest_edges(query, key, pooled_weights(query, key, mask=mask, size=4), mask=mask, count=5)
    seen = masks.causal(30, 30) if mask else None
    expected = attention(query, key, key, mask=seen).weights.flatten().topk(5)
    torch.testing.assert_close(found.weights, expected.values)
    assert (found.queries * 30 + found.keys).tolist() == expected.indices.tolist()
