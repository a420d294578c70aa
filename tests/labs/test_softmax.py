"""Softmax: which sums are 1, what dropout does to them, and where the plain formula ends, by the page's functions."""

import math
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.experiment import Experiment
from attnviz.labs.softmax import VISIBLE, Row, dropped, failure, over_axis, row, row_sums

QUICK = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**31 - 1)
SIZES = st.integers(1, 8)
GOLDEN = [[2.0, 2.0, 0.0, 2.0, 2.0, 2.0], [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]]
INF, NAN = math.inf, math.nan
SCORES = torch.tensor([0.5, -1.0, 1.25, 0.0])


def draw(n_query: int, n_key: int, seed: int, hidden: float = 0.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(n_query, n_key, generator=generator)
    return scores.masked_fill(torch.rand(n_query, n_key, generator=generator) < hidden, -INF)


# ---- 4: the axis ----


@QUICK
@given(SIZES, SIZES, SEEDS)
def test_over_u_each_row_sums_to_1_and_over_s_each_column(n_query: int, n_key: int, seed: int) -> None:
    scores = draw(n_query, n_key, seed)
    assert torch.allclose(over_axis(scores, "u").sum(-1), torch.ones(n_query), atol=1e-6)
    assert torch.allclose(over_axis(scores, "s").sum(-2), torch.ones(n_key), atol=1e-6)
    for s in range(n_query):
        exponentials = [math.exp(x) for x in scores[s].tolist()]
        expected = torch.tensor([e / sum(exponentials) for e in exponentials])
        assert torch.allclose(over_axis(scores, "u")[s], expected, atol=1e-6)
    assert torch.allclose(over_axis(scores, "s"), over_axis(scores.mT, "u").mT, atol=1e-6)


@QUICK
@given(SIZES, SIZES, SEEDS)
def test_what_is_wholly_hidden_gets_0_on_either_axis(n_query: int, n_key: int, seed: int) -> None:
    scores = draw(n_query, n_key, seed, hidden=0.6)
    seen = scores > -INF
    assert torch.allclose(over_axis(scores, "u").sum(-1), seen.any(-1).float(), atol=1e-6)
    assert torch.allclose(over_axis(scores, "s").sum(-2), seen.any(-2).float(), atol=1e-6)
    assert not over_axis(scores, "u")[~seen].any() and not over_axis(scores, "s")[~seen].any()


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_over_u_it_is_the_attention_of_the_run_and_over_s_another(mask: str) -> None:
    trace = Experiment("the cat sat on the mat", mask=mask, n_heads=2).run().trace
    assert trace is not None
    assert torch.equal(over_axis(trace.masked, "u"), trace.weights)
    assert (over_axis(trace.masked, "s").sum(-1) - 1).abs().max() > 0.1


# ---- 15: dropout ----


@QUICK
@given(SIZES, SIZES, SEEDS, st.sampled_from([0.1, 0.5, 0.9]))
def test_dropout_drops_a_weight_or_divides_it(n_query: int, n_key: int, seed: int, share: float) -> None:
    weights = torch.softmax(draw(n_query, n_key, seed), dim=-1)
    kept = dropped(weights, share, training=True, seed=seed)
    assert ((kept == 0) | torch.isclose(kept, weights / (1 - share), rtol=1e-6)).all()
    assert torch.equal(kept, dropped(weights, share, training=True, seed=seed))
    assert torch.equal(dropped(weights, share, training=False, seed=seed), weights)
    assert torch.equal(dropped(weights, 0.0, training=True, seed=seed), weights)


def test_rows_sum_to_1_on_average_only() -> None:
    weights = torch.softmax(draw(6, 6, 0), dim=-1)
    sums = torch.stack([dropped(weights, 0.3, training=True, seed=seed).sum(-1) for seed in range(2000)])
    assert ((sums - 1).abs() > 1e-3).float().mean() > 0.9
    assert torch.allclose(sums.mean(0), torch.ones(6), atol=0.04)
    assert not torch.equal(sums[0], sums[1])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_and_the_numbers_kept_are_torchs(share: float) -> None:
    weights = torch.rand(100, 100, generator=torch.Generator().manual_seed(0)) + 0.1
    kept = dropped(weights, share, training=True, seed=1)
    assert float((kept == 0).float().mean()) == pytest.approx(share, abs=0.02)
    by_torch = torch.nn.functional.dropout(weights, share, training=True)
    both = (kept > 0) & (by_torch > 0)
    assert both.any() and torch.allclose(kept[both], by_torch[both], rtol=1e-6)


def test_dropout_takes_nothing_of_the_generator_that_sessions_share() -> None:
    weights, found = torch.ones(30, 30), []
    before = torch.random.get_rng_state()
    threads = [
        threading.Thread(target=lambda: found.append(dropped(weights, 0.5, training=True, seed=3))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert len(found) == 4 and all(torch.equal(found[0], other) for other in found)


def test_dropout_of_golden_weights() -> None:
    """A link shows everywhere which weights it drops."""
    assert dropped(torch.ones(2, 6), 0.5, training=True, seed=0).tolist() == GOLDEN


def test_dropout_keeps_nan() -> None:
    """As torch's own, which multiplies by 0."""
    assert dropped(torch.full((4, 4), NAN), 0.5, training=True, seed=0).isnan().all()


# ---- one row ----


@QUICK
@given(st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8), st.integers(-1000, 1000))
def test_subtracting_the_largest_changes_no_weight(scores: list[float], shift: int) -> None:
    parts = row(torch.tensor(scores), shift)
    exponentials = [math.exp(x - max(scores)) for x in scores]
    expected = torch.tensor([e / sum(exponentials) for e in exponentials])
    assert torch.allclose(parts.weights, expected, atol=1e-4)  # a shift of 1000 leaves the scores four digits fewer
    assert torch.allclose(parts.exponentials / parts.total, parts.weights, atol=1e-6)
    assert float(parts.exponentials.max()) == 1 and 1 <= parts.total <= len(scores)
    assert parts.highest == float(parts.scores.max())


@QUICK
@given(st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8))
def test_where_nothing_overflows_the_plain_formula_is_right(scores: list[float]) -> None:
    parts = row(torch.tensor(scores))
    assert failure(parts) == "" and parts.plain_error < 1e-6
    assert torch.allclose(parts.plain_weights, parts.weights, atol=1e-6)


def plain(parts: Row) -> list[float]:
    return [float(weight) for weight in parts.plain_weights]


def test_overflow_makes_the_plain_formula_nan() -> None:
    parts = row(SCORES, 100)
    assert failure(parts) == "overflow" and parts.plain_exponentials.isinf().all() and parts.plain_weights.isnan().all()
    assert torch.allclose(parts.weights, row(SCORES).weights, atol=1e-5)
    some = row(SCORES, 88.0)  # one of four
    assert failure(some) == "overflow" and some.plain_exponentials.isinf().sum() == 1
    assert [math.isnan(weight) for weight in plain(some)] == [False, False, True, False] and plain(some)[0] == 0


def test_a_sum_that_overflows_makes_every_plain_weight_0() -> None:
    parts = row(torch.tensor([88.5, 88.5]))
    assert failure(parts) == "sum" and parts.plain_exponentials.isfinite().all()
    assert plain(parts) == [0.0, 0.0] and parts.weights.tolist() == [0.5, 0.5]


def test_underflow_divides_0_by_0() -> None:
    parts = row(SCORES, -1000)
    assert failure(parts) == "underflow" and not parts.plain_exponentials.any() and parts.plain_weights.isnan().all()
    assert torch.allclose(parts.weights, row(SCORES).weights, atol=1e-4)


def test_before_that_digits_are_lost() -> None:
    parts = row(SCORES, -100)
    assert failure(parts) == "digits" and VISIBLE <= parts.plain_error < 0.1
    assert failure(row(SCORES, -80)) == "" and failure(row(SCORES, 80)) == ""


@pytest.mark.parametrize("shift", [0, 100, -1000])
def test_a_row_that_is_wholly_hidden_is_0(shift: int) -> None:
    parts = row(torch.full((3,), -INF), shift)
    assert failure(parts) == "hidden" and parts.plain_weights.isnan().all()
    assert not parts.weights.any() and not parts.exponentials.any() and parts.total == 0


@pytest.mark.parametrize("score", [INF, NAN])
def test_an_infinite_score_is_beyond_both_formulas(score: float) -> None:
    parts = row(torch.tensor([score, 0.0, -INF]))
    assert failure(parts) == "infinite" and parts.weights.isnan().all()


def test_what_is_hidden_stays_0_however_far_the_row_is_shifted() -> None:
    for shift in (-1000, -100, 0, 100, 1000):
        assert float(row(torch.tensor([0.0, -INF, 1.0]), shift).weights[1]) == 0


def test_the_sums_of_rows_leave_out_padding_and_rows_that_attend_nowhere() -> None:
    masked = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    masked[0] = -torch.inf
    other, attention = over_axis(masked, "s"), over_axis(masked, "u")
    counted = [sum(line) for line in other.tolist()[1:4]]
    assert row_sums(other, attention, 4) == pytest.approx((min(counted), max(counted)))
    assert row_sums(other, attention, 1) == (0.0, 0.0)  # the one row attends nowhere
    assert row_sums(attention, attention, 5) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize("shift", [0.0, -100.0, 1000.0])
def test_a_row_says_the_sum_of_the_plain_formula_and_how_far_it_is_off(shift: float) -> None:
    parts = row(torch.tensor([0.5, -0.25, 2.0]), shift)
    plain = [math.exp(x) if x < 88 else math.inf for x in (0.5 + shift, -0.25 + shift, 2.0 + shift)]
    assert parts.plain_total == pytest.approx(sum(plain), rel=0.01, abs=0)
    off = (parts.plain_weights - parts.weights).abs().max()
    assert parts.plain_error == pytest.approx(float(off), nan_ok=True)
    assert math.isnan(parts.plain_error) is (shift == 1000.0)
