"""What the output loses without an edge: every edge at once as one by one, and weights that mislead."""

import math

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.attention import attention
from attnviz.core.masks import causal
from attnviz.core.statistics import contribution
from attnviz.labs.proof import along, by_weight, knock_out, misled, movement, rank_correlation, ranking, ranks

INF = math.inf


def drawn(n: int, seed: int, sharp: float = 1.0, d: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of n tokens; the scores are the larger the sharper."""
    g = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(n, size, generator=g) for size in (4, 4, d))
    return query * sharp, key, value


sequences = st.tuples(st.integers(1, 7), st.integers(0, 999), st.sampled_from([0.1, 1.0, 30.0]))


@given(sequences, st.booleans(), st.data())
@settings(max_examples=25)
def test_knocked_out_is_masked_and_shared_out_anew(
    of: tuple[int, int, float], is_causal: bool, data: st.DataObject
) -> None:
    query, key, value = drawn(*of)
    n = len(query)
    mask = causal(n, n) if is_causal else torch.ones(n, n, dtype=torch.bool)
    trace = attention(query, key, value, mask=mask)
    s, u = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    for what in ("edge", "token"):
        kept = mask.clone()
        if what == "edge":
            kept[s, u] = False
        else:
            kept[:, u] = False
        expected = attention(query, key, value, mask=kept)
        found = knock_out(trace.masked, value, s, u, what)
        torch.testing.assert_close(found.weights, expected.weights)
        torch.testing.assert_close(found.output, expected.output)
        torch.testing.assert_close(found.moved, (expected.output - trace.output).norm(dim=-1), rtol=1e-4, atol=1e-5)
        if what == "edge":
            others = torch.arange(n) != s
            assert found.moved[others].max() == 0 if n > 1 else True


@given(sequences, st.booleans())
@settings(max_examples=25)
def test_every_edge_at_once_is_every_edge_one_by_one(of: tuple[int, int, float], is_causal: bool) -> None:
    query, key, value = (x.double() for x in drawn(*of))
    n = len(query)
    masked = attention(query, key, value, mask=causal(n, n) if is_causal else None).masked
    found = movement(masked, value)
    assert found.shape == (n, n) and found.dtype == torch.float32
    one_by_one = torch.stack(
        [torch.stack([knock_out(masked, value, s, u, "edge").moved[s] for u in range(n)]) for s in range(n)]
    )
    torch.testing.assert_close(found.double(), one_by_one, rtol=1e-5, atol=1e-9)


def test_the_law_that_the_page_states() -> None:
    query, key, value = (x.double() for x in drawn(6, 3))
    trace = attention(query, key, value)
    for s in range(6):
        for u in range(6):
            a, o = trace.weights[s, u], trace.output[s]
            law = a / (1 - a) * (value[u] - o).norm()
            assert float(movement(trace.masked, value)[s, u]) == pytest.approx(float(law), rel=1e-5)


def test_a_weight_of_all_but_one_keeps_its_digits() -> None:
    masked, value = torch.tensor([[60.0, 0.0, 0.0]]), torch.tensor([[5.0], [1.0], [3.0]])
    assert movement(masked, value).tolist()[0] == pytest.approx([3.0, 0.0, 0.0], abs=1e-6)


def test_without_its_only_key_a_row_is_zero() -> None:
    masked, value = torch.tensor([[1.0, -INF], [-INF, -INF]]), torch.tensor([[3.0, 4.0], [1.0, 1.0]])
    assert movement(masked, value).tolist() == [[5.0, 0.0], [0.0, 0.0]]
    after = knock_out(masked, value, 0, 0, "edge")
    assert after.weights.tolist() == after.output.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert after.moved.tolist() == [5.0, 0.0]
    assert knock_out(masked, value, 0, 1, "edge").moved.tolist() == [0.0, 0.0]  # hidden already


def test_a_high_weight_on_the_mean_value_moves_nothing() -> None:
    masked = torch.tensor([[2.0, 0.0, 0.0]])
    value = torch.tensor([[0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    weights, moved = torch.softmax(masked, -1), movement(masked, value)
    assert int(weights.argmax()) == 0 and float(moved[0, 0]) == pytest.approx(0.0, abs=1e-7)
    assert misled(weights, moved).tolist() == [True]
    assert rank_correlation(weights[0], moved[0]) == pytest.approx(-1.0)


def test_a_tie_of_the_highest_weights_does_not_mislead() -> None:
    weights = torch.tensor([[0.4, 0.4 + 1e-8, 0.2], [0.0, 0.0, 0.0]])
    assert misled(weights, torch.tensor([[2.0, 1.0, 0.5], [0.0, 0.0, 0.0]])).tolist() == [False, False]
    assert misled(weights, torch.tensor([[0.1, 0.2, 0.5], [0.0, 0.0, 0.0]])).tolist() == [True, False]


@given(st.integers(1, 7), st.integers(0, 99))
def test_what_reaches_along_the_output_sums_to_its_length(n: int, seed: int) -> None:
    query, key, value = drawn(n, seed)
    trace = attention(query, key, value, mask=causal(n, n))
    reach = along(trace.weights, value)
    torch.testing.assert_close(reach.sum(-1), trace.output.norm(dim=-1))
    assert (reach <= contribution(trace.weights, value) + 1e-5).all()


def test_of_no_output_nothing_reaches_along_it() -> None:
    assert along(torch.tensor([[0.5, 0.5], [0.0, 0.0]]), torch.tensor([[1.0], [-1.0]])).tolist() == [[0, 0], [0, 0]]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=9))
@settings(max_examples=25)
def test_the_rank_correlation_is_spearmans(pairs: list[tuple[int, int]]) -> None:
    x, y = torch.tensor(pairs, dtype=torch.float32).T
    found = rank_correlation(x, y)
    expected = pd.DataFrame({"x": x.tolist(), "y": y.tolist()}).corr(method="spearman").loc["x", "y"]
    if pd.isna(expected):
        assert found is None
    else:
        assert found == pytest.approx(float(expected), abs=1e-9)
    assert ranks(x).tolist() == pd.Series(x.tolist()).rank().tolist()


def test_there_is_no_rank_correlation_of_nothing_to_compare() -> None:
    one, same, broken = torch.tensor([1.0]), torch.tensor([2.0, 2.0]), torch.tensor([1.0, math.nan])
    assert rank_correlation(one, one) is rank_correlation(same, torch.tensor([1.0, 2.0])) is None
    assert rank_correlation(broken, torch.tensor([1.0, 2.0])) is rank_correlation(same[:0], same[:0]) is None


def test_the_keys_of_a_row_stand_by_their_weight_and_hidden_ones_are_left_out() -> None:
    masked = torch.tensor([[0.0, -INF, 2.0, 0.0, -200.0], [-INF] * 5])
    weights = torch.softmax(masked, dim=-1).nan_to_num(0)
    assert by_weight(masked, weights, 0).tolist() == [2, 0, 3, 4]  # the last is seen, though its weight is 0
    assert by_weight(masked, weights, 1).tolist() == []


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=8), st.data())
@settings(max_examples=30)
def test_a_ranking_is_that_of_pandas(values: list[float], data: st.DataObject) -> None:
    shown = data.draw(st.permutations(range(len(values))))[: data.draw(st.integers(1, len(values)))]
    statistics = [torch.tensor(values), torch.tensor(values).flip(0) * 3]
    made = ranking(statistics, torch.tensor(shown))
    for one, picked, ranked in zip(statistics, made.values, made.ranks, strict=True):
        expected = pd.Series([float(one[i]) for i in shown])
        assert picked.tolist() == expected.tolist()
        assert ranked.tolist() == expected.rank(ascending=False).tolist()
