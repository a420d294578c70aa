"""What the masks section claims, through the functions that it calls, and against torch's own layers."""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.attention import attention
from attnviz.core.masks import causal, combine, padding
from attnviz.experiment import Experiment
from attnviz.labs.masks import for_multihead, hide, leak, nowhere, renormalised, segment_ids

VALUES = (0.0, -1.0, -10.0, -math.inf)


class Case(NamedTuple):
    """Scaled scores (s, u), values (u, 3) and a mask in which every row may see a key."""

    scaled: Tensor
    value: Tensor
    mask: Tensor


@st.composite
def cases(draw: st.DrawFn, *, hides: bool = True) -> Case:
    s, u = draw(st.integers(1, 7)), draw(st.integers(2, 7))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    mask = torch.rand(s, u, generator=generator) < draw(st.sampled_from((0.2, 0.5, 0.9)))
    seen = torch.randint(u, (s,), generator=generator)
    mask[torch.arange(s), seen] = True
    if hides:
        mask[0, (seen[0] + 1) % u] = False
    scores = draw(st.sampled_from((0.5, 2.0, 5.0))) * torch.randn(s, u, generator=generator)
    return Case(scores, torch.randn(u, 3, generator=generator), mask)


@pytest.fixture
def cat() -> Case:
    """The page's first text, with the causal mask."""
    run = Experiment("the cat sat on the mat").run()
    assert run.trace is not None
    return Case(run.trace.scaled[0, 0], run.trace.value[0, 0], causal(6, 6))


# ---- 11: what leaks ----


@given(cases())
@settings(max_examples=60, deadline=None)
def test_only_minus_infinity_leaks_exactly_nothing(case: Case) -> None:
    leaks = [leak(hide(*case, hidden=value).weights, case.mask) for value in VALUES]
    totals = [one.total for one in leaks if one is not None]
    assert len(totals) == 4 and totals[3] == 0.0 and leaks[3].largest == 0.0  # type: ignore[union-attr]
    assert totals[0] > totals[1] > totals[2] > 0
    for one, value in zip(leaks, VALUES, strict=True):
        assert one is not None
        weights = hide(*case, hidden=value).weights.double()
        assert one.total == pytest.approx(weights[~case.mask].sum().item(), rel=1e-6)
        assert one.largest == weights[~case.mask].max() == weights[one.s, one.u] and not case.mask[one.s, one.u]


def test_a_score_of_0_can_give_a_hidden_key_more_than_one_that_may_be_seen(cat: Case) -> None:
    weights = hide(*cat, hidden=0.0).weights
    found = leak(weights, cat.mask)
    assert found is not None and found.above is not None
    s, hidden, seen = found.above
    assert not cat.mask[s, hidden] and cat.mask[s, seen] and cat.scaled[s, seen] < 0
    assert weights[s, hidden] > weights[s, seen]
    gaps = [
        (weights[i, j] - weights[i, k]).item()
        for i in range(6)
        for j in range(6)
        for k in range(6)
        if not cat.mask[i, j] and cat.mask[i, k]
    ]
    assert (weights[s, hidden] - weights[s, seen]).item() == max(gaps)
    assert leak(hide(*cat).weights, cat.mask).above is None  # type: ignore[union-attr]


def test_a_mask_that_hides_nothing_leaks_nothing(cat: Case) -> None:
    assert leak(hide(cat.scaled, cat.value, torch.ones(6, 6, dtype=torch.bool)).weights, cat.mask | True) is None


@given(cases(hides=False))
@settings(max_examples=30, deadline=None)
def test_minus_infinity_is_what_the_core_does(case: Case) -> None:
    # Queries times the identity are the scores themselves.
    trace = attention(case.scaled, torch.eye(case.scaled.shape[1]), case.value, mask=case.mask, scale=1.0)
    found = hide(*case)
    torch.testing.assert_close(found.scores, trace.masked)
    torch.testing.assert_close(found.weights, trace.weights)
    torch.testing.assert_close(found.output, trace.output)


# ---- 12: after the softmax ----


@given(cases())
@settings(max_examples=60, deadline=None)
def test_after_the_softmax_a_row_sums_to_1_less_what_hidden_keys_had(case: Case) -> None:
    unmasked = torch.softmax(case.scaled.double(), -1)
    found = hide(*case, after=True)
    taken = unmasked.masked_fill(case.mask, 0).sum(-1)
    torch.testing.assert_close(found.weights.sum(-1).double(), 1 - taken, atol=1e-6, rtol=0)
    assert found.weights[0].sum() < 1 or taken[0] < 1e-6  # a hidden key may have had less than float32 can tell of 1
    torch.testing.assert_close(found.output, found.weights @ case.value)


@given(cases())
@settings(max_examples=60, deadline=None)
def test_after_the_softmax_and_renormalised_is_minus_infinity_before(case: Case) -> None:
    again = renormalised(hide(*case, after=True).weights)
    torch.testing.assert_close(again, hide(*case).weights, atol=1e-6, rtol=1e-4)


