"""What attention, project and self_attention say of arguments that do not fit."""

from typing import Any

import pytest
import torch

from attnviz.core.attention import attention, project, self_attention

Q, K, V = (2, 4, 8), (2, 5, 8), (2, 5, 3)
BAD = [
    ((8,), K, V, {}, "query: expected shape (..., s, k), got (8,)"),
    ((4, 0), (5, 0), (5, 3), {}, "query: expected at least one feature k, got shape (4, 0)"),
    (Q, (2, 5, 7), V, {}, "key: expected shape (..., u, k=8), got (2, 5, 7)"),
    (Q, K, (2, 4, 3), {}, "value: expected shape (..., u=5, d), got (2, 4, 3)"),
    (Q, K, (3, 5, 3), {}, "value: expected leading axes that broadcast with key's (2,), got (3,)"),
    (
        (2, 3, 4, 8),
        (2, 2, 5, 8),
        (2, 2, 5, 3),
        {},
        "key: expected leading axes that broadcast with query's (2, 3), or heads (axis -3) that divide them,"
        " got (2, 2)",
    ),
    (Q, K, V, {"softcap": 0.0}, "softcap: expected a positive finite number or None, got 0.0"),
    (
        (2, 1, 4, 8),
        (2, 1, 5, 8),
        (2, 1, 5, 3),
        {"mask": torch.ones(2, 4, 5)},  # would make (2, 2, 4, 5) of scores (2, 1, 4, 5)
        "mask: expected a shape that broadcasts to (..., s, u) = (2, 1, 4, 5), got (2, 4, 5)",
    ),
]


@pytest.mark.parametrize(("query", "key", "value", "options", "message"), BAD)
def test_what_does_not_fit_is_named(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ValueError) as error:
        attention(torch.ones(query), torch.ones(key), torch.ones(value), **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("dtypes", "mask", "message"),
    [
        (("int64", "int64", "int64"), None, "query: expected a floating dtype, got torch.int64"),
        (
            ("float32", "float64", "float32"),
            None,
            "key: expected dtype torch.float32 as query has, got torch.float64",
        ),
        (
            ("float32", "float32", "float16"),
            None,
            "value: expected dtype torch.float32 as query has, got torch.float16",
        ),
        (
            ("float32", "float32", "float32"),
            torch.ones(4, 5, dtype=torch.int64),
            "mask: expected dtype bool (True = may attend) or floating (added), got torch.int64",
        ),
    ],
)
def test_dtypes_that_do_not_fit_are_named(
    dtypes: tuple[str, str, str], mask: torch.Tensor | None, message: str
) -> None:
    tensors = [torch.ones(shape, dtype=getattr(torch, dtype)) for shape, dtype in zip((Q, K, V), dtypes, strict=True)]
    with pytest.raises(TypeError) as error:
        attention(*tensors, mask=mask)
    assert str(error.value) == message


def test_a_softmax_dtype_that_is_not_floating_is_named() -> None:
    with pytest.raises(TypeError) as error:
        attention(torch.ones(Q), torch.ones(K), torch.ones(V), softmax_dtype=torch.int32)
    assert str(error.value) == "softmax_dtype: expected a floating dtype or None, got torch.int32"


@pytest.mark.parametrize(
    ("x", "weight", "bias", "message"),
    [
        ((8,), (8, 3), None, "x: expected shape (..., s, m), got (8,)"),
        ((4, 8), (3, 8), None, "weight: expected shape (m=8, k), got (3, 8)"),
        ((4, 8), (8, 3), (8,), "bias: expected shape (k=3,), got (8,)"),
    ],
)
def test_project_names_what_does_not_fit(
    x: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...] | None, message: str
) -> None:
    with pytest.raises(ValueError) as error:
        project(torch.ones(x), torch.ones(weight), None if bias is None else torch.ones(bias))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((4, 8), K, V), "Q: expected shape (b, s, k), got (4, 8)"),
        ((Q, (2, 5, 7), V), "K: expected shape (b=2, u, k=8), got (2, 5, 7)"),
        ((Q, K, (1, 5, 3)), "V: expected shape (b=2, u=5, d), got (1, 5, 3)"),
    ],
)
def test_self_attention_names_what_does_not_fit(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(ValueError) as error:
        self_attention(*(torch.ones(shape) for shape in shapes))
    assert str(error.value) == message
