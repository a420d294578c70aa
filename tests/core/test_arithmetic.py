"""The arithmetic of a cell against the trace, and against einsum in float64."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core import masks
from attnviz.core.arithmetic import EQUATIONS, STEPS, Arithmetic, explain
from attnviz.core.attention import AttentionTrace, attention, project
from attnviz.core.heads import split_heads

QUICK = settings(max_examples=30, deadline=None)
PROJECTED = ("query", "key", "value")


def draw(*shapes: tuple[int, ...], seed: int = 0, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]


def indices(shape: tuple[int, ...], seed: int, n: int = 12) -> list[tuple[int, ...]]:
    """A few random cells of a tensor, its first and its last."""
    generator = torch.Generator().manual_seed(seed)
    flat = [0, math.prod(shape) - 1, *torch.randint(math.prod(shape), (n,), generator=generator).tolist()]
    return [tuple(int(i) for i in torch.unravel_index(torch.tensor(f), shape)) for f in flat]


def assert_explains(explained: Arithmetic, tensor: torch.Tensor) -> None:
    assert explained.cell == float(tensor[explained.index])
    assert explained.total == explained.cell or abs(explained.total - explained.cell) <= explained.tolerance
    assert explained.equation == EQUATIONS[explained.step]
    assert all(f.dtype == torch.float64 and f.ndim == 1 for f in (*explained.factors.values(), explained.products))


@QUICK
@given(
    n_heads=st.sampled_from([None, 1, 2, 6]),
    n_kv_heads=st.sampled_from([1, 2]),
    batch=st.booleans(),
    mask_kind=st.sampled_from(["none", "causal", "padding", "float", "nowhere"]),
    softcap=st.sampled_from([None, 1.5]),
    scale=st.sampled_from([None, 0.7]),
    bias=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.float16, torch.bfloat16]),
    seed=st.integers(0, 2**31),
)
def test_every_step_of_an_attention(
    n_heads: int | None,
    n_kv_heads: int,
    batch: bool,
    mask_kind: str,
    softcap: float | None,
    scale: float | None,
    bias: bool,
    dtype: torch.dtype,
    seed: int,
) -> None:
    n, d_model, d_k, d_v = 5, 16, 4, 3
    n_kv_heads = min(n_kv_heads, n_heads or 1)
    (x,) = draw((2, n, d_model) if batch else (n, d_model), seed=seed, dtype=dtype)
    widths = {"query": (n_heads or 1) * d_k, "key": n_kv_heads * d_k, "value": n_kv_heads * d_v}
    weights = {
        name: draw((d_model, w), seed=seed + i, dtype=dtype)[0] / 4 for i, (name, w) in enumerate(widths.items())
    }
    biases = {name: draw((w,), seed=seed, dtype=dtype)[0] if bias else None for name, w in widths.items()}
    wide = {name: project(x, weights[name], biases[name]) for name in widths}
    if n_heads is not None:
        wide = {name: split_heads(wide[name], n_heads if name == "query" else n_kv_heads) for name in widths}
    padding = masks.padding([3, 5], n) if batch else masks.padding([3], n)[0]
    mask = {
        "none": None,
        "causal": masks.causal(n, n),
        "padding": padding[:, None] if batch and n_heads is not None else padding,
        "float": draw((n, n), seed=seed, dtype=dtype)[0].masked_fill(~masks.causal(n, n), -math.inf),
        "nowhere": masks.segments([0, 0, 1, 1, 2]) & (torch.arange(n) != 4),
    }[mask_kind]
    trace = attention(*wide.values(), mask=mask, scale=scale, softcap=softcap)
    for step in STEPS:
        given = {"x": x, "weight": weights[step], "bias": biases[step]} if step in PROJECTED else {}
        tensor = getattr(trace, step)
        for index in indices(tensor.shape, seed):
            explained = explain(trace, step, index, mask=mask, scale=scale, softcap=softcap, **given)
            assert_explains(explained, tensor)


@pytest.mark.parametrize("n", [64, 512])
def test_a_long_sum_stays_within_tolerance(n: int) -> None:
    trace = attention(*draw((n, 64), (n, 64), (n, 64)))
    for step in ("scores", "scaled", "masked", "weights", "output"):
        for index in indices(getattr(trace, step).shape, seed=n, n=100):
            assert_explains(explain(trace, step, index), getattr(trace, step))


def test_leading_axes_that_broadcast() -> None:
    trace = attention(*draw((2, 3, 4, 8), (3, 5, 8), (2, 1, 5, 6)))
    for step in ("scores", "output"):
        for index in indices(getattr(trace, step).shape, seed=1):
            assert_explains(explain(trace, step, index), getattr(trace, step))
    values_only = attention(*draw((4, 8), (5, 8), (2, 5, 6)))  # weights (s, u), output (b, s, d)
    assert_explains(explain(values_only, "output", (1, 2, 3)), values_only.output)


def test_products_are_those_of_the_formula() -> None:
    x, w_q = draw((2, 4, 8), (8, 6), dtype=torch.float64)
    query, key, value = (
        split_heads(x @ w_q, 2),
        *draw((2, 1, 5, 3), (2, 1, 5, 2), seed=1, dtype=torch.float64),
    )
    trace = attention(query, key, value)
    b, h, s, u = 1, 1, 3, 2
    projected = explain(trace, "query", (b, h, s, 2), x=x, weight=w_q)
    assert list(projected.factors) == ["x", "weight"]
    assert torch.equal(projected.products, x[b, s] * w_q[:, 1 * 3 + 2])  # the column of head 1, feature 2
    scores = explain(trace, "scores", (b, h, s, u))
    assert list(scores.factors) == ["query", "key"]
    assert torch.equal(scores.products, query[b, h, s] * key[b, 0, u])
    scaled = explain(trace, "scaled", (b, h, s, u))
    assert {name: factor.tolist() for name, factor in scaled.factors.items()} == {
        "scores": [trace.scores[b, h, s, u].item()],
        "scale": [1 / math.sqrt(3)],
    }
    weights = explain(trace, "weights", (b, h, s, u))
    assert list(weights.factors) == ["masked", "exponential"]
    assert torch.equal(weights.products, weights.factors["exponential"])
    assert weights.products.max() == 1
    assert weights.total == pytest.approx((weights.products[u] / weights.products.sum()).item(), abs=1e-15)
    output = explain(trace, "output", (b, h, s, 0))
    assert list(output.factors) == ["weights", "value"]
    assert torch.equal(output.products, trace.weights[b, h, s] * value[b, 0, :, 0])


def test_a_bias_is_the_weight_of_a_feature_that_is_always_one() -> None:
    x, w_q, bias = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]), torch.tensor([0.5])
    query = project(x, w_q, bias)
    explained = explain(attention(query, query, query), "query", (0, 0), x=x, weight=w_q, bias=bias)
    assert explained.factors["x"].tolist() == [1, 2, 1]
    assert explained.factors["weight"].tolist() == [3, 4, 0.5]
    assert explained.products.tolist() == [3, 8, 0.5]
    assert explained.total == explained.cell == 11.5


def test_a_hidden_cell_adds_minus_infinity() -> None:
    mask = masks.causal(2, 2)
    trace = attention(*draw((2, 4), (2, 4), (2, 4)), mask=mask)
    hidden = explain(trace, "masked", (0, 1), mask=mask)
    assert hidden.factors["mask"].tolist() == [-math.inf]
    assert hidden.products.tolist() == [trace.scaled[0, 1].item(), -math.inf]
    assert hidden.total == hidden.cell == -math.inf
    assert math.isfinite(hidden.tolerance)
    assert explain(trace, "masked", (1, 0), mask=mask).factors["mask"].tolist() == [0]


def test_a_row_that_may_attend_nowhere_has_no_exponentials() -> None:
    trace = attention(*draw((2, 4), (3, 4), (3, 4)), mask=torch.tensor([[False], [True]]))
    nowhere = explain(trace, "weights", (0, 1))
    assert nowhere.products.tolist() == [0, 0, 0]
    assert nowhere.total == nowhere.cell == 0


def test_a_wrong_cell_is_found_out() -> None:
    trace = attention(*draw((4, 8), (5, 8), (5, 2)))
    for step in ("scores", "scaled", "masked", "weights", "output"):
        wrong = trace._replace(**{step: getattr(trace, step) + 1e-3})
        explained = explain(wrong, step, (1, 1), mask=torch.zeros(4, 5))
        assert abs(explained.total - explained.cell) > explained.tolerance


def test_the_equations_are_einsums_of_the_trace() -> None:
    x, w_q, w_v = draw((2, 4, 8), (8, 3), (8, 5), dtype=torch.float64)
    trace = attention(x @ w_q, x @ w_q, x @ w_v)
    operands = {
        "query": (x, w_q),
        "key": (x, w_q),
        "value": (x, w_v),
        "scores": (trace.query, trace.key),
        "output": (trace.weights, trace.value),
    }
    assert tuple(EQUATIONS) == STEPS == AttentionTrace._fields
    for step, tensors in operands.items():
        torch.testing.assert_close(torch.einsum(EQUATIONS[step], *tensors), getattr(trace, step))
