"""Contribution and rollout, on maps whose values are known and against plain loops."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.multi_head import multi_head
from attnviz.core.statistics import contribution, rollout

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 4)
SEEDS = st.integers(0, 2**31)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
DTYPES = st.sampled_from(list(TOLERANCE))


def draw(*shapes: tuple[int, ...], seed: int = 0, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]


def assert_close(actual: Tensor, expected: Tensor) -> None:
    tolerance = TOLERANCE[actual.dtype]
    assert actual.shape == expected.shape
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=tolerance)


def test_known_contribution() -> None:
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    value = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])  # lengths 5, 0, 1
    assert contribution(weights, value).tolist() == [[2.5, 0, 0], [0, 0, 0]]
    w_o = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # makes (3, 4) to (6, 0, 4) and (1, 0) to (2, 0, 0)
    assert contribution(weights, value, w_o).flatten().tolist() == pytest.approx([math.sqrt(52) / 2, 0, 0, 0, 0, 0])


def test_known_contribution_of_two_heads() -> None:
    weights = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]])  # (h, s, u)
    value = torch.tensor([[[1.0], [1.0]], [[1.0], [2.0]]])  # (h, u, d)
    w_o = torch.tensor([[3.0], [10.0]])  # head 0 is multiplied by 3, head 1 by 10
    assert contribution(weights, value, w_o).tolist() == [[[3, 0]], [[5, 10]]]
    shared = torch.tensor([[[1.0], [2.0]]])  # both heads read one value head
    assert contribution(weights, shared, w_o).tolist() == [[[3, 0]], [[5, 10]]]


@QUICK
@given(b=SIZES, n_kv_heads=SIZES, group=SIZES, n_query=SIZES, n_key=SIZES, seed=SEEDS, dtype=DTYPES)
def test_contribution_is_its_product(
    b: int, n_kv_heads: int, group: int, n_query: int, n_key: int, seed: int, dtype: torch.dtype
) -> None:
    n_heads, d_v, m = n_kv_heads * group, 3, 2
    scores, value, w_o = draw(
        (b, n_heads, n_query, n_key), (b, n_kv_heads, n_key, d_v), (n_heads * d_v, m), seed=seed, dtype=dtype
    )
    weights = torch.softmax(scores, dim=-1)
    plain, projected = (torch.zeros(b, n_heads, n_query, n_key, dtype=torch.float64) for _ in range(2))
    for i, h, s, u in itertools.product(range(b), range(n_heads), range(n_query), range(n_key)):
        carried = value[i, h // group, u].double()
        plain[i, h, s, u] = weights[i, h, s, u].double() * math.hypot(*carried.tolist())
        rows = w_o[h * d_v : (h + 1) * d_v].double()  # what the head owns
        columns = [sum(v * w for v, w in zip(carried.tolist(), rows[:, j].tolist(), strict=True)) for j in range(m)]
        projected[i, h, s, u] = weights[i, h, s, u].double() * math.hypot(*columns)
    assert contribution(weights, value).dtype == dtype
    assert_close(contribution(weights, value), plain)
    assert_close(contribution(weights, value, w_o), projected)


@pytest.mark.parametrize(
    ("weights", "value", "expected"),
    [
        ((4, 5), (5, 3), (4, 5)),
        ((2, 4, 5), (5, 3), (2, 4, 5)),
        ((4, 5), (2, 5, 3), (2, 4, 5)),
        ((2, 3, 4, 5), (2, 1, 5, 3), (2, 3, 4, 5)),
        ((0, 3, 4, 5), (0, 3, 5, 3), (0, 3, 4, 5)),
        ((2, 3, 0, 0), (2, 3, 0, 3), (2, 3, 0, 0)),
        ((2, 4, 5), (2, 5, 0), (2, 4, 5)),
    ],
)
def test_contribution_broadcasts(weights: tuple[int, ...], value: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert contribution(torch.ones(weights), torch.ones(value)).shape == expected
    assert contribution(torch.ones(weights), torch.ones(value), torch.ones(value[-1], 7)).shape == expected


@QUICK
@given(seed=SEEDS)
def test_output_is_no_longer_than_what_is_added(seed: int) -> None:
    trace = attention(*draw((2, 4, 3), (2, 5, 3), (2, 5, 6), seed=seed))
    added = contribution(trace.weights, trace.value).sum(dim=-1)
    assert (trace.output.norm(dim=-1) <= added + 1e-12).all()


def test_contributions_of_multi_head_attention() -> None:
    x, w_q, w_k, w_v, w_o = draw((2, 5, 8), (8, 12), (8, 6), (8, 4), (8, 7))
    attended = multi_head(x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, n_heads=4, n_kv_heads=2)
    weights, value = attended.trace.weights, attended.trace.value
    one_key = torch.zeros_like(weights)
    one_key[..., 3] = weights[..., 3]  # what key 3 alone adds, through head 1 alone
    merged = (one_key @ value.repeat_interleave(2, dim=1))[:, 1]  # (b, s, d)
    expected = (merged @ w_o[2:4]).norm(dim=-1)
    torch.testing.assert_close(contribution(weights, value, w_o)[:, 1, :, 3], expected)


def test_known_rollout() -> None:
    first = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])  # two heads; mean [[1, 0], [.5, .5]]
    second = torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])  # one head
    # With the token itself: [[1, 0], [.25, .75]] and [[.5, .5], [0, 1]], the later one on the left.
    assert rollout([first]).tolist() == [[1, 0], [0.25, 0.75]]
    assert rollout([first, second]).tolist() == [[0.625, 0.375], [0.25, 0.75]]
    assert rollout((second, first)).tolist() == [[0.5, 0.5], [0.125, 0.875]]


def test_rollout_of_rows_of_zeros() -> None:
    nowhere = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]])
    assert rollout([nowhere]).tolist() == [[1, 0], [0.5, 0.5]]  # token 0 keeps itself, whole
    in_one_head = torch.tensor([[[0.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])  # mean of row 0: [0, .5]
    assert rollout([in_one_head])[0].tolist() == pytest.approx([1 / 1.5, 0.5 / 1.5])


@QUICK
@given(
    leading=st.lists(st.integers(0, 3), max_size=2),
    heads=st.lists(SIZES, min_size=1, max_size=4),
    n=st.integers(0, 5),
    seed=SEEDS,
    dtype=DTYPES,
    causal=st.booleans(),
)
def test_rollout_is_its_product(
    leading: list[int], heads: list[int], n: int, seed: int, dtype: torch.dtype, causal: bool
) -> None:
    later = torch.ones(n, n, dtype=torch.bool).triu(1) & causal
    scores = draw(*((*leading, h, n, n) for h in heads), seed=seed, dtype=dtype)
    layers = [torch.softmax(score.masked_fill(later, -math.inf), dim=-1) for score in scores]
    rolled = rollout(layers)
    assert rolled.shape == (*leading, n, n)
    assert rolled.dtype == dtype
    expected = torch.eye(n, dtype=torch.float64).expand(*leading, n, n)
    for layer in layers:
        mean = sum((layer.double()[..., h, :, :] for h in range(layer.shape[-3])), torch.zeros(())) / layer.shape[-3]
        expected = torch.einsum("...st,...tu->...su", 0.5 * mean + 0.5 * torch.eye(n), expected)
    assert_close(rolled, expected)
    assert_close(rolled.sum(dim=-1), torch.ones(*leading, n, dtype=torch.float64))
    assert not rolled[..., later].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    scores, value, w_o = draw((2, 3, 40, 40), (2, 3, 40, 8), (24, 16), dtype=dtype)
    weights = torch.softmax(scores, dim=-1)
    wide = (weights.float(), value.float(), w_o.float())
    assert torch.equal(contribution(weights, value, w_o), contribution(*wide).to(dtype))
    assert torch.equal(rollout([weights] * 6), rollout([weights.float()] * 6).to(dtype))
    huge = torch.full((1, 4), 2.0**15, dtype=torch.float16)  # its length, 2^16, is beyond half precision
    assert contribution(torch.full((1, 1), 0.5, dtype=torch.float16), huge).item() == 2.0**15


def test_gradients_are_those_of_finite_differences() -> None:
    scores, value, w_o = (x.requires_grad_() for x in draw((2, 3, 3), (2, 3, 2), (4, 3)))
    assert torch.autograd.gradcheck(lambda s, v, w: contribution(torch.softmax(s, dim=-1), v, w), (scores, value, w_o))
    assert torch.autograd.gradcheck(lambda s: rollout([torch.softmax(s, dim=-1)] * 2), (scores,))


def test_gradients_are_finite_at_0() -> None:
    weights, value = torch.zeros(1, 2, 2, requires_grad=True), torch.zeros(1, 2, 3, requires_grad=True)
    (contribution(weights, value).sum() + rollout([weights, weights]).sum()).backward()
    assert weights.grad is not None and weights.grad.isfinite().all()
    assert value.grad is not None and value.grad.isfinite().all()
