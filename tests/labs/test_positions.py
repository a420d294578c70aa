"""Positions: what each question claims, through the functions that the page calls."""

from itertools import permutations
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.masks import causal
from attnviz.core.positions import alibi, half_from_interleaved, learned, sinusoidal
from attnviz.experiment import CHOICES
from attnviz.labs.positions import (
    ADDED,
    ROTATIONS,
    Head,
    attend,
    costs,
    largest,
    picture,
    places,
    random_order,
    read_order,
    reorder,
    shuffle,
)
from attnviz.labs.positions_inside import by_distance, concatenate, four_terms, layouts

KINDS = [kind for kind in CHOICES["positions"] if kind != "none"]
QUICK = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**31)
ORDERS = st.integers(2, 9).flatmap(lambda n: st.permutations(range(n))).map(tuple)


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def head(n: int, drawn: int = 0, **changed: Any) -> Head:
    w_q, w_k, w_v = (draw(drawn + i, 5, 4) / 5**0.5 for i in (1, 2, 3))
    return Head(draw(drawn, n, 5), w_q, w_k, w_v, 0.5)._replace(**changed)


# ---- 16: does attention know the order? ----


@QUICK
@given(ORDERS, SEEDS)
def test_without_positions_and_mask_all_moves_with_its_tokens(order: tuple[int, ...], seed: int) -> None:
    one = head(len(order), seed)
    found = shuffle(one, order)
    assert found.weights <= 1e-6 and found.output <= 1e-5
    at = torch.tensor(order)
    torch.testing.assert_close(found.after.weights, found.before.weights[at][:, at], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.after.output, found.before.output[at], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.back, found.before.weights, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changed", [*({"positions": kind, "slope": 0.5} for kind in KINDS), {"seen": causal(5, 5)}])
def test_with_positions_or_a_causal_mask_a_shuffle_changes_numbers(changed: dict[str, Any]) -> None:
    one = head(5, **changed)
    for order in list(permutations(range(5)))[1::17]:
        found = shuffle(one, order)
        assert found.weights > 1e-3 and found.output > 1e-3
        assert largest(found.back, found.before.weights) == found.weights


@pytest.mark.parametrize("kind", ["none", *KINDS])
@pytest.mark.parametrize("seen", [None, causal(6, 6)], ids=["no mask", "causal"])
def test_a_head_is_what_torch_computes(kind: str, seen: torch.Tensor | None) -> None:
    one = head(6, positions=kind, seed=4, slope=0.25, seen=seen)
    x = one.x.double() + {"sinusoidal": sinusoidal(6, 5), "learned": learned(6, 5, 4)}.get(kind, torch.zeros(6, 5))
    q, k, v = (x @ w.double() for w in (one.w_q, one.w_k, one.w_v))
    if kind in ROTATIONS:
        q, k = turn(q, kind), turn(k, kind)
    bias = torch.zeros(6, 6, dtype=torch.float64)
    if kind == "alibi":
        bias -= 0.25 * (torch.arange(6)[:, None] - torch.arange(6)).abs()
    if seen is not None:
        bias = bias.masked_fill(~seen, -torch.inf)
    expected = scaled_dot_product_attention(q[None], k[None], v[None], bias, scale=0.5)[0]
    torch.testing.assert_close(attend(one).output.double(), expected, rtol=1e-5, atol=1e-5)


def turn(x: torch.Tensor, kind: str) -> torch.Tensor:
    """RoPE as complex numbers: the pairs (a + ib) times exp(i * s * angle)."""
    n, k = x.shape
    angles = torch.arange(n, dtype=torch.float64)[:, None] * 10000 ** (-torch.arange(0, k, 2).double() / k)
    pairs = torch.stack(x.chunk(2, -1), -1) if kind == "rope_half" else x.unflatten(-1, (-1, 2))
    turned = torch.view_as_real(
        torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    )
    return torch.cat(turned.unbind(-1), -1) if kind == "rope_half" else turned.flatten(-2)


def test_what_was_typed_moves_with_its_token() -> None:
    typed = {"q": torch.full((3, 4), torch.nan), "x": torch.full((3, 5), torch.nan)}
    typed["q"][2, 1], typed["x"][0, 3] = 7.0, -4.0
    one = head(3, typed=typed)
    assert attend(one).query[2, 1] == 7 and attend(reorder(one, (2, 0, 1))).query[0, 1] == 7
    assert shuffle(one, (2, 0, 1)).weights <= 1e-6
    placed = one._replace(positions="learned")
    assert attend(placed).query[2, 1] == 7


def test_what_positions_look_like() -> None:
    assert torch.equal(picture(head(3, positions="sinusoidal")), sinusoidal(3, 5))
    assert torch.equal(picture(head(3, positions="learned", seed=2)), learned(3, 5, 2))
    assert torch.equal(costs(6, 0.5), alibi(6, 6, 8)[0])  # the first of 8 heads has the slope 0.5
    assert picture(head(3)) is None and places("rope_half", 3, 5, 0) is None
    angles = picture(head(3, positions="rope_half"))
    assert angles is not None and angles[2].tolist() == pytest.approx([2.0, 0.02])
    odd = head(3, positions="rope_half", w_q=draw(1, 5, 3), w_k=draw(2, 5, 3))
    assert picture(odd) is None  # an odd d_k is not rotated
    assert torch.equal(attend(odd).weights, attend(odd._replace(positions="none")).weights)


@given(ORDERS, st.sampled_from([" ", ", ", ",", "，", "; ", "\t", "、"]))
def test_a_typed_order_is_read(order: tuple[int, ...], between: str) -> None:
    assert read_order(between.join(str(i + 1) for i in order), len(order)) == (order, "", "")
    longer = (*order, *range(len(order), len(order) + 3))  # later tokens stay
    assert read_order(" ".join(str(i + 1) for i in order), len(longer)).order == longer


@pytest.mark.parametrize(
    ("text", "problem", "at"),
    [
        ("a", "word", "a"),
        ("1 two", "word", "two"),
        ("1.5", "word", "1.5"),
        ("-1", "word", "-1"),
        ("٣ 1 2", "word", "٣"),
        ("9" * 300, "word", "9" * 300),
        ("0", "range", "0"),
        ("1 7", "range", "7"),
        ("2 1 2", "twice", "2"),
        ("3 1", "missing", "2"),
        ("6", "missing", "1"),
    ],
)
def test_what_is_no_order_is_named_and_leaves_the_tokens_where_they_are(text: str, problem: str, at: str) -> None:
    assert read_order(text, 6) == ((0, 1, 2, 3, 4, 5), problem, at)


@given(st.integers(2, 40), SEEDS)
def test_a_shuffle_is_seeded_and_moves_something(n: int, seed: int) -> None:
    order = random_order(n, seed)
    assert sorted(order) == list(range(n)) and order != tuple(range(n)) and order == random_order(n, seed)


def test_other_seeds_shuffle_otherwise() -> None:
    assert len({random_order(8, seed) for seed in range(20)}) == 20 and random_order(1, 0) == (0,)


# ---- 17: why add, and not concatenate? ----


@QUICK
@given(st.integers(1, 7), st.integers(1, 6), st.integers(1, 5), SEEDS)
def test_four_terms_make_the_scores(n: int, m: int, k: int, seed: int) -> None:
    x, p = draw(seed, n, m), draw(seed + 1, n, m)
    w_q, w_k = draw(seed + 2, m, k), draw(seed + 3, m, k)
    terms = four_terms(x, p, w_q, w_k)
    for name, left, right in (("xx", x, x), ("xp", x, p), ("px", p, x), ("pp", p, p)):
        expected = torch.einsum("sm,mk,nk,un->su", *(t.double() for t in (left, w_q, w_k, right)))
        torch.testing.assert_close(getattr(terms, name).double(), expected, rtol=1e-4, atol=1e-4)
    assert terms.apart <= 1e-5 * (1 + float(terms.scores.abs().max()) + float(terms.xx.abs().max()) * 4)
    torch.testing.assert_close(terms.total, terms.scores, rtol=1e-4, atol=1e-3)


def test_place_with_place_is_the_same_for_every_text() -> None:
    p, w_q, w_k = sinusoidal(4, 6), draw(1, 6, 3), draw(2, 6, 3)
    one, other = (four_terms(draw(seed, 4, 6), p, w_q, w_k) for seed in (3, 4))
    assert torch.equal(one.pp, other.pp) and not torch.equal(one.xp, other.xp)


@QUICK
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), SEEDS)
def test_concatenation_is_a_sum_that_costs_width(n: int, m: int, k: int, seed: int) -> None:
    x, p, w_q, w_k = draw(seed, n, m), draw(seed + 1, n, m), draw(seed + 2, m, k), draw(seed + 3, m, k)
    beside = concatenate(x, p, w_q, w_k, columns=3 * k)
    assert torch.equal(beside.wide, torch.cat([x, p], -1)) and torch.equal(beside.wide, beside.as_sum)
    torch.testing.assert_close(beside.scores, four_terms(x, p, w_q, w_k).scores, rtol=1e-4, atol=1e-3)
    assert (beside.width, beside.narrow, beside.numbers) == (2 * m, 3 * m * k, 6 * m * k)


