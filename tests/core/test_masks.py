"""Masks against plain Python loops."""

import math
from collections.abc import Callable
from typing import cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core import masks

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(0, 6)
BOUNDS = st.none() | st.integers(-2, 6)


@QUICK
@given(n_query=SIZES, n_key=SIZES, left=BOUNDS, right=BOUNDS, offset=st.integers(-3, 3))
def test_window_is_its_inequality(n_query: int, n_key: int, left: int | None, right: int | None, offset: int) -> None:
    mask = masks.window(n_query, n_key, left=left, right=right, offset=offset)
    assert mask.dtype == torch.bool
    assert mask.shape == (n_query, n_key)
    for s in range(n_query):
        for u in range(n_key):
            after_left = left is None or s - left <= u - offset
            before_right = right is None or u - offset <= s + right
            assert mask[s, u].item() == (after_left and before_right)


@QUICK
@given(n_query=SIZES, n_key=SIZES, offset=st.integers(-3, 3))
def test_causal_sees_nothing_later(n_query: int, n_key: int, offset: int) -> None:
    expected = [[u - offset <= s for u in range(n_key)] for s in range(n_query)]
    assert masks.causal(n_query, n_key, offset=offset).tolist() == expected


def test_causal_with_a_cache_asks_the_last_rows() -> None:
    assert torch.equal(masks.causal(2, 5, offset=3), masks.causal(5, 5)[3:])


@QUICK
@given(offsets=st.lists(st.integers(-3, 6), max_size=4), left=BOUNDS, right=BOUNDS, as_tensor=st.booleans())
def test_an_offset_for_each_sequence_is_a_mask_for_each(
    offsets: list[int], left: int | None, right: int | None, as_tensor: bool
) -> None:
    given = torch.tensor(offsets, dtype=torch.int64) if as_tensor else offsets
    mask = masks.window(3, 5, left=left, right=right, offset=given)
    assert mask.shape == (len(offsets), 3, 5)
    for row, offset in zip(mask, offsets, strict=True):
        assert torch.equal(row, masks.window(3, 5, left=left, right=right, offset=offset))
    assert torch.equal(masks.causal(3, 5, offset=given), masks.window(3, 5, left=None, right=0, offset=given))


@QUICK
@given(n=SIZES, length=st.integers(0, 8))
def test_prefix_is_causal_but_for_the_first_keys(n: int, length: int) -> None:
    assert masks.prefix(n, length).tolist() == [[u <= s or u < length for u in range(n)] for s in range(n)]


@QUICK
@given(n_key=SIZES, data=st.data(), as_tensor=st.booleans())
def test_padding_hides_what_is_past_the_length(n_key: int, data: st.DataObject, as_tensor: bool) -> None:
    lengths = data.draw(st.lists(st.integers(0, n_key), max_size=4))
    mask = masks.padding(torch.tensor(lengths, dtype=torch.int64) if as_tensor else lengths, n_key)
    assert mask.dtype == torch.bool
    assert mask.shape == (len(lengths), 1, n_key)
    assert mask.tolist() == [[[u < length for u in range(n_key)]] for length in lengths]


@QUICK
@given(ids=st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=3))
def test_segments_see_themselves(ids: list[list[int]]) -> None:
    expected = [[[s == u for u in row] for s in row] for row in ids]
    assert masks.segments(ids).tolist() == masks.segments(torch.tensor(ids)).tolist() == expected
    assert masks.segments(ids[0]).tolist() == expected[0]


def test_combine_is_and() -> None:
    causal, padding = masks.causal(3, 3), masks.padding([2, 3], 3)
    combined = masks.combine(None, causal, padding)
    assert combined is not None
    assert combined.tolist() == [[[u <= s and u < n for u in range(3)] for s in range(3)] for n in (2, 3)]
    assert masks.combine(causal) is causal
    assert masks.combine() is None
    assert masks.combine(None, None) is None


def test_combine_adds_floating_masks_and_hides_with_the_bool_ones() -> None:
    bias, more = torch.arange(9.0).view(3, 3), torch.tensor([0.5, -math.inf, 0.25])
    combined = masks.combine(bias, masks.causal(3, 3), more, masks.padding([2, 3], 3))
    assert combined is not None
    assert combined.tolist() == [
        [
            [3 * s + u + more[u].item() if u <= s and u < n else -math.inf for u in range(3)]
            for s in range(3)
        ]
        for n in (2, 3)
    ]  # fmt: skip
    assert combined.dtype == torch.float32
    assert masks.combine(bias) is bias
    half = masks.combine(masks.causal(3, 3), bias.half())
    assert half is not None and half.dtype == torch.float16


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: masks.causal(2, 3, offset=cast("int", 0.5)),
            TypeError,
            "offset: expected whole numbers, got 0.5",
        ),
        (
            lambda: masks.causal(2, 3, offset=torch.tensor([[1]])),
            ValueError,
            "offset: expected one number, or one for each sequence, got shape (1, 1)",
        ),
        (lambda: masks.causal(-1, 3), ValueError, "n_query: expected a whole number of at least 0, got -1"),
        (
            lambda: masks.causal(3, cast("int", 2.0)),
            TypeError,
            "n_key: expected a whole number of at least 0, got 2.0",
        ),
        (lambda: masks.prefix(3, -1), ValueError, "length: expected a whole number of at least 0, got -1"),
        (
            lambda: masks.padding([2, 4], 3),
            ValueError,
            "lengths: expected whole numbers from 0 to n_key=3, got [2, 4]",
        ),
        (
            lambda: masks.padding([-1], 3),
            ValueError,
            "lengths: expected a whole number of at least 0, got -1",
        ),
        (lambda: masks.segments(cast("list[int]", 3)), ValueError, "ids: expected shape (..., n), got ()"),
        (
            lambda: masks.combine(masks.causal(2, 2), torch.ones(2, 2, dtype=torch.int64)),
            TypeError,
            "masks: expected dtype bool (True = may attend) or floating (added), got torch.int64",
        ),
        (
            lambda: masks.combine(masks.causal(2, 2), masks.causal(3, 3)),
            ValueError,
            "masks: expected shapes that broadcast with each other, got (2, 2) and (3, 3)",
        ),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
