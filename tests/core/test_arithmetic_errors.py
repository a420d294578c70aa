"""What explain says of arguments that do not fit."""

from typing import Any

import pytest
import torch

from attnviz.core import masks
from attnviz.core.arithmetic import explain
from attnviz.core.attention import attention

TRACE = attention(torch.ones(2, 3, 4, 8), torch.ones(2, 1, 5, 8), torch.ones(2, 1, 5, 6), mask=masks.causal(4, 5))
X, W = torch.ones(2, 4, 7), torch.ones(7, 24)


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
