"""The statistics of one map, on a map whose values are known and against plain Python loops."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core import masks, statistics

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 6)
LEADING = st.lists(st.integers(0, 3), max_size=3)
SEEDS = st.integers(0, 2**31)
OFFSETS = st.integers(-8, 8)
# Half precision is computed in float32 and rounded once: half a unit in the last place, of at most 8 here.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}
DTYPES = st.sampled_from(list(TOLERANCE))
LN2 = math.log(2)

# Causal; the first row sees one key, the second is even, the last may attend nowhere.
KNOWN = torch.tensor(
    [
        [1.00, 0.00, 0.00, 0.00],
        [0.50, 0.50, 0.00, 0.00],
        [0.25, 0.25, 0.50, 0.00],
        [0.00, 0.00, 0.00, 0.00],
    ]
)
ROWS: dict[str, Callable[[Tensor], Tensor]] = {
    "entropy": statistics.entropy,
    "entropy_share": statistics.entropy_share,
    "effective_tokens": statistics.effective_tokens,
    "mean_distance": statistics.mean_distance,
    "sink_mass": statistics.sink_mass,
    "previous_token_mass": statistics.previous_token_mass,
}


def draw(leading: list[int], n_query: int, n_key: int, seed: int, dtype: torch.dtype) -> Tensor:
    """Weights of rows that sum to 1, a few of them 0, some weights 0."""
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(*leading, n_query, n_key, dtype=torch.float64, generator=generator)
    hidden = torch.rand(scores.shape, generator=generator) < 0.3
    return torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).nan_to_num(0).to(dtype)


def rows(weights: Tensor) -> list[tuple[int, list[float]]]:
    """Every row of every map with its number s."""
    flat = weights.double().flatten(end_dim=-2).tolist()
    return [(i % weights.shape[-2], row) for i, row in enumerate(flat)]


def assert_rows(actual: Tensor, weights: Tensor, expected: list[float]) -> None:
    """The statistic has the shape, dtype and values of one number a row."""
    assert actual.shape == weights.shape[:-1]
    assert actual.dtype == weights.dtype
    tolerance = TOLERANCE[weights.dtype]
    assert actual.double().flatten().tolist() == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("entropy", [0, LN2, 1.5 * LN2, 0]),
        ("entropy_share", [0, 1 / 2, 3 / 4, 0]),
        ("effective_tokens", [1, 2, 2 * math.sqrt(2), 0]),
        ("mean_distance", [0, 0.5, 0.75, 0]),  # the third row: 0.25 * 2 + 0.25 * 1
        ("sink_mass", [1, 0.5, 0.25, 0]),
        ("previous_token_mass", [0, 0.5, 0.25, 0]),
    ],
)
def test_known_map(name: str, expected: list[float]) -> None:
    assert ROWS[name](KNOWN).tolist() == pytest.approx(expected, abs=1e-6)


def test_known_map_with_its_mask() -> None:
    share = [0, 1, 1.5 * LN2 / math.log(3), 0]
    causal = masks.causal(4, 4)
    added = torch.zeros(4, 4).masked_fill(~causal, -math.inf)
    lowest = torch.zeros(4, 4).masked_fill(~causal, torch.finfo(torch.float32).min)
    for mask in (causal, added, lowest):
        assert statistics.entropy_share(KNOWN, mask).tolist() == pytest.approx(share, abs=1e-6)


def test_known_map_of_cached_keys() -> None:
    weights = torch.tensor([[0.0, 0.5, 0.25, 0.25, 0.0], [0.5, 0.0, 0.0, 0.0, 0.5]])  # tokens 3 and 4 of 5
    assert statistics.mean_distance(weights, offset=3).tolist() == [0.5 * 2 + 0.25 * 1, 0.5 * 4]
    assert statistics.previous_token_mass(weights, offset=3).tolist() == [0.25, 0.0]
    assert statistics.previous_token_mass(weights, offset=2).tolist() == [0.5, 0.0]
    assert statistics.previous_token_mass(weights, offset=-1).tolist() == [0.0, 0.0]  # none has a previous key
    assert statistics.previous_token_mass(weights, offset=5).tolist() == [0.0, 0.0]  # key 4, then key 5: none


def test_sink_of_several_first_keys() -> None:
    assert statistics.sink_mass(KNOWN, 2).tolist() == [1, 1, 0.5, 0]
    assert statistics.sink_mass(KNOWN, 9).tolist() == KNOWN.sum(dim=-1).tolist()


@QUICK
@given(leading=LEADING, n_query=SIZES, n_key=SIZES, seed=SEEDS, dtype=DTYPES)
def test_entropy_is_its_sum(leading: list[int], n_query: int, n_key: int, seed: int, dtype: torch.dtype) -> None:
    weights = draw(leading, n_query, n_key, seed, dtype)
    nats = [sum(-a * math.log(a) for a in row if a) for _, row in rows(weights)]
    assert_rows(statistics.entropy(weights), weights, nats)
    highest = math.log(n_key) if n_key > 1 else math.inf
    assert_rows(statistics.entropy_share(weights), weights, [nat / highest for nat in nats])
    read = [math.exp(nat) * any(row) for nat, (_, row) in zip(nats, rows(weights), strict=True)]
    assert_rows(statistics.effective_tokens(weights), weights, read)


SHAPES = [(), (5,), (1,), (4, 5), (4, 1), (1, 5), (3, 1, 5), (2, 1, 1, 5), (2, 3, 4, 5)]


@QUICK
@given(seed=SEEDS, shape=st.sampled_from(SHAPES))
def test_share_counts_the_keys_that_the_mask_shows(seed: int, shape: tuple[int, ...]) -> None:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    weights = draw([2, 3], 4, 5, seed, torch.float64) * mask
    n_seen = [sum(row) for _, row in rows(mask.expand(2, 3, 4, 5))]
    nats = statistics.entropy(weights).flatten().tolist()
    share = [nat / math.log(n) if n > 1 else 0.0 for nat, n in zip(nats, n_seen, strict=True)]
    assert_rows(statistics.entropy_share(weights, mask), weights, share)
    floating = torch.zeros(shape).masked_fill(~mask, -math.inf)
    assert torch.equal(statistics.entropy_share(weights, floating), statistics.entropy_share(weights, mask))


@QUICK
@given(leading=LEADING, n_query=SIZES, n_key=SIZES, seed=SEEDS, dtype=DTYPES, offset=OFFSETS, n_first=SIZES)
def test_distance_and_masses_are_their_sums(
    leading: list[int], n_query: int, n_key: int, seed: int, dtype: torch.dtype, offset: int, n_first: int
) -> None:
    weights = draw(leading, n_query, n_key, seed, dtype)
    far = [sum(a * abs(s + offset - u) for u, a in enumerate(row)) for s, row in rows(weights)]
    assert_rows(statistics.mean_distance(weights, offset=offset), weights, far)
    before = [sum(a for u, a in enumerate(row) if u == s + offset - 1) for s, row in rows(weights)]
    assert_rows(statistics.previous_token_mass(weights, offset=offset), weights, before)
    first = [sum(row[:n_first]) for _, row in rows(weights)]
    assert_rows(statistics.sink_mass(weights, n_first), weights, first)


@QUICK
@given(n=st.integers(2, 100), dtype=DTYPES)
def test_even_and_single_rows(n: int, dtype: torch.dtype) -> None:
    even, single = torch.full((1, n), 1 / n, dtype=dtype), torch.eye(n, dtype=dtype)
    # What 1/n loses when it is stored counts n times over.
    tolerance = 8 * torch.finfo(dtype).eps * math.log(n) + 1e-12
    assert statistics.entropy(even).item() == pytest.approx(math.log(n), rel=tolerance)
    assert statistics.entropy_share(even).item() == pytest.approx(1, rel=tolerance)
    assert statistics.effective_tokens(even).item() == pytest.approx(n, rel=tolerance)
    assert torch.equal(statistics.entropy(single), torch.zeros(n, dtype=dtype))
    assert not statistics.entropy(single).signbit().any()  # no -0, which prints as such
    assert torch.equal(statistics.entropy_share(single), torch.zeros(n, dtype=dtype))
    assert torch.equal(statistics.effective_tokens(single), torch.ones(n, dtype=dtype))


@QUICK
@given(n_query=SIZES, n_key=SIZES, seed=SEEDS)
def test_bounds_and_order_of_keys(n_query: int, n_key: int, seed: int) -> None:
    weights = draw([2], n_query, n_key, seed, torch.float64)
    nats, share = statistics.entropy(weights), statistics.entropy_share(weights)
    reads, far = statistics.effective_tokens(weights), statistics.mean_distance(weights)
    some = weights.sum(dim=-1) > 0.5
    assert (nats >= 0).all() and (nats <= math.log(n_key) + 1e-12).all()
    assert (share >= 0).all() and (share <= 1 + 1e-12).all()
    assert (reads >= some.double() - 1e-12).all() and (reads <= n_key * some + 1e-12).all()
    assert (far >= 0).all() and (far <= max(n_query, n_key) - 1 + 1e-12).all()
    order = torch.randperm(n_key, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(statistics.entropy(weights[..., order]), nats, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(name: str, dtype: torch.dtype) -> None:
    weights = draw([2, 3], 50, 400, 0, dtype)
    assert torch.equal(ROWS[name](weights), ROWS[name](weights.float()).to(dtype))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3, 4)])
def test_nothing_to_count_is_0(name: str, shape: tuple[int, ...]) -> None:
    assert torch.equal(ROWS[name](torch.zeros(shape)), torch.zeros(shape[:-1]))


@pytest.mark.parametrize("name", ROWS)
def test_gradient_is_that_of_finite_differences(name: str) -> None:
    weights = torch.softmax(draw([2], 3, 4, 0, torch.float64), dim=-1).requires_grad_()
    assert torch.autograd.gradcheck(ROWS[name], (weights,))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_gradient_is_finite_where_weights_are_0(name: str, dtype: torch.dtype) -> None:
    weights = KNOWN.clone().to(dtype).requires_grad_()
    ROWS[name](weights).sum().backward()
    assert weights.grad is not None and weights.grad.isfinite().all()
    # Through the softmax a hidden key has no slope at all.
    scores = torch.zeros(4, 4, dtype=dtype, requires_grad=True)
    ROWS[name](torch.softmax(scores.masked_fill(~masks.causal(4, 4), -math.inf), dim=-1)).sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert scores.grad[0, 1:].tolist() == [0, 0, 0]


def test_slope_of_the_entropy_at_0_is_that_of_the_smallest_number() -> None:
    weights = torch.tensor([[1.0, 0.0]], requires_grad=True)
    statistics.entropy(weights).sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == [pytest.approx([-1, -math.log(torch.finfo(torch.float32).tiny)])]
