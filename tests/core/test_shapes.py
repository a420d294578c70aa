from typing import cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.shapes import broadcast, check_count, check_dtype, check_shape, meet


@pytest.mark.parametrize(
    ("shape", "letters", "sizes"),
    [
        ((4, 3), "... u k", {"k": 3}),
        ((2, 9, 4, 3), "... u k", {"k": 3}),
        ((3,), "k", {"k": 3}),
        ((), "...", {}),
    ],
)
def test_a_shape_that_fits_passes(shape: tuple[int, ...], letters: str, sizes: dict[str, int]) -> None:
    check_shape("key", torch.zeros(shape), letters, **sizes)


@pytest.mark.parametrize(
    ("shape", "letters", "sizes", "message"),
    [
        ((3,), "... u k", {"k": 3}, "key: expected shape (..., u, k=3), got (3,)"),
        ((4, 2), "... u k", {"k": 3}, "key: expected shape (..., u, k=3), got (4, 2)"),
        ((1, 4, 3), "u k", {}, "key: expected shape (u, k), got (1, 4, 3)"),
        ((2,), "k", {"k": 3}, "key: expected shape (k=3,), got (2,)"),
    ],
)
def test_a_shape_that_does_not_fit_is_named(
    shape: tuple[int, ...], letters: str, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError) as error:
        check_shape("key", torch.zeros(shape), letters, **sizes)
    assert str(error.value) == message


def test_a_list_is_no_tensor() -> None:
    with pytest.raises(TypeError) as error:
        check_shape("key", cast("torch.Tensor", [[1.0]]), "... u k")
    assert str(error.value) == "key: expected a torch.Tensor, got list"


def test_dtypes_must_be_floating_and_equal() -> None:
    with pytest.raises(TypeError) as error:
        check_dtype("key", torch.zeros(1), "query", torch.int64)
    assert str(error.value) == "query: expected a floating dtype, got torch.int64"
    with pytest.raises(TypeError) as error:
        check_dtype("key", torch.zeros(1), "query", torch.float64)
    assert str(error.value) == "key: expected dtype torch.float64 as query has, got torch.float32"


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=4))
def test_broadcast_is_torchs(shapes: list[list[int]]) -> None:
    try:
        expected = tuple(torch.broadcast_shapes(*map(tuple, shapes)))
    except RuntimeError:
        expected = None
    assert broadcast(*shapes) == expected


def test_broadcast_gives_the_shape_or_none() -> None:
    assert broadcast((2, 1), (3,)) == (2, 3)
    assert broadcast((), ()) == ()
    assert broadcast((2,), (3,)) is None


def test_a_count_is_a_whole_number_from_low_on() -> None:
    assert check_count("n", True) == 1
    with pytest.raises(ValueError) as value_error:
        check_count("n", -1)
    assert str(value_error.value) == "n: expected a whole number of at least 0, got -1"
    with pytest.raises(TypeError) as type_error:
        check_count("n", cast("int", 1.5))
    assert str(type_error.value) == "n: expected a whole number of at least 0, got 1.5"


def test_meeting_points_of_broadcast_axes_and_grouped_heads() -> None:
    assert meet((1, 2), (3, 4), (3, 4)) == (1, 2)
    assert meet((1, 2), (3, 4), (1, 4)) == (0, 2)
    assert meet((1, 2), (3, 4), (4,)) == (2,)
    assert meet((1, 2), (3, 4), ()) == ()
    assert [meet((h,), (6,), (2,))[0] for h in range(6)] == [0, 0, 0, 1, 1, 1]
