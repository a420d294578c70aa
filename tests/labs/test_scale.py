"""Scale: the spread of scores grows as sqrt(d_k), and what that does to the softmax, by the page's own functions."""

import math
import os
import statistics
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.drawing import write_drawing
from attnviz.experiment import Experiment
from attnviz.labs import scale
from attnviz.labs.scale import (
    SCALINGS,
    SHARES,
    SIZES,
    averages,
    by_each,
    drawn,
    factors,
    gradient,
    histogram,
    n_rows,
    own,
    rows,
)
from attnviz.limits import LIMITS

QUICK = settings(max_examples=40, deadline=None)
NONE, SQRT, D_K = range(3)
LOW, MIDDLE, HIGH = range(3)
# Of rows of 3 keys, d_k = 1 (one product, which rounds alike everywhere), seed 5: a link shows the same everywhere.
GOLDEN = [
    [-0.21829507426364675, 0.5479070222037332, 0.665902036563292],
    [-0.39268453808234494, 0.9856137004094387, 1.1978714339661838],
]


def softmax_of(scores: list[float]) -> torch.Tensor:
    return torch.softmax(torch.tensor(scores, dtype=torch.float64), dim=-1)


# ---- the gradient ----


@QUICK
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_the_gradient_is_the_norm_of_autograds_jacobian(scores: list[float]) -> None:
    x = torch.tensor(scores, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, dim=-1), x)  # (u, u)
    assert float(gradient(softmax_of(scores))) == pytest.approx(float(jacobian.norm()), rel=1e-12, abs=1e-15)


