"""Queries, keys and values: what the pages claim of them, through the functions that the pages call."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.experiment import Experiment, Run
from attnviz.figures.panels import matrix
from attnviz.labs import lookup, roles
from attnviz.limits import LIMITS

LOW, HIGH = LIMITS["lookup"].low, LIMITS["lookup"].high
words = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat"]), min_size=1, max_size=12).map(" ".join)
experiments = st.builds(
    Experiment,
    words,
    d_model=st.integers(1, 16),
    d_k=st.integers(1, 16),
    d_v=st.integers(1, 8),
    seed=st.integers(0, 99),
    mask=st.sampled_from(["none", "causal", "window", "prefix"]),
)


def tables(run: Run, *names: str) -> list[Tensor]:
    return [matrix(run, name, 0, 0) for name in names]


# ---- 8: what is V for? ----


@settings(max_examples=20)
@given(experiments)
def test_the_weights_stay_and_the_output_follows_what_stands_for_v(experiment: Experiment) -> None:
    weights, value, key, x, output = tables(experiment.run(), "weights", "value", "key", "x", "output")
    before = weights.clone()
    made = {
        kind: roles.mixed(weights, roles.value_table(kind, value=value, key=key, x=x)) for kind in ("v", "k", "x", "i")
    }
    assert torch.equal(weights, before)
    assert torch.equal(made["i"], weights)  # with V = I the output is the weights, to the last bit
    assert torch.allclose(made["v"], output, atol=1e-6)
    for kind, table in (("k", key), ("x", x)):
        assert made[kind].shape == (len(weights), table.shape[1])
        assert np.allclose(made[kind], weights.double().numpy() @ table.double().numpy(), atol=1e-5)
        assert (made[kind] <= table.max(0).values + 1e-5).all() and (made[kind] >= table.min(0).values - 1e-5).all()


def test_a_row_that_may_attend_nowhere_mixes_nothing() -> None:
    weights = torch.tensor([[0.0, 0.0], [0.5, 0.5]])
    table = roles.value_table("x", value=torch.ones(2, 1), key=torch.ones(2, 3), x=torch.tensor([[2.0], [4.0]]))
    assert roles.mixed(weights, table).tolist() == [[0.0], [3.0]]


# ---- 5 and 6: the map and its transpose ----


@settings(max_examples=20)
@given(experiments)
def test_scores_are_symmetric_when_w_k_is_w_q_but_for_rounding(experiment: Experiment) -> None:
    query, key = tables(experiment.run(), "query", "key")
    tied, free = roles.mirror(query, query), roles.mirror(query, key)
    longest = float(query.norm(dim=-1).max())
    assert tied.most <= 1e-6 * longest**2 * math.sqrt(query.shape[1]) + 1e-12
    for made, by in ((tied, query), (free, key)):
        assert torch.equal(made.transposed, made.scores.mT)
        assert np.allclose(made.scores, query.double().numpy() @ by.double().numpy().T, atol=1e-4)
        assert made.most == float(made.difference[made.at].abs()) == float((made.scores - made.scores.T).abs().max())


def test_the_map_is_not_symmetric_otherwise() -> None:
    query, key = tables(Experiment("the cat sat on the mat").run(), "query", "key")
    made = roles.mirror(query, key)
    s, u = made.at
    assert made.most > 5 and s != u
    one, other = (float(a.double() @ b.double()) for a, b in ((query[s], key[u]), (query[u], key[s])))
    assert float(made.scores[s, u]) == pytest.approx(one) and float(made.transposed[s, u]) == pytest.approx(other)


def test_weights_of_symmetric_scores_are_not_symmetric() -> None:
    (query,) = tables(Experiment("the cat sat").run(), "query")
    weights = torch.softmax(roles.mirror(query, query).scores, -1)
    assert float((weights - weights.mT).abs().max()) > 0.1


# ---- 6 and 25: the diagonal ----


@settings(max_examples=20)
@given(experiments)
def test_who_wins_each_row(experiment: Experiment) -> None:
    query, key, x = tables(experiment.run(), "query", "key", "x")
    for left, right in ((query, key), (query, query), (x, x)):
        made = roles.diagonal(left, right)
        scores = (left.double() @ right.double().mT).tolist()
        for s, row in enumerate(scores):
            others = row[:s] + row[s + 1 :]
            assert float(made.own[s]) == pytest.approx(row[s], abs=1e-4)
            if others and abs(row[s] - max(others)) > 1e-4:
                assert bool(made.wins[s]) == (row[s] > max(others))
                assert row[int(made.at[s])] == pytest.approx(max(others), abs=1e-4)
            elif not others:
                assert made.wins[s] and made.rival[s] == -torch.inf


@settings(max_examples=20)
@given(experiments)
def test_with_w_k_as_w_q_only_a_longer_query_beats_a_token_s_own(experiment: Experiment) -> None:
    (query,) = tables(experiment.run(), "query")
    made = roles.diagonal(query, query)
    lengths = query.norm(dim=-1)
    assert torch.allclose(made.own, lengths**2, atol=1e-4)
    for s in (~made.wins).nonzero().flatten().tolist():
        assert lengths[int(made.at[s])] > lengths[s]


def test_the_diagonal_usually_wins_with_w_k_as_w_q_but_not_always() -> None:
    run = Experiment("the cat sat on the mat").run()
    query, key, x = tables(run, "query", "key", "x")
    own = roles.diagonal(query, query)
    assert own.wins.tolist() == [True, True, False, False, True, True]  # a tie with the same word is no defeat
    assert (run.tokens[0][2], run.tokens[0][int(own.at[2])]) == ("sat", "the")
    assert int(roles.diagonal(query, key).wins.sum()) == 0
    assert int(roles.diagonal(x, x).wins.sum()) == 5  # even X X^T has a longer vector that wins


# ---- 7: why two matrices? ----


@settings(max_examples=20)
@given(experiments)
def test_the_scores_need_no_more_than_the_product_whose_rank_is_at_most_d_k(experiment: Experiment) -> None:
    run = experiment.run()
    x, w_q, w_k, scores = tables(run, "x", "w_q", "w_k", "scores")
    made, m, k = roles.product(x, w_q, w_k), experiment.d_model, experiment.d_k
    assert made.most <= 1e-4
    assert np.allclose(x.double() @ made.product.double() @ x.double().mT, scores, atol=1e-3)
    assert made.rank == np.linalg.matrix_rank(w_q.double().numpy() @ w_k.double().numpy().T) <= min(m, k)
    assert made.singular.shape == (m,)
    # The squares of all singular values add up to the squares of all cells.
    assert float((made.singular**2).sum()) == pytest.approx(float((made.product.double() ** 2).sum()), rel=1e-4)
    assert (made.factored, made.whole) == (w_q.numel() + w_k.numel(), made.product.numel())


def test_two_matrices_are_fewer_numbers_while_d_k_is_under_half_of_d_model() -> None:
    for m, k in ((8, 3), (8, 4), (8, 5), (64, 16)):
        made = roles.product(torch.randn(2, m), torch.randn(m, k), torch.randn(m, k))
        assert (made.factored < made.whole) == (k < m / 2)


def test_matrices_of_zeros_have_no_rank() -> None:
    assert roles.product(torch.ones(1, 3), torch.zeros(3, 2), torch.zeros(3, 2)).rank == 0


# ---- 9: Q = K = V? ----


def test_one_x_makes_three_tables() -> None:
    query, key, value = tables(Experiment("the cat").run(), "query", "key", "value")
    for left, right in ((query, key), (query, value), (key, value)):
        found = roles.largest_difference(left, right)
        assert found is not None and found > 0.1
        assert found == pytest.approx(float(np.abs(left.numpy() - right.numpy()).max()))
    assert roles.largest_difference(query, torch.zeros(2, 7)) is None


# ---- 10: a look-up table ----


@settings(max_examples=40)
@given(st.integers(1, 512), st.data())
def test_cold_it_is_an_exact_look_up_and_hot_it_is_the_mean(n: int, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, n - 1))
    assert lookup.look_up(n, row, LOW).output.tolist() == [[row + 1.0]]
    hot = float(lookup.look_up(n, row, HIGH).output)
    assert hot == pytest.approx((n + 1) / 2, rel=0.01)


@settings(max_examples=40)
@given(st.integers(1, 512), st.floats(LOW, HIGH))
def test_the_formula_is_what_torch_gives(n: int, t: float) -> None:
    expected = math.exp(1 / t - 100) / (math.exp(1 / t - 100) + (n - 1) * math.exp(-100))
    assert float(lookup.weights_by_formula(n, [t])[0]) == pytest.approx(expected)
    assert float(lookup.weights_by_torch(n, [t])[0]) == pytest.approx(expected, rel=1e-4)
    found = lookup.look_up(n, n // 2, t)
    assert float(found.weights[0, n // 2]) == pytest.approx(expected, rel=1e-4)
    assert found.weights.argmax() == n // 2 and float(found.weights.sum()) == pytest.approx(1, abs=1e-5)


def test_the_weight_falls_as_the_temperature_rises_but_not_under_one_nth() -> None:
    at = [LOW * (HIGH / LOW) ** (i / 40) for i in range(41)]
    weights = lookup.weights_by_torch(5, at).tolist()
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0 and 0.2 < weights[-1] < 0.202
