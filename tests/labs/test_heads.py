"""Heads: three ways to split that agree and one that does not, shared keys, a second text, and flat means."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.attention import AttentionTrace, attention
from attnviz.core.masks import causal
from attnviz.core.rotary import Rotary
from attnviz.core.statistics import effective_tokens, entropy
from attnviz.experiment import Experiment
from attnviz.labs.heads import apart, averaged, by_view, came_from, cross, cut, one_by_one, one_einsum, opposite
from attnviz.labs.heads_shared import cache_bytes, counts, moved, reads, share, shared, to_front
from attnviz.labs.sizes import Sizes, costs

INF = math.inf
sizes = st.tuples(*[st.integers(1, 6)] * 4)  # s, m, h, k


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---- question 19: split the vector, or separate matrices ----


@given(sizes, st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=40)
def test_cut_one_einsum_and_a_matrix_a_head_are_the_same(of: tuple[int, int, int, int], b: int, seed: int) -> None:
    s, m, h, k = of
    x, weight = drawn(b, s, m, seed=seed), drawn(m, h * k, seed=seed + 1)
    wide, cols = x.numpy().astype("f8"), weight.numpy().astype("f8")
    expected = np.stack([wide @ cols[:, i * k : (i + 1) * k] for i in range(h)], axis=1)  # (b, h, s, k)
    for way in (cut, one_einsum, one_by_one):
        found = way(x, weight, h)
        assert found.shape == (b, h, s, k)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)
        assert apart(found, cut(x, weight, h)) < 1e-5


@given(sizes, st.integers(1, 3))
@settings(max_examples=40)
def test_a_view_without_the_transpose_takes_its_rows_from_other_tokens(of: tuple[int, int, int, int], b: int) -> None:
    s, _m, h, k = of
    q = torch.arange(b * s * h * k).view(b, s, h * k)  # each number tells where it stood
    wrong, source = by_view(q, h), came_from(s, h)
    assert wrong.shape == (b, h, s, k) and source.shape == (h, s)
    assert torch.equal(wrong % (s * h * k) // (h * k), source[None, :, :, None].expand(b, h, s, k))
    right = q.unflatten(-1, (h, k)).transpose(1, 2)
    assert torch.equal(wrong, right) == (h == 1 or s == 1)  # why one head, or one token, does not show the mistake


def test_a_head_of_the_view_sees_a_few_tokens_only() -> None:
    assert came_from(6, 8)[0].tolist() == [0] * 6
    assert came_from(6, 2).tolist() == [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]


def test_what_is_infinite_in_both_does_not_differ() -> None:
    assert apart(torch.tensor([INF, -INF, 2.0]), torch.tensor([INF, -INF, 2.0])) == 0
    assert apart(torch.tensor([INF]), torch.tensor([-INF])) == INF


# ---- question 26: shared key-value heads ----


def layer(h: int, n: int = 5, k: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return drawn(h, n, k, seed=seed), drawn(h, n, k, seed=seed + 1), drawn(h, n, 2, seed=seed + 2)


@pytest.mark.parametrize("how", ["mean", "first"])
@pytest.mark.parametrize("h", [1, 2, 6, 8])
def test_shared_heads_are_what_each_query_head_reads_by_itself(h: int, how: str) -> None:
    query, key, value = layer(h)
    mask = causal(5, 5)
    own = shared(query, key, value, h, how, mask=mask)
    torch.testing.assert_close(own.weights, attention(query, key, value, mask=mask).weights)
    assert moved(own, own)[:2] == (0, 0)
    for n_kv in counts(h):
        now, size = shared(query, key, value, n_kv, how, mask=mask), h // n_kv
        assert now.key.shape == (n_kv, 5, 3) and now.value.shape == (n_kv, 5, 2)
        picture = reads(h, n_kv)
        assert picture.shape == (h, n_kv) and picture.sum(-1).eq(1).all() and picture.sum(0).eq(size).all()
        for i in range(h):
            group = key[i // size * size : i // size * size + size]
            assert bool(picture[i, i // size])
            one = group.mean(0) if how == "mean" else group[0]
            torch.testing.assert_close(now.weights[i], attention(query[i], one, one, mask=mask).weights)
        change = (now.weights - own.weights).abs()
        found = moved(own, now)
        assert found.most == pytest.approx(float(change.max()))
        assert found.mean == pytest.approx(float(change[:, mask].mean()), abs=1e-7)
        torch.testing.assert_close(found.by_head, change[:, mask].mean(-1))
        if how == "first":
            assert found.by_head[::size].max() == 0  # who keeps its own keys does not move
        assert (found.most == 0) == (size == 1)


def test_counts_are_the_divisors_from_all_to_one() -> None:
    assert [counts(h) for h in (1, 2, 3, 4, 5, 6, 8)] == [
        *[(1,), (2, 1), (3, 1), (4, 2, 1), (5, 1), (6, 3, 2, 1)],
        (8, 4, 2, 1),
    ]


@pytest.mark.parametrize("n_kv", [1, 2, 4])
def test_a_grouped_layer_made_longer_is_itself_again_when_the_first_of_each_group_is_kept(n_kv: int) -> None:
    grouped = Experiment("the cat sat on the mat", n_heads=4, n_kv_heads=n_kv).run().trace
    whole = Experiment("the cat sat on the mat", n_heads=4).run().trace
    assert grouped is not None and whole is not None
    key, value = (to_front(one[0], n_kv) for one in (whole.key, whole.value))
    torch.testing.assert_close(share(key, n_kv, "first"), grouped.key[0])
    again = shared(whole.query[0], key, value, n_kv, "first")
    torch.testing.assert_close(again.weights, grouped.weights[0])
    torch.testing.assert_close(again.output, grouped.output[0])


def test_the_cache_shrinks_with_the_heads_and_the_scores_cost_the_same() -> None:
    of = {n: Sizes(d_model=8, d_k=4, d_v=3, n_heads=8, n_kv_heads=n) for n in counts(8)}
    for n in (6, 4096):
        key, value = torch.empty(8, n, 4), torch.empty(8, n, 3)
        assert cache_bytes(of[8], n) == sum(t.numel() * t.element_size() for t in (key, value))
        assert [cache_bytes(one, n) * 8 // n_kv for n_kv, one in of.items()] == [cache_bytes(of[8], n)] * 4
    assert len({cost.multiplications for one in of.values() for cost in costs(one, 6) if cost.step == "scores"}) == 1


def test_heads_with_the_same_keys_have_different_maps() -> None:
    now = shared(*layer(8), 1, "mean")
    assert float((now.weights[0] - now.weights[1]).abs().max()) > 0.1


def test_a_row_that_sees_nothing_does_not_spoil_the_mean() -> None:
    query, key, value = layer(2)
    mask = torch.zeros(5, 5, dtype=torch.bool)
    found = moved(*(shared(query, key, value, n, "mean", mask=mask) for n in (2, 1)))
    assert found.most == found.mean == 0 and found.by_head.tolist() == [0, 0]


# ---- question 21: cross-attention ----


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([(1, 1), (4, 2), (4, 4), (2, 1)]), st.booleans())
@settings(max_examples=30)
def test_queries_come_from_the_one_text_and_keys_and_values_from_the_other(
    s: int, u: int, heads: tuple[int, int], rotated: bool
) -> None:
    h, n_kv = heads
    x, context = drawn(s, 5, seed=s), drawn(u, 5, seed=u + 50)
    w_q, w_k, w_v = drawn(5, h * 4, seed=1), drawn(5, n_kv * 4, seed=2), drawn(5, n_kv * 3, seed=3)

    def run(x: torch.Tensor, context: torch.Tensor) -> AttentionTrace:
        rotary = Rotary() if rotated else None
        weights = {"w_q": w_q, "w_k": w_k, "w_v": w_v}
        return cross(x, context, **weights, n_heads=h, n_kv_heads=n_kv, scale=0.5, rotary=rotary)

    trace = run(x, context)
    assert trace.weights.shape == (h, s, u) and trace.output.shape == (h, s, 3)
    torch.testing.assert_close(trace.weights.sum(-1), torch.ones(h, s))
    another = run(x, drawn(u + 1, 5, seed=9))
    assert torch.equal(another.query, trace.query), "the second text has no part in Q"
    other = run(drawn(s + 2, 5, seed=8), context)
    assert torch.equal(other.key, trace.key) and torch.equal(other.value, trace.value)
    if not rotated:
        for i in range(h):
            kv, q = i * n_kv // h, x @ w_q[:, i * 4 : i * 4 + 4]
            k, v = context @ w_k[:, kv * 4 : kv * 4 + 4], context @ w_v[:, kv * 3 : kv * 3 + 3]
            expected = torch.softmax(q @ k.T * 0.5, -1)
            torch.testing.assert_close(trace.weights[i], expected, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(trace.output[i], expected @ v, rtol=1e-4, atol=1e-5)


def test_a_text_that_reads_itself_is_self_attention() -> None:
    run = Experiment("the cat sat", n_heads=2, positions="rope_half").run()
    trace, x = run.trace, run.x[0]
    assert trace is not None
    weights = {"w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v}
    found = cross(x, x, **weights, n_heads=2, n_kv_heads=2, scale=run.scale, rotary=run.rotary)
    torch.testing.assert_close(found.weights, trace.weights[0])


# ---- question 23: averages ----


@given(st.integers(1, 9), st.sampled_from([0.0, 0.5, 3.0, 10.0, 200.0]), st.booleans(), st.integers(0, 99))
@settings(max_examples=60)
def test_two_opposite_heads_average_to_a_flat_map(n: int, sharpness: float, is_causal: bool, seed: int) -> None:
    masked = drawn(n, n, seed=seed)
    if is_causal:
        masked = masked.masked_fill(~causal(n, n), -INF)
    two, seen = opposite(masked, sharpness), ~masked.isneginf()
    flat = seen / seen.sum(-1, keepdim=True)
    torch.testing.assert_close(two.mean, flat, rtol=1e-5, atol=1e-7)
    assert torch.equal(two.mean, (two.first + two.second) / 2)
    for one in (two.first, two.second):
        torch.testing.assert_close(one.sum(-1), torch.ones(n))
        assert (entropy(one) <= entropy(two.mean) + 1e-5).all()
    for s in range(n):
        order = masked[s].argsort(descending=True)[: int(seen[s].sum())]
        upper, lower = order[: len(order) // 2], order[len(order) - len(order) // 2 :]
        if sharpness and len(upper):
            assert two.first[s, upper].min() > two.first[s, lower].max()
            assert two.second[s, upper].max() < two.second[s, lower].min()
            torch.testing.assert_close(two.first[s, upper], two.second[s, lower])


def test_of_two_keys_one_hot_heads_average_to_exactly_one_half() -> None:
    two = opposite(torch.tensor([[3.0, 1.0], [1.0, 3.0]]), 200.0)
    assert two.first.tolist() == [[1, 0], [0, 1]] and two.second.tolist() == [[0, 1], [1, 0]]
    assert two.mean.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert effective_tokens(two.first).tolist() == [1, 1]
    assert effective_tokens(two.mean).tolist() == pytest.approx([2, 2])


def test_scores_without_order_still_make_two_halves() -> None:
    scores = torch.tensor([[1.0, 1.0, 1.0, 1.0], [math.nan, INF, 0.0, -INF], [-INF, -INF, -INF, -INF]])
    two = opposite(scores, 200.0)
    assert two.first[0].tolist() == [0.5, 0.5, 0, 0]
    torch.testing.assert_close(two.mean[1], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))
    assert two.mean[2].tolist() == [0, 0, 0, 0]


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 99))
def test_a_mean_of_maps_is_never_sharper_than_its_heads_are_on_average(h: int, n: int, seed: int) -> None:
    weights = torch.softmax(3 * drawn(h, n, n, seed=seed), -1)
    mean = averaged(weights)
    torch.testing.assert_close(mean.sum(-1), torch.ones(n))
    assert (entropy(mean) >= entropy(weights).mean(0) - 1e-5).all()
