"""What pooled_weights and the functions under it say of arguments that do not fit."""

from typing import Any

import pytest
import torch

from attnviz.core.pooling import pooled_weights
from attnviz.core.pooling_rows import row_weights, strongest, strongest_edges

Q, K = torch.ones(2, 4, 8), torch.ones(2, 5, 8)
BAD: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (torch.ones(8), K, {}, ValueError, "query: expected shape (..., s, k), got (8,)"),
    (Q, torch.ones(2, 5, 7), {}, ValueError, "key: expected shape (..., u, k=8), got (2, 5, 7)"),
    (Q, K.double(), {}, TypeError, "key: expected dtype torch.float32 as query has, got torch.float64"),
    (
        Q,
        torch.ones(3, 5, 8),
        {},
        ValueError,
        "key: expected leading axes that broadcast with query's (2,), or heads (axis -3) that divide them, got (3,)",
    ),
    (Q, K, {"mask": "window"}, ValueError, "mask: expected a torch.Tensor, 'causal' or None, got 'window'"),
    (Q, K, {"mask": 3}, TypeError, "mask: expected a torch.Tensor, got int"),
    (
        Q,
        K,
        {"mask": torch.ones(3, 5)},
        ValueError,
        "mask: expected a shape that broadcasts to (..., s, u) = (2, 4, 5), got (3, 5)",
    ),
    (
        Q,
        K,
        {"mask": lambda first, end: torch.ones(end - first, 3)},
        ValueError,
        "mask: expected a shape that broadcasts to (..., s, u) = (4, 5), got (4, 3)",
    ),
    (Q, K, {"softcap": -1.0}, ValueError, "softcap: expected a positive finite number or None, got -1.0"),
    (Q, K, {"size": 0}, ValueError, "size: expected a whole number of at least 1, got 0"),
    (Q, K, {"reduce": "sum"}, ValueError, "reduce: expected 'max' or 'mean', got 'sum'"),
    (
        Q,
        K,
        {"rows": (1, 5)},
        ValueError,
        "rows: expected (first, end) with 0 <= first <= end <= s=4, got (1, 5)",
    ),
    (Q, K, {"cols": (3, 2)}, ValueError, "cols: expected (first, end) with 0 <= first <= end <= u=5, got (3, 2)"),
    (Q, K, {"rows": (-1, 2)}, ValueError, "rows: expected a whole number of at least 0, got -1"),
    (Q, K, {"rows": 3}, TypeError, "rows: expected (first, end), a slice of step 1 or None, got 3"),
    (
        Q,
        K,
        {"cols": slice(0, 4, 2)},
        TypeError,
        "cols: expected (first, end), a slice of step 1 or None, got slice(0, 4, 2)",
    ),
]


@pytest.mark.parametrize(("query", "key", "options", "kind", "message"), BAD)
def test_what_does_not_fit_is_named(
    query: Any, key: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as error:
        pooled_weights(query, key, **options)
    assert str(error.value) == message


@pytest.mark.parametrize("call", [row_weights, strongest])
def test_a_row_that_is_none_is_named(call: Any) -> None:
    with pytest.raises(ValueError, match=r"^row: expected a query token from 0 to s - 1 = 3, got 4$"):
        call(Q, K, 4)
    with pytest.raises(ValueError, match=r"^row: expected a whole number of at least 0, got -1$"):
        call(Q, K, -1)
    with pytest.raises(TypeError, match=r"^query: expected a torch.Tensor, got list$"):
        call([[1.0]], K, 0)


def test_a_count_below_1_is_named() -> None:
    with pytest.raises(ValueError, match=r"^count: expected a whole number of at least 1, got 0$"):
        strongest(Q, K, 0, count=0)
    with pytest.raises(ValueError, match=r"^count: expected a whole number of at least 1, got 0$"):
        strongest_edges(Q, K, pooled_weights(Q, K), count=0)
