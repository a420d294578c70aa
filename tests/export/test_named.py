"""What a tensor is called: by the memory that it shares with one that has a name."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from attnviz.export.named import expression, groups, tensors

WHOLE = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))


def given(code: str) -> Tensor:
    value: Tensor = eval(code, {"Q": WHOLE})  # noqa: S307  # written here
    return value


PIECES = [
    *("Q", "Q[1]", "Q[0, 2]", "Q[1, 1, :3]", "Q[1, 1, 1:3]", "Q[1, 1, :, 2]", "Q[:, 1]", "Q[:, 0, 1:, 2:]"),
    *("Q[1, 2].mT", "Q[1, 2, 1:].mT", "Q[0, 0, 3:]", "Q[1, 2, 3, 4]", "Q[:1, :1]", "Q[1:2, 2, :, 4:]"),
]


@pytest.mark.parametrize("code", PIECES)
def test_a_piece_is_called_so_that_the_call_gives_it(code: str) -> None:
    piece = given(code)
    found = expression(piece, {"Q": WHOLE})
    assert found is not None
    assert given(found).shape == piece.shape
    assert torch.equal(given(found), piece)


def test_every_small_piece_is_found_again() -> None:
    edges: list[slice[Any, Any, Any] | int] = [slice(None), slice(1, None), slice(0, 1), 0, 1]
    for index in itertools.product(edges, repeat=4):
        piece = WHOLE[index]
        found = expression(piece, {"Q": WHOLE})
        assert found is not None, index
        assert torch.equal(given(found), piece) and given(found).shape == piece.shape, (index, found)


def test_what_shares_no_memory_is_not_known_unless_copies_are() -> None:
    copy = WHOLE[1, 2].clone()
    assert expression(copy, {"Q": WHOLE}) is None
    assert expression(copy, {"Q": WHOLE}, copies=True) == "Q[1, 2]"
    assert expression(copy.mT.contiguous(), {"Q": WHOLE[1, 2]}, copies=True) == "Q.mT"
    assert expression(copy + 1, {"Q": WHOLE}, copies=True) is None
    assert expression(copy.double(), {"Q": WHOLE}, copies=True) is None


def test_not_a_number_and_infinity_are_the_same_as_themselves() -> None:
    odd = torch.tensor([[torch.nan, -torch.inf], [1.0, 2.0]])
    assert expression(odd.clone(), {"Q": odd}, copies=True) == "Q"


def test_another_stride_of_the_same_memory_is_no_piece() -> None:
    assert expression(WHOLE.flatten()[::7], {"Q": WHOLE}) is None
    assert expression(WHOLE[0, 0, ::2], {"Q": WHOLE}) is None


def test_what_a_function_returned_has_names() -> None:
    class Pair:
        _fields = ("left", "right")
        left, right = torch.zeros(1), (torch.ones(1), 3)

    assert [name for name, _ in tensors("made", [Pair(), 1, "x"])] == ["made[0].left", "made[0].right[0]"]


def test_groups_are_what_holds_more_than_a_number() -> None:
    inner = [1, 2]
    named = torch.ones(2, 2).max(dim=0)  # a named tuple of torch
    assert dict(groups("made", (inner, torch.ones(1), ()))) == {"made": (inner, torch.ones(1), ()), "made[0]": inner}
    assert [name for name, _group in groups("made", named)] == ["made"]
    assert list(groups("made", 3)) == []


@pytest.mark.parametrize(
    "code",
    [
        "Q.permute(0, 2, 1, 3)",
        "Q[:, 1].permute(1, 0, 2)",
        "Q[1, 0, 2][None]",
        "Q[0, :1, :3]",
        "Q[0, 1, 2, 3][None][None]",
    ],
)
def test_axes_in_another_order_and_a_row_by_itself(code: str) -> None:
    found = expression(given(code), {"Q": WHOLE})
    assert found is not None
    assert torch.equal(given(found), given(code)) and given(found).shape == given(code).shape


def test_a_vector_is_known_as_the_matrix_that_it_is_drawn_as() -> None:
    vector = torch.arange(3.0)
    assert expression(vector[None], {"v": vector}) == "v[None]"
    assert expression(vector[1].reshape(1, 1), {"v": vector[1]}) == "v[None][None]"


def test_of_axes_that_are_one_long_a_whole_one_is_kept() -> None:
    one = torch.zeros(1, 2, 3, 4)
    assert expression(one[:, 1], {"Q": one}) == "Q[:, 1]"
    assert expression(one[0, 1:], {"Q": one[0]}) == "Q[1:]"


def test_a_view_is_called_by_its_own_name() -> None:
    assert expression(WHOLE[1].mT, {"Q": WHOLE, "turned": WHOLE[1].mT}) == "turned"
