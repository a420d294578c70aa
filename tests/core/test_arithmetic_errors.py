"""What explain says of arguments that do not fit."""

from typing import Any

import pytest
import torch

from attnviz.core import masks
from attnviz.core.arithmetic import explain, explain_projection
from attnviz.core.attention import attention
from attnviz.core.positions import Rotary

TRACE = attention(torch.ones(2, 3, 4, 8), torch.ones(2, 1, 5, 8), torch.ones(2, 1, 5, 6), mask=masks.causal(4, 5))
X, W = torch.ones(2, 4, 7), torch.ones(7, 24)
CELL = (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("step", "index", "options", "message"),
    [
        (
            "sum",
            (0,),
            {},
            "step: expected one of query, key, value, scores, scaled, masked, weights, output, got 'sum'",
        ),
        (
            "scores",
            (0, 0, 4, 0),
            {},
            "index: expected 4 whole numbers from 0 below scores's shape (2, 3, 4, 5), got (0, 0, 4, 0)",
        ),
        (
            "output",
            (0, 0),
            {},
            "index: expected 4 whole numbers from 0 below output's shape (2, 3, 4, 6), got (0, 0)",
        ),
        (
            "key",
            (0, 0, -1, 0),
            {},
            "index: expected 4 whole numbers from 0 below key's shape (2, 1, 5, 8), got (0, 0, -1, 0)",
        ),
        (
            "query",
            (0, 0, 0, 0),
            {"weight": W},
            "x: expected the tensor (..., s, m) that was projected, got None",
        ),
        ("query", (0, 0, 0, 0), {"x": X}, "weight: expected the matrix (m, k) of the projection, got None"),
        (
            "query",
            (0, 0, 0, 0),
            {"x": X[:, 1:], "weight": W},
            "x: expected shape (..., s=4, m), got (2, 3, 7)",
        ),
        ("query", (0, 0, 0, 0), {"x": X, "weight": W[1:]}, "weight: expected shape (m=7, k=24), got (6, 24)"),
        (
            "query",
            (0, 0, 0, 0),
            {"x": X, "weight": W[:, :9]},
            "weight: expected shape (m=7, k=8), got (7, 9)",
        ),
        (
            "query",
            (0, 0, 0, 0),
            {"x": X, "weight": W, "bias": torch.ones(8)},
            "bias: expected shape (k=24,), got (8,)",
        ),
        (
            "query",
            (0, 0, 0, 0),
            {"x": torch.ones(3, 4, 7), "weight": W},
            "x: expected leading axes that broadcast to (2,), got shape (3, 4, 7)",
        ),
        (
            "masked",
            (0, 0, 0, 1),
            {},
            "mask: expected the mask of this trace, masked differs from scaled, got None",
        ),
        (
            "masked",
            (0, 0, 0, 1),
            {"mask": torch.ones(4, 4)},
            "mask: expected a shape that broadcasts to (2, 3, 4, 5), got (4, 4)",
        ),
    ],
)
def test_what_does_not_fit_is_named(step: str, index: tuple[int, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        explain(TRACE, step, index, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("step", "options", "raised", "message"),
    [
        ("query", {"x": [1.0], "weight": W}, TypeError, "x: expected a torch.Tensor, got list"),
        ("query", {"x": X, "weight": [1.0]}, TypeError, "weight: expected a torch.Tensor, got list"),
        ("query", {"x": X, "weight": torch.ones(7)}, ValueError, "weight: expected shape (m, k), got (7,)"),
        ("query", {"x": X, "weight": W, "bias": 1.0}, TypeError, "bias: expected a torch.Tensor, got float"),
        ("masked", {"mask": [True]}, TypeError, "mask: expected a torch.Tensor, got list"),
        (
            "masked",
            {"mask": torch.ones(4, 5).long()},
            TypeError,
            "mask: expected dtype bool (True = may attend) or floating (added), got torch.int64",
        ),
        ("scaled", {"softcap": 0}, ValueError, "softcap: expected a positive finite number or None, got 0"),
        (
            "weights",
            {"softmax_dtype": torch.int32},
            TypeError,
            "softmax_dtype: expected a floating dtype or None, got torch.int32",
        ),
        (
            "query",
            {"rotary": Rotary(), "x": X, "weight": W},
            ValueError,
            "projected: expected the tensor (..., s, k) before rotation, got None",
        ),
        (
            "key",
            {"rotary": Rotary(), "projected": TRACE.query},
            ValueError,
            "projected: expected the shape after rotation, (2, 1, 5, 8), got (2, 3, 4, 8)",
        ),
        (
            "key",
            {"rotary": Rotary(), "projected": TRACE.key.double()},
            TypeError,
            "projected: expected dtype torch.float32 as the rotated tensor has, got torch.float64",
        ),
        ("key", {"rotary": Rotary(), "projected": 1}, TypeError, "projected: expected a torch.Tensor, got int"),
        (
            "key",
            {"rotary": "half", "projected": TRACE.key},
            TypeError,
            "rotary: expected a Rotary, got str",
        ),
        (
            "key",
            {"rotary": Rotary("whole"), "projected": TRACE.key},
            ValueError,
            "rotary.layout: expected 'half' or 'interleaved', got 'whole'",
        ),
    ],
)
def test_what_a_step_needs_is_named(step: str, options: dict[str, Any], raised: type[Exception], message: str) -> None:
    with pytest.raises(raised) as error:
        explain(TRACE, step, CELL, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("projected", "index", "options", "raised", "message"),
    [
        ([1.0], (0,), {}, TypeError, "projected: expected a torch.Tensor, got list"),
        (torch.ones(3), (0,), {}, ValueError, "projected: expected shape (..., s, k), got (3,)"),
        (torch.ones(2, 3).long(), (0, 0), {}, TypeError, "projected: expected a floating dtype, got torch.int64"),
        (
            torch.ones(2, 4, 24),
            (0, 0, 24),
            {},
            ValueError,
            "index: expected 3 whole numbers from 0 below projected's shape (2, 4, 24), got (0, 0, 24)",
        ),
        (torch.ones(2, 4, 23), (0, 0, 0), {}, ValueError, "weight: expected shape (m=7, k=23), got (7, 24)"),
        (torch.ones(2, 3, 24), (0, 0, 0), {}, ValueError, "x: expected shape (..., s=3, m), got (2, 4, 7)"),
        (
            torch.ones(2, 4, 24),
            (0, 0, 0),
            {"bias": torch.ones(1, 24)},
            ValueError,
            "bias: expected shape (k=24,), got (1, 24)",
        ),
    ],
)
def test_what_a_projection_needs_is_named(
    projected: Any, index: tuple[int, ...], options: dict[str, Any], raised: type[Exception], message: str
) -> None:
    with pytest.raises(raised) as error:
        explain_projection(projected, index, x=X, weight=W, **options)
    assert str(error.value) == message


def test_an_odd_number_of_features_has_no_rotation() -> None:
    odd = attention(torch.ones(2, 5), torch.ones(2, 5), torch.ones(2, 1))
    with pytest.raises(ValueError) as error:
        explain(odd, "query", (0, 0), projected=odd.query, rotary=Rotary())
    assert str(error.value) == "d_k: expected an even number of features, which turn in pairs, got 5"