@QUICK
@given(st.lists(st.floats(-30, 30), min_size=1, max_size=6))
def test_the_gradient_keeps_its_digits_where_one_weight_is_almost_1(scores: list[float]) -> None:
    with localcontext(prec=80):
        exponentials = [Decimal(score).exp() for score in scores]
        a = [e / sum(exponentials) for e in exponentials]
        entries = [a_i * ((i == j) - a_j) for i, a_i in enumerate(a) for j, a_j in enumerate(a)]
        norm = sum((entry * entry for entry in entries), Decimal(0)).sqrt()
    assert float(gradient(softmax_of(scores))) == pytest.approx(float(norm), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("n", [1, 2, 6, 100])
def test_the_gradient_of_even_weights_of_one_key_and_of_none(n: int) -> None:
    assert float(gradient(torch.full((n,), 1 / n))) == pytest.approx(math.sqrt(n - 1) / n, abs=1e-6)
    assert gradient(torch.eye(n)).tolist() == [0.0] * n
    assert gradient(torch.zeros(2, n)).tolist() == [0.0, 0.0]


# ---- what the page claims ----


@pytest.mark.parametrize("n_keys", [2, 6, 24])
@pytest.mark.parametrize("seed", [0, 7])
def test_scores_spread_as_the_root_of_d_k(n_keys: int, seed: int) -> None:
    spread = averages(n_keys, 2000, seed).spread
    roots = torch.tensor(SIZES, dtype=torch.float64).sqrt()
    assert torch.allclose(spread[NONE], roots, rtol=0.1)
    assert torch.allclose(spread[SQRT], torch.ones(len(SIZES), dtype=torch.float64), rtol=0.1)
    assert torch.allclose(spread[D_K], 1 / roots, rtol=0.1)


@pytest.mark.parametrize("n_keys", [2, 6, 24, 100, 512])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_large_d_k_settles_a_row_unscaled_and_flattens_it_by_d_k(n_keys: int, seed: int) -> None:
    made = averages(n_keys, 200, seed)
    largest, slope, spread = made.largest[MIDDLE, :, -1], made.gradient[MIDDLE, :, -1], made.entropy[MIDDLE, :, -1]
    assert largest[NONE] > 0.97
    assert largest[D_K] < 1.2 / n_keys
    assert largest[D_K] < largest[SQRT] < largest[NONE]
    assert slope[NONE] < 0.02 and slope[NONE] < slope[SQRT] / 5
    assert spread[NONE] < 0.1 and spread[D_K] > 0.99 * math.log(n_keys) and spread[NONE] < spread[SQRT] < spread[D_K]


def test_by_the_root_nothing_changes_with_d_k() -> None:
    made = averages(6, 2000, 0)
    for statistic in (made.largest, made.entropy, made.gradient):
        by_root = statistic[MIDDLE, SQRT, 2:]
        assert by_root.max() - by_root.min() < 0.1 * by_root.mean()


def test_at_d_k_1_all_scalings_are_one() -> None:
    made = averages(6, 200, 0)
    assert made.spread[:, 0].unique().numel() == 1
    assert all((s[:, NONE, 0] == s[:, SQRT, 0]).all() and (s[:, NONE, 0] == s[:, D_K, 0]).all() for s in made[1:])


# ---- what is drawn ----


def test_the_drawn_scores_are_dot_products_of_standard_normal_numbers() -> None:
    query, key = scale._vectors(5, 100, 3)
    scores = drawn(7, 5, 98, seed=3)
    assert scores.shape == (98, 5) and scores.dtype == torch.float64
    for row, u in ((0, 0), (4, 3), (5, 0), (97, 4)):
        of_query, of_key = query[row // 5, row % 5].tolist(), key[row // 5, u].tolist()
        expected = sum(a * b for a, b in zip(of_query[:7], of_key[:7], strict=True))
        assert float(scores[row, u]) == pytest.approx(expected, abs=1e-12)
    for vectors in (query, key):
        assert float(vectors.mean()) == pytest.approx(0, abs=0.02)
        assert float(vectors.std()) == pytest.approx(1, abs=0.02)
    assert abs(float((query * key).mean())) < 0.02


def test_more_draws_begin_with_the_fewer_and_seeds_differ() -> None:
    assert torch.equal(drawn(64, 6, 500, 0)[:37], drawn(64, 6, 37, 0))
    assert not torch.equal(drawn(64, 6, 20, 0), drawn(64, 6, 20, 1))
    assert drawn(4, 3, 10, 2**31 - 1).isfinite().all()


def test_of_many_keys_fewer_rows_are_drawn() -> None:
    assert n_rows(6, 200) == 200 and n_rows(100, 2000) == 2000
    assert n_rows(512, 2000) * 512 <= scale.MOST and drawn(8, 512, 2000, 0).shape == (n_rows(512, 2000), 512)


def test_golden_values() -> None:
    assert drawn(1, 3, 2, seed=5).tolist() == GOLDEN


def test_golden_values_on_the_plainest_cpu_kernels() -> None:
    code = "from attnviz.labs.scale import drawn; print(drawn(1, 3, 2, seed=5).tolist())"
    path = os.pathsep.join([str(Path.cwd()), *sys.path])
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True).stdout
    assert printed.strip() == str(GOLDEN)


def test_the_curves_are_quantiles_of_the_rows() -> None:
    made = averages(6, 90, 4, temperature=2.0)
    for size, scaling in ((3, SQRT), (9, NONE), (5, D_K)):
        scores = drawn(SIZES[size], 6, 90, 4).numpy() * float(factors(SIZES[size])[scaling]) / 2
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        entropies = -(weights * np.log(weights)).sum(-1)
        assert np.allclose(made.largest[:, scaling, size], np.quantile(weights.max(-1), SHARES))
        assert np.allclose(made.entropy[:, scaling, size], np.quantile(entropies, SHARES))
        assert float(made.spread[scaling, size]) == pytest.approx(float(scores.std()))
    assert (made.largest[LOW] <= made.largest[MIDDLE]).all() and (made.largest[MIDDLE] <= made.largest[HIGH]).all()


def test_the_factors() -> None:
    assert factors(9, 2.0).tolist() == pytest.approx([0.5, 1 / 6, 1 / 18])
    assert len(factors(9)) == len(SCALINGS)


@QUICK
@given(st.lists(st.floats(-4, 4), min_size=1, max_size=30))
def test_a_histogram_counts_each_value_once(values: list[float]) -> None:
    middles, shares = histogram(torch.tensor(values, dtype=torch.float64), -4, 4, 8)
    counts = [sum(-4 + i <= v < -3 + i or (i == 7 and v == 4) for v in values) for i in range(8)]
    assert (shares * len(values)).round().tolist() == counts
    assert middles.tolist() == [i - 3.5 for i in range(8)]


# ---- the reader's own row ----


@pytest.mark.parametrize("chosen", SCALINGS)
def test_the_own_row_is_the_row_of_the_run(chosen: str) -> None:
    drawing = write_drawing([[s >= u for u in range(6)] for s in range(6)])
    experiment = Experiment(
        "the cat sat on the mat\na", d_k=5, scale=chosen, temperature=1.5, mask="drawn", drawn=drawing, n_heads=2
    )
    run = experiment.run()
    assert run.trace is not None and run.mask is not None
    for b, h, s in ((0, 0, 5), (0, 1, 2), (1, 1, 0)):
        mine = own(run.trace.scores[b, h, s], 5, seen=run.mask[b, 0, s], temperature=1.5)
        at = SCALINGS.index(chosen)
        weights, masked = run.trace.weights[b, h, s], run.trace.masked[b, h, s]
        assert float(mine.largest[at]) == float(weights.max())
        assert float(mine.entropy[at]) == pytest.approx(-sum(a * math.log(a) for a in weights.tolist() if a), abs=1e-5)
        seen = [score for score in masked.tolist() if score > -math.inf]
        assert float(mine.spread[at]) == pytest.approx(statistics.pstdev(seen), abs=1e-6)
        jacobian = weights.diag() - weights.outer(weights)
        assert float(mine.gradient[at]) == pytest.approx(float(jacobian.norm()), abs=1e-6)


def test_a_row_of_one_key_of_none_and_of_numbers_that_are_none() -> None:
    scores = torch.tensor([3.0, -1.0])
    alone = own(scores, 4, seen=torch.tensor([True, False]))
    assert [part.tolist() for part in alone] == [[0.0] * 3, [1.0] * 3, [0.0] * 3, [0.0] * 3]
    nowhere = own(scores, 4, seen=torch.tensor([False, False]))
    assert [part.tolist() for part in nowhere] == [[0.0] * 3] * 4
    assert own(torch.tensor([math.inf, 0.0]), 4).largest.isnan().all()
    hidden = own(torch.tensor([math.nan, 1.0, 3.0]), 1, seen=torch.tensor([False, True, True]))
    assert hidden.spread.tolist() == [1.0] * 3 and hidden.largest.isfinite().all()


def test_rows_take_any_leading_axes() -> None:
    scaled = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    whole = rows(scaled)
    for name, part in whole._asdict().items():
        assert part.shape == (2, 3, 4)
        assert torch.allclose(part[1, 2], getattr(rows(scaled[1, 2]), name))


def test_each_scaling_is_one_product_in_the_dtype_of_the_scores() -> None:
    scores = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    made = by_each(scores, 9, temperature=2.0)
    assert made.shape == (len(SCALINGS), 2, 3, 5) and made.dtype == scores.dtype
    for one, divisor in zip(made, (2, 2 * 3, 2 * 9), strict=True):
        torch.testing.assert_close(one, scores / divisor)
    assert by_each(scores.double(), 9).dtype == torch.float64


def test_as_many_features_are_drawn_as_a_link_may_ask_for() -> None:
    assert LIMITS["draw_d_k"].high == SIZES[-1]