# ---- 13: rows that are wholly hidden ----


def test_a_wholly_hidden_row_is_nan_by_the_plain_softmax_and_0_by_the_safe_one(cat: Case) -> None:
    mask = cat.mask.clone()
    mask[2] = False
    found = nowhere(cat.scaled, cat.value, mask)
    others = [0, 1, 3, 4, 5]
    assert found.rows == (2,)
    assert found.plain[2].isnan().all() and found.plain_output[2].isnan().all()
    assert (found.safe[2] == 0).all() and (found.safe_output[2] == 0).all()
    torch.testing.assert_close(found.plain[others], found.safe[others])
    torch.testing.assert_close(found.plain_output[others], found.safe_output[others])
    assert found.spoiled == cat.value.numel()


def test_without_such_a_row_both_are_the_same_and_no_gradient_is_spoiled(cat: Case) -> None:
    found = nowhere(*cat)
    assert found.rows == () and found.spoiled == 0
    torch.testing.assert_close(found.plain, found.safe)


@pytest.mark.parametrize("value", VALUES[:3])
def test_a_finite_value_makes_a_wholly_hidden_row_even(cat: Case, value: float) -> None:
    mask = cat.mask.clone()
    mask[0] = False
    torch.testing.assert_close(hide(cat.scaled, cat.value, mask, hidden=value).weights[0], torch.full((6,), 1 / 6))


# ---- 14: attn_mask and key_padding_mask ----


def _layer(size: int) -> nn.MultiheadAttention:
    """torch's layer with nothing learned: its queries, keys and values are what it is given."""
    layer = nn.MultiheadAttention(size, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(size).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(size))
    return layer


def _batch() -> tuple[Tensor, Tensor, tuple[int, ...]]:
    run = Experiment("the cat sat on the mat\nthe dog ran\nbirds sing").run()
    assert run.trace is not None
    return run.trace.query[:, 0], run.trace.key[:, 0], run.lengths


def test_in_both_masks_of_torchs_layer_true_hides() -> None:
    query, key, lengths = _batch()
    mask = causal(6, 6)
    masks = for_multihead(mask, lengths)
    assert (masks.attn_mask.shape, masks.key_padding_mask.shape, masks.both.shape) == ((6, 6), (3, 6), (3, 6, 6))
    weights = _layer(4)(query, key, key, attn_mask=masks.attn_mask, key_padding_mask=masks.key_padding_mask)[1]
    seen = combine(mask, padding(lengths, 6))
    torch.testing.assert_close(weights, attention(query, key, key, mask=seen).weights)
    assert torch.equal(~masks.both, seen) and (weights[masks.both] == 0).all()


def test_in_scaled_dot_product_attention_true_may_attend() -> None:
    query, key, lengths = _batch()
    both = for_multihead(causal(6, 6), lengths).both
    output = scaled_dot_product_attention(query, key, key, attn_mask=~both)
    torch.testing.assert_close(output, attention(query, key, key, mask=~both).output)


def test_of_a_wholly_hidden_row_torchs_layer_makes_nan_and_scaled_dot_product_attention_0() -> None:
    query, key, _lengths = _batch()
    mask = causal(6, 6)
    mask[3] = False
    weights = _layer(4)(query, key, key, attn_mask=~mask)[1]
    assert weights[:, 3].isnan().all() and not weights[:, [0, 1, 2, 4, 5]].isnan().any()
    assert (scaled_dot_product_attention(query, key, key, attn_mask=mask)[:, 3] == 0).all()


def test_the_wrong_way_round_all_attention_goes_to_what_should_be_hidden() -> None:
    query, key, _lengths = _batch()
    masks = for_multihead(causal(6, 6), [6, 6, 6])
    wrong = _layer(4)(query, key, key, attn_mask=~masks.attn_mask)[1]
    for b in range(3):
        scaled = query[b] @ key[b].T / 2
        turned = nowhere(scaled, key[b], masks.both[b])
        torch.testing.assert_close(turned.plain, wrong[b], equal_nan=True)
        assert turned.rows == (5,)  # the last query may see all: turned round it sees nothing
        seen_by_others = turned.safe.masked_fill(masks.both[b], 0)
        assert (seen_by_others == 0).all() and turned.safe.sum().item() == pytest.approx(5)


# ---- segments ----


@pytest.mark.parametrize(
    ("tokens", "ids"),
    [
        ("I see . You too", "00011"),
        ("what ?! yes", "001"),
        ("a , b , c", "00112"),
        ("« a » b", "0112"),
        ("我 喜 欢 。 好", "00001"),
        ("a b c d", "0011"),
        ("a b c .", "0011"),
        ("a", "0"),
        (". .", "01"),
    ],
)
def test_segments_end_with_punctuation_and_else_are_halves(tokens: str, ids: str) -> None:
    assert "".join(map(str, segment_ids(tokens.split()))) == ids
