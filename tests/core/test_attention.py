"""The core's numbers against torch's own attention, on the same tensors."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.attention import attention, project, self_attention
from attnviz.core.heads import merge_heads, split_heads

# float64 and float32 differ from torch by the order of sums alone. In half precision each step of the trace
# is rounded, where torch's fused kernel rounds once: scores up to about 4 are good to 4 * eps (eps 2^-10 and
# 2^-7).
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 5e-3, torch.bfloat16: 5e-2}
QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 6)


def draw(*shapes: tuple[int, ...], seed: int = 0, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    tolerance = TOLERANCE[expected.dtype]
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@QUICK
@given(
    leading=st.lists(SIZES, max_size=2),
    sizes=st.tuples(SIZES, SIZES, SIZES, SIZES),
    dtype=st.sampled_from(list(TOLERANCE)),
    mask_kind=st.sampled_from(["none", "bool", "float"]),
    scale=st.sampled_from([None, 1.0, 0.3]),
    seed=st.integers(0, 2**31),
)
def test_output_is_scaled_dot_product_attention(
    leading: list[int],
    sizes: tuple[int, int, int, int],
    dtype: torch.dtype,
    mask_kind: str,
    scale: float | None,
    seed: int,
) -> None:
    n_query, n_key, d_k, d_v = sizes
    query, key, value, noise = draw(
        (*leading, n_query, d_k),
        (*leading, n_key, d_k),
        (*leading, n_key, d_v),
        (n_query, n_key),
        seed=seed,
        dtype=dtype,
    )
    mask = {"none": None, "bool": noise > -0.5, "float": noise}[mask_kind]
    trace = attention(query, key, value, mask=mask, scale=scale)
    assert_close(trace.output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale))
    assert all(tensor.dtype == dtype for tensor in trace)


@QUICK
@given(n_kv_heads=SIZES, group=SIZES, seed=st.integers(0, 2**31), dtype=st.sampled_from(list(TOLERANCE)))
def test_grouped_queries_are_enable_gqa(n_kv_heads: int, group: int, seed: int, dtype: torch.dtype) -> None:
    n_heads = n_kv_heads * group
    query, key, value = draw((2, n_heads, 4, 8), (2, n_kv_heads, 5, 8), (2, n_kv_heads, 5, 3), seed=seed, dtype=dtype)
    mask = torch.rand(2, 1, 4, 5, generator=torch.Generator().manual_seed(seed)) < 0.8
    trace = attention(query, key, value, mask=mask)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    assert_close(trace.output, expected)
    assert trace.key is key
    assert trace.value is value  # as given, not repeated
    assert trace.scores.shape == (2, n_heads, 4, 5)


@pytest.mark.parametrize(
    ("asked", "read", "carried"),
    [
        ((2, 3), (3,), (2, 1)),
        ((), (2, 3), (3,)),
        ((3,), (), (2, 1)),
        ((2, 1), (2, 3), (2, 3)),
        ((2, 6), (3,), (2, 3)),
    ],
)
def test_leading_axes_broadcast(asked: tuple[int, ...], read: tuple[int, ...], carried: tuple[int, ...]) -> None:
    query, key, value = draw((*asked, 4, 8), (*read, 5, 8), (*carried, 5, 2), dtype=torch.float64)
    mask = torch.ones(4, 5, dtype=torch.bool).tril(1)
    leading = (2, 6) if 6 in asked else (2, 3)
    wide = [x.repeat_interleave(2, -3) if 6 in asked and 3 in x.shape[:-2] else x for x in (query, key, value)]
    wide = [x.expand(*leading, *x.shape[-2:]) for x in wide]
    expected = F.scaled_dot_product_attention(wide[0], wide[1], wide[2], attn_mask=mask)
    output = attention(query, key, value, mask=mask).output
    assert_close(output.expand_as(expected), expected)


@QUICK
@given(n_heads=st.sampled_from([1, 2, 4]), n_tokens=SIZES, seed=st.integers(0, 2**31), bias=st.booleans())
def test_weights_and_output_are_those_of_multihead_attention(
    n_heads: int, n_tokens: int, seed: int, bias: bool
) -> None:
    d_model = 8
    torch.manual_seed(seed)
    layer = torch.nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True, dtype=torch.float64)
    if bias:
        torch.nn.init.normal_(layer.in_proj_bias)
    x = torch.randn(3, n_tokens, d_model, dtype=torch.float64)
    hidden = torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1)  # in this layer True hides
    expected_output, expected_weights = layer(x, x, x, attn_mask=hidden, average_attn_weights=False)

    biases = layer.in_proj_bias.chunk(3) if bias else (None, None, None)
    projected = [project(x, w.T, b) for w, b in zip(layer.in_proj_weight.chunk(3), biases, strict=True)]
    trace = attention(*(split_heads(p, n_heads) for p in projected), mask=~hidden)
    assert_close(trace.weights, expected_weights)
    assert_close(layer.out_proj(merge_heads(trace.output)), expected_output)


def test_every_step_of_the_trace_is_its_formula() -> None:
    query, key, value, mask = draw((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (4, 5), dtype=torch.float64)
    trace = attention(query, key, value, mask=mask, scale=0.5, softcap=2.0)
    assert trace._fields == ("query", "key", "value", "scores", "scaled", "masked", "weights", "output")
    assert trace.query is query
    assert trace.key is key
    assert trace.value is value
    assert_close(trace.scores, torch.einsum("bhsk,bhuk->bhsu", query, key))
    assert_close(trace.scaled, 2.0 * torch.tanh(0.5 * trace.scores / 2.0))
    assert_close(trace.masked, trace.scaled + mask)
    assert_close(trace.weights, trace.masked.exp() / trace.masked.exp().sum(-1, keepdim=True))
    assert_close(trace.output, torch.einsum("bhsu,bhud->bhsd", trace.weights, value))


def test_without_a_mask_masked_is_scaled() -> None:
    trace = attention(*draw((4, 8), (5, 8), (5, 2)))
    assert trace.masked is trace.scaled


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_row_that_may_attend_nowhere_is_zero_and_its_gradients_finite(kind: str, dtype: torch.dtype) -> None:
    query, key, value = (x.requires_grad_() for x in draw((2, 3, 4), (2, 5, 4), (2, 5, 2), dtype=dtype))
    allowed = torch.ones(3, 5, dtype=torch.bool)
    allowed[1] = False
    allowed[2, 3:] = False
    mask = allowed if kind == "bool" else torch.zeros(3, 5, dtype=dtype).masked_fill(~allowed, -math.inf)
    trace = attention(query, key, value, mask=mask)
    assert torch.equal(trace.weights[:, 1], torch.zeros(2, 5, dtype=dtype))
    assert torch.equal(trace.output[:, 1], torch.zeros(2, 2, dtype=dtype))
    assert_close(trace.output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
    trace.output.square().sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (query, key, value))
    assert query.grad is not None
    assert torch.equal(query.grad[:, 1], torch.zeros(2, 4, dtype=dtype))
    assert query.grad[:, 0].abs().sum() > 0


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan])
def test_a_hidden_score_has_no_say_even_when_it_is_no_number(score: float, kind: str) -> None:
    query, key, value = torch.ones(3, 1), torch.tensor([[1.0], [score], [2.0]]), torch.eye(3)
    seen = torch.tensor([[True, False, True], [False, False, False], [True, False, False]])
    mask = seen if kind == "bool" else torch.zeros(3, 3).masked_fill(~seen, -math.inf)
    trace = attention(query, key, value, mask=mask)
    assert torch.equal(trace.masked.isneginf(), ~seen)
    share = 1 / (1 + math.e)
    torch.testing.assert_close(trace.weights, torch.tensor([[share, 0, 1 - share], [0, 0, 0], [1, 0, 0]]))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "within"), [(torch.float16, torch.float32), (torch.float32, torch.float64)])
def test_the_softmax_may_be_computed_in_a_dtype_of_its_own(
    dtype: torch.dtype, within: torch.dtype, masked: bool
) -> None:
    query, key, value = draw((4, 8), (64, 8), (64, 2), dtype=dtype)
    mask = torch.ones(4, 64, dtype=torch.bool).tril(40) if masked else None
    if mask is not None:
        mask[2] = False
    trace = attention(query, key, value, mask=mask, softmax_dtype=within)
    assert all(tensor.dtype == dtype for tensor in trace)
    expected = torch.softmax(trace.masked.to(within), dim=-1).nan_to_num(0).to(dtype)
    assert torch.equal(trace.weights, expected)
    if dtype == torch.float16:  # it makes a difference
        coarse = attention(query, key, value, mask=mask, softmax_dtype=torch.bfloat16).weights
        assert not torch.equal(coarse, expected)


def test_no_keys_give_an_output_of_zero() -> None:
    trace = attention(torch.ones(3, 4), torch.ones(0, 4), torch.ones(0, 2), mask=torch.ones(3, 0, dtype=torch.bool))
    assert trace.weights.shape == (3, 0)
    assert torch.equal(trace.output, torch.zeros(3, 2))


def test_gradients_are_those_of_scaled_dot_product_attention() -> None:
    ours, torchs = ([x.requires_grad_() for x in draw((2, 3, 4), (2, 5, 4), (2, 5, 2))] for _ in range(2))
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    attention(*ours, mask=mask).output.square().sum().backward()
    output = F.scaled_dot_product_attention(torchs[0], torchs[1], torchs[2], attn_mask=mask)
    output.square().sum().backward()
    for x, y in zip(ours, torchs, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-5, atol=1e-5)


def test_a_float_mask_does_not_change_the_dtype() -> None:
    trace = attention(*draw((4, 8), (5, 8), (5, 2)), mask=torch.zeros(4, 5, dtype=torch.float64))
    assert trace.output.dtype == torch.float32


def test_project_is_a_linear_layer() -> None:
    x, weight, bias = draw((2, 3, 4, 8), (8, 5), (5,), dtype=torch.float64)
    assert_close(project(x, weight, bias), F.linear(x, weight.T, bias))
    assert_close(project(x, weight), F.linear(x, weight.T))


def test_self_attention_prints_its_shape(capsys: pytest.CaptureFixture[str]) -> None:
    batch, seq_len, d_k, d_v = 2, 4, 64, 64
    Q, K, V = draw((batch, seq_len, d_k), (batch, seq_len, d_k), (batch, seq_len, d_v))
    print(self_attention(Q, K, V).shape)
    assert capsys.readouterr().out == "torch.Size([2, 4, 64])\n"
    assert_close(self_attention(Q, K, V), F.scaled_dot_product_attention(Q, K, V))
    assert_close(self_attention(Q, K, V), attention(Q, K, V).output)


def test_the_published_worked_example_to_its_four_digits() -> None:
    x = torch.tensor([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1.0]])
    w_k = torch.tensor([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0.0]])
    w_q = torch.tensor([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1.0]])
    w_v = torch.tensor([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0.0]])
    trace = attention(project(x, w_q), project(x, w_k), project(x, w_v), scale=1.0)
    printed = [[f"{value:.4f}" for value in row] for row in trace.output.tolist()]
    assert printed == [
        ["1.9366", "6.6831", "1.5951"],
        ["2.0000", "7.9640", "0.0540"],
        ["1.9997", "7.7599", "0.3584"],
    ]
