"""Decoding with a cache gives what the whole run gives, costs what its formulas say, and needs the causal mask."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from attnviz.core.attention import attention
from attnviz.core.heads import split_heads
from attnviz.core.masks import causal, combine
from attnviz.core.multi_head import multi_head
from attnviz.core.positions import Rotary, alibi, alibi_slopes
from attnviz.labs.decoding import Layer, at_once, change, decode, one_head, projections, step
from attnviz.labs.decoding_costs import bytes_by_step, cost, multiplications_by_step, total
from attnviz.labs.sizes import Sizes

SIZES = [Sizes(8, 4, 4, 1, 1), Sizes(6, 3, 5, 4, 2), Sizes(5, 2, 1, 6, 1), Sizes(1, 1, 1, 1, 1)]
sizes = pytest.mark.parametrize("sizes", SIZES, ids=lambda one: "-".join(map(str, one)))


def layer(sizes: Sizes, seed: int = 0, dtype: torch.dtype = torch.float32, **more: Any) -> Layer:
    g = torch.Generator().manual_seed(seed)
    widths = (sizes.n_heads * sizes.d_k, sizes.n_kv_heads * sizes.d_k, sizes.n_kv_heads * sizes.d_v)
    w_q, w_k, w_v = (torch.randn(sizes.d_model, width, generator=g, dtype=dtype) for width in widths)
    return Layer(w_q, w_k, w_v, sizes.n_heads, sizes.n_kv_heads, sizes.d_k**-0.5, **more)


def tokens(sizes: Sizes, n: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(n, sizes.d_model, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def by_sdpa(layer: Layer, x: torch.Tensor, causal: bool) -> torch.Tensor:
    """The output of a whole run by torch's own attention: (h, s, d)."""
    query = split_heads(x @ layer.w_q, layer.n_heads)
    key, value = (split_heads(x @ w, layer.n_kv_heads) for w in (layer.w_k, layer.w_v))
    output: torch.Tensor = torch.nn.functional.scaled_dot_product_attention(
        query[None], key[None], value[None], is_causal=causal, scale=layer.scale, enable_gqa=True
    )
    return output[0]