def test_only_two_kinds_are_added() -> None:
    assert [kind for kind in KINDS if places(kind, 2, 4, 0) is not None] == list(ADDED)


# ---- 18: halves or pairs? ----


@QUICK
@given(st.integers(2, 8), st.integers(2, 5), SEEDS)
def test_both_layouts_give_the_same_scores_once_the_features_have_moved(n: int, pairs: int, seed: int) -> None:
    query, key = draw(seed, n, 2 * pairs), draw(seed + 1, n, 2 * pairs)
    found = layouts(query, key)
    assert found.permuted_apart <= 2e-5 and found.vectors_apart > 1e-3 and found.scores_apart > 1e-3
    for name, kind in (("half", "rope_half"), ("interleaved", "rope_interleaved")):
        q, k = (turn(t.double(), kind) for t in (query, key))
        torch.testing.assert_close(getattr(found, name).double(), q, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(getattr(found, f"scores_{name}").double(), q @ k.mT, rtol=1e-4, atol=1e-4)
    order = half_from_interleaved(2 * pairs)
    moved = turn(query[:, order].double(), "rope_half") @ turn(key[:, order].double(), "rope_half").mT
    torch.testing.assert_close(found.scores_permuted.double(), moved, rtol=1e-4, atol=1e-4)


def test_one_pair_is_both_layouts() -> None:
    found = layouts(draw(0, 5, 2), draw(1, 5, 2))
    assert found.vectors_apart == found.scores_apart == found.permuted_apart == 0


@QUICK
@given(st.integers(1, 12), st.integers(1, 4), SEEDS, st.sampled_from(list(ROTATIONS)))
def test_the_score_knows_the_distance_alone(n: int, pairs: int, seed: int, kind: str) -> None:
    query, key = draw(seed, 2 * pairs), draw(seed + 1, 2 * pairs)
    curve = by_distance(query, key, n, ROTATIONS[kind])
    assert curve.spread <= 1e-5 * (1 + float(query.norm() * key.norm()))
    assert curve.distances.tolist() == list(range(1 - n, n))
    scores = turn(query.double().expand(n, -1), kind) @ turn(key.double().expand(n, -1), kind).mT  # (s, u)
    for s in range(n):
        for u in range(n):
            assert float(scores[s, u]) == pytest.approx(float(curve.scores[s - u + n - 1]), abs=1e-4)
    assert float(curve.scores[n - 1]) == pytest.approx(float(query @ key), abs=1e-5)  # at distance 0
