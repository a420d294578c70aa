"""What multi_head says of arguments that do not fit: the argument's own name, what was expected, what came."""

from typing import Any

import pytest
import torch

from attnviz.core.multi_head import multi_head
from attnviz.core.rotary import Rotary

# 4 query heads on 2 key heads, k = 3, d = 2: x of 5 features reads a context of 6.
SHAPES: dict[str, tuple[int, ...]] = {
    "x": (2, 4, 5),
    "context": (2, 3, 6),
    "w_q": (5, 12),
    "w_k": (6, 6),
    "w_v": (6, 4),
    "w_o": (8, 7),
    "b_q": (12,),
    "b_k": (6,),
    "b_v": (4,),
    "b_o": (7,),
}


def call(shapes: dict[str, tuple[int, ...] | None], **options: Any) -> None:
    drawn = {name: None if shape is None else torch.ones(shape) for name, shape in (SHAPES | shapes).items()}
    multi_head(**(drawn | {"n_heads": 4, "n_kv_heads": 2} | options))


def test_these_arguments_fit() -> None:
    call({})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": (5,)}, "x: expected shape (..., s, m), got (5,)"),
        ({"context": (6,)}, "context: expected shape (..., u, m), got (6,)"),
        ({"context": (3, 3, 6)}, "context: expected leading axes that broadcast with x's (2,), got (3,)"),
        (
            {"x": (7, 2, 4, 5), "context": (7, 3, 6)},
            "context: expected leading axes that broadcast with x's (7, 2), got (7,)",
        ),
        ({"w_q": (12, 5)}, "w_q: expected shape (m=5, h*k), got (12, 5)"),
        ({"w_q": (4, 5, 3)}, "w_q: expected shape (m=5, h*k), got (4, 5, 3)"),
        ({"w_q": (5, 10)}, "n_heads: expected a divisor of the 10 columns of w_q, got 4"),
        ({"w_q": (5, 0), "b_q": (0,), "w_k": (6, 0), "b_k": (0,)}, "w_q: expected at least one column a head, got 0"),
        ({"w_k": (5, 6)}, "w_k: expected shape (m=6, h_kv*k=6), got (5, 6)"),
        ({"w_k": (6, 12)}, "w_k: expected shape (m=6, h_kv*k=6), got (6, 12)"),  # as many heads as query has
        ({"context": None}, "w_k: expected shape (m=5, h_kv*k=6), got (6, 6)"),
        ({"context": (2, 3, 8)}, "w_k: expected shape (m=8, h_kv*k=6), got (6, 6)"),
        ({"w_v": (5, 4)}, "w_v: expected shape (m=6, h_kv*d), got (5, 4)"),
        ({"w_v": (6, 5)}, "n_kv_heads: expected a divisor of the 5 columns of w_v, got 2"),
        ({"w_o": (4, 7)}, "w_o: expected shape (h*d=8, m), got (4, 7)"),  # d of the 2 key heads alone
        ({"w_o": (8,)}, "w_o: expected shape (h*d=8, m), got (8,)"),
        ({"w_o": None}, "b_o: expected None where w_o is None, got a Tensor"),
        ({"b_q": (3,)}, "b_q: expected shape (h*k=12,), got (3,)"),
        ({"b_k": (12,)}, "b_k: expected shape (h_kv*k=6,), got (12,)"),
        ({"b_v": (4, 1)}, "b_v: expected shape (h_kv*d=4,), got (4, 1)"),
        ({"b_o": (8,)}, "b_o: expected shape (m=7,), got (8,)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes: dict[str, tuple[int, ...] | None], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call(shapes)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_heads": 0}, "n_heads: expected a whole number of at least 1, got 0"),
        ({"n_heads": -4}, "n_heads: expected a whole number of at least 1, got -4"),
        ({"n_heads": 5, "n_kv_heads": None}, "n_heads: expected a divisor of the 12 columns of w_q, got 5"),
        ({"n_kv_heads": 0}, "n_kv_heads: expected a whole number of at least 1, got 0"),
        ({"n_kv_heads": 3}, "n_kv_heads: expected a divisor of n_heads=4, got 3"),
        ({"n_kv_heads": 8}, "n_kv_heads: expected a divisor of n_heads=4, got 8"),
        ({"n_kv_heads": None}, "w_k: expected shape (m=6, h_kv*k=12), got (6, 6)"),
        ({"softcap": 0.0}, "softcap: expected a positive finite number or None, got 0.0"),
        (
            {"mask": torch.ones(4, 4, dtype=torch.bool)},
            "mask: expected a shape that broadcasts to (..., s, u) = (2, 4, 4, 3), got (4, 4)",
        ),
        (
            {"mask": torch.ones(2, 4, 3, dtype=torch.bool)},  # one for each sequence wants a head axis of 1
            "mask: expected a shape that broadcasts to (..., s, u) = (2, 4, 4, 3), got (2, 4, 3)",
        ),
        (
            {"rotary": Rotary(base=0.0), "w_q": torch.ones(5, 8), "b_q": None, "w_k": torch.ones(6, 4), "b_k": None},
            "rotary.base: expected a positive finite number, got 0.0",
        ),
        ({"rotary": Rotary()}, "w_q: expected an even number of columns a head, which rotary turns in pairs, got 3"),
    ],
)
def test_numbers_and_masks_that_do_not_fit_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call({}, **options)
    assert str(error.value) == message


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "x"])
def test_another_dtype_is_named(name: str) -> None:
    with pytest.raises(TypeError) as error:
        call({}, **{name: torch.ones(SHAPES[name], dtype=torch.float64)})
    assert str(error.value) == f"{name}: expected dtype torch.float32 as x has, got torch.float64"


@pytest.mark.parametrize("name", list(SHAPES))
def test_what_is_no_tensor_is_named(name: str) -> None:
    with pytest.raises(TypeError) as error:
        call({}, **{name: [[1.0, 2.0]]})
    assert str(error.value) == f"{name}: expected a torch.Tensor, got list"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": torch.ones(2, 4, 5, dtype=torch.int64)}, "x: expected a floating dtype, got torch.int64"),
        ({"x": None}, "x: expected a torch.Tensor, got NoneType"),
        ({"w_q": None}, "w_q: expected a torch.Tensor, got NoneType"),
        ({"n_heads": 4.0}, "n_heads: expected a whole number of at least 1, got 4.0"),
        (
            {"rotary": True, "w_q": torch.ones(5, 8), "b_q": None, "w_k": torch.ones(6, 4), "b_k": None},
            "rotary: expected a Rotary, got bool",
        ),
        ({"n_kv_heads": "2"}, "n_kv_heads: expected a whole number of at least 1, got '2'"),
        (
            {"mask": torch.ones(4, 3, dtype=torch.int64)},
            "mask: expected dtype bool (True = may attend) or floating (added), got torch.int64",
        ),
    ],
)
def test_types_that_do_not_fit_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as error:
        call({}, **options)
    assert str(error.value) == message