@given(st.sampled_from(SIZES), st.integers(1, 9), st.integers(0, 9), st.integers(0, 99))
@settings(max_examples=25)
def test_decoding_gives_what_the_whole_run_gives_but_for_rounding(sizes: Sizes, n: int, prompt: int, seed: int) -> None:
    one, x, prompt = layer(sizes, seed, torch.float64), tokens(sizes, n, seed + 1, torch.float64), min(prompt, n - 1)
    decoded = decode(one, x, prompt)
    assert decoded.output.shape == (sizes.n_heads, n - prompt, sizes.d_v)
    torch.testing.assert_close(decoded.output, at_once(one, x).output[:, prompt:], rtol=0, atol=1e-12)
    torch.testing.assert_close(decoded.output, by_sdpa(one, x, True)[:, prompt:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("prompt", [0, 3])
def test_a_rotated_key_is_cached_as_the_whole_run_has_it(layout: Any, prompt: int) -> None:
    given = Sizes(5, 4, 3, 4, 2)
    one, x = layer(given, rotary=Rotary(layout)), tokens(given, 7)
    weights: dict[str, Any] = {"w_q": one.w_q, "w_k": one.w_k, "w_v": one.w_v, "n_heads": 4, "n_kv_heads": 2}
    whole = multi_head(x, **weights, mask=causal(7, 7), scale=one.scale, rotary=Rotary(layout)).trace
    decoded = decode(one, x, prompt)
    torch.testing.assert_close(decoded.last.key, whole.key, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(decoded.output, whole.output[:, prompt:], rtol=1e-5, atol=1e-5)
    assert float((decoded.output - decode(layer(given), x, prompt).output).abs().max()) > 0.01


@pytest.mark.parametrize("h", [None, 2])
def test_a_step_pays_for_its_distance(h: int | None) -> None:
    given = Sizes(5, 4, 3, 4, 2)
    one, x = layer(given, slopes=alibi_slopes(4)), tokens(given, 7)
    mask = combine(causal(7, 7), alibi(7, 7, 4))
    whole = attention(*projections(one, x), mask=mask, scale=one.scale).output
    alone = one if h is None else one_head(one, h)
    expected = whole if h is None else whole[h : h + 1]
    torch.testing.assert_close(decode(alone, x).output, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(at_once(alone, x).output, expected, rtol=1e-5, atol=1e-5)


@sizes
def test_float32_rounds_by_no_more_than_a_millionth(sizes: Sizes) -> None:
    one, x = layer(sizes), tokens(sizes, 12)
    whole = at_once(one, x)
    assert float((decode(one, x).output - whole.output).abs().max()) <= 1e-5 * float(whole.value.abs().max())


@sizes
def test_a_step_adds_one_row_to_the_cache_and_leaves_the_old_ones_alone(sizes: Sizes) -> None:
    one, x, past = layer(sizes), tokens(sizes, 5), None
    for t in range(5):
        now = step(one, x[t : t + 1], past)
        assert now.query.shape == (sizes.n_heads, 1, sizes.d_k)
        assert now.scores.shape == now.weights.shape == (sizes.n_heads, 1, t + 1)
        assert now.key.shape == (sizes.n_kv_heads, t + 1, sizes.d_k)
        assert now.value.shape == (sizes.n_kv_heads, t + 1, sizes.d_v)
        assert now.masked.isfinite().all()  # the newest query may read every row of the cache
        if past is not None:
            assert torch.equal(now.key[:, :-1], past.key) and torch.equal(now.value[:, :-1], past.value)
        past = now


@sizes
@pytest.mark.parametrize("t", [1, 2, 7])
def test_the_multiplications_are_those_that_torch_makes(sizes: Sizes, t: int) -> None:
    one, x = layer(sizes), tokens(sizes, t)
    past = decode(one, x[:-1]).last if t > 1 else None
    with FlopCounterMode(display=False) as counted:  # of matrix products: a multiplication and an addition each
        step(one, x[-1:], past)
    assert counted.get_total_flops() == 2 * cost(sizes, t, cached=True).multiplications
    with FlopCounterMode(display=False) as counted:
        at_once(one, x)
    assert counted.get_total_flops() == 2 * cost(sizes, t, cached=False).multiplications


@sizes
@pytest.mark.parametrize("t", [1, 2, 7])
def test_the_bytes_are_those_of_the_cache(sizes: Sizes, t: int) -> None:
    def of_cache(trace: Any) -> int:
        return int(trace.key.nbytes + trace.value.nbytes) if trace is not None else 0

    one, x = layer(sizes), tokens(sizes, t)
    past = decode(one, x[:-1]).last if t > 1 else None
    with_cache, without = cost(sizes, t, cached=True), cost(sizes, t, cached=False)
    assert with_cache.read == of_cache(past)
    assert with_cache.kept == of_cache(step(one, x[-1:], past))
    assert (without.read, without.kept) == (0, 0)
    assert (with_cache.projected, without.projected) == (1, t)


@sizes
@pytest.mark.parametrize("cached", [True, False])
def test_the_total_is_the_sum_of_the_steps(sizes: Sizes, cached: bool) -> None:
    steps = [cost(sizes, t, cached=cached) for t in range(1, 8)]
    summed = list(itertools.accumulate(one.multiplications for one in steps))
    for t in range(1, 8):
        found = total(sizes, t, cached=cached)
        assert found.multiplications == summed[t - 1]
        assert found.read == sum(one.read for one in steps[:t])
        assert found.projected == (t if cached else t * (t + 1) // 2)
        assert found.kept == steps[t - 1].kept
    assert multiplications_by_step(sizes, 7, cached=cached) == [one.multiplications for one in steps]
    assert not cached or bytes_by_step(sizes, 7) == [one.kept for one in steps]


def test_fewer_key_value_heads_keep_fewer_bytes() -> None:
    kept = [cost(Sizes(8, 4, 4, 8, n), 10, cached=True).kept for n in (8, 4, 2, 1)]
    assert kept == [kept[0], kept[0] // 2, kept[0] // 4, kept[0] // 8]


@given(st.sampled_from(SIZES), st.integers(2, 9), st.integers(0, 99))
@settings(max_examples=25)
def test_a_new_token_changes_no_old_row_under_the_causal_mask_alone(sizes: Sizes, n: int, seed: int) -> None:
    one, x = layer(sizes, seed, torch.float64), tokens(sizes, n, seed + 1, torch.float64)
    assert change(one, x, causal=True) <= 1e-14
    expected = (by_sdpa(one, x, False)[:, :-1] - by_sdpa(one, x[:-1], False)).abs().max()
    assert change(one, x, causal=False) == pytest.approx(float(expected), abs=1e-12)


def test_without_a_mask_old_rows_change_much() -> None:
    for sizes in SIZES:
        assert change(layer(sizes), tokens(sizes, 6), causal=False) > 0.01
        assert change(layer(sizes), tokens(sizes, 6), causal=True) < 1e-6


def test_a_first_token_has_no_old_rows() -> None:
    assert change(layer(SIZES[0]), tokens(SIZES[0], 1), causal=False) == 0


@sizes
def test_queries_keys_and_values_of_old_tokens_stay_as_they_are(sizes: Sizes) -> None:
    one, x = layer(sizes), tokens(sizes, 6)
    for before, after in zip(projections(one, x[:5]), projections(one, x), strict=True):
        torch.testing.assert_close(before, after[:, :5])


def test_one_head_reads_the_key_value_head_of_its_group() -> None:
    sizes = Sizes(6, 3, 5, 4, 2)
    typed = {"k": torch.full((5, 6), torch.nan)}
    typed["k"][1, 4] = 7.0  # feature 1 of key-value head 1
    one, x = layer(sizes, typed=typed), tokens(sizes, 5)
    for h in range(4):
        assert torch.equal(one_head(one, h).w_q, one.w_q[:, 3 * h : 3 * h + 3])
        alone, whole = decode(one_head(one, h), x), decode(one, x)
        torch.testing.assert_close(alone.output[0], whole.output[h])
        assert (float(alone.last.key[0, 1, 1]) == 7.0) == (h >= 2)


def test_typed_numbers_stand_in_the_cache() -> None:
    sizes = Sizes(6, 3, 5, 1, 1)
    typed = {name: torch.full((4, width), torch.nan) for name, width in (("q", 3), ("k", 3), ("v", 5))}
    typed["q"][3, 0], typed["k"][1, 2], typed["v"][2, 4] = 1.0, 2.0, 3.0
    last = decode(layer(sizes, typed=typed), tokens(sizes, 4)).last
    assert (float(last.query[0, 0, 0]), float(last.key[0, 1, 2]), float(last.value[0, 2, 4])) == (1.0, 2.0, 3.0)
    plain = decode(layer(sizes), tokens(sizes, 4)).last
    assert int((last.key != plain.key).sum()) == int((last.value != plain.value).sum()) == 1
