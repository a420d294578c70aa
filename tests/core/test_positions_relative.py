"""What distance adds to a score: ALiBi against the paper's formula and BLOOM's, T5's buckets against T5."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from attnviz.core.attention import attention
from attnviz.core.masks import causal, combine
from attnviz.core.positions import alibi, alibi_slopes, relative_buckets


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16, 32])
def test_slopes_of_a_power_of_two_are_the_papers(n_heads: int) -> None:
    slopes = alibi_slopes(n_heads)
    assert slopes.dtype == torch.float32
    assert slopes.tolist() == pytest.approx([2 ** (-8 * i / n_heads) for i in range(1, n_heads + 1)], rel=1e-7)


@pytest.mark.parametrize("n_heads", [*range(1, 18), 25, 71, 112])
def test_alibi_is_bloom_s_but_for_one_number_a_row(n_heads: int) -> None:
    bloom = build_alibi_tensor(torch.ones(1, 9), n_heads, torch.float32)  # (h, 1, u), slope * u
    assert torch.allclose(alibi_slopes(n_heads), bloom[:, 0, 1], rtol=1e-6, atol=0)
    ours, causally = alibi(9, 9, n_heads), causal(9, 9)
    row = ours.diagonal(dim1=1, dim2=2) - bloom.expand(-1, 9, -1).diagonal(dim1=1, dim2=2)  # (h, s)
    difference = (ours - bloom - row[:, :, None]).masked_fill(~causally, 0)
    assert difference.abs().max() < 1e-5
    scores = torch.randn(n_heads, 9, 9, generator=torch.Generator().manual_seed(n_heads))
    by_ours, by_bloom = ((scores + bias).masked_fill(~causally, -math.inf).softmax(dim=-1) for bias in (ours, bloom))
    assert torch.allclose(by_ours, by_bloom, atol=1e-6)


@pytest.mark.parametrize(("n_query", "n_key", "offset"), [(4, 4, 0), (2, 6, 4), (3, 5, -2), (0, 3, 0), (3, 0, 1)])
def test_alibi_is_minus_slope_times_distance(n_query: int, n_key: int, offset: int) -> None:
    bias = alibi(n_query, n_key, 2, offset=offset)
    assert bias.dtype == torch.float32
    assert bias.shape == (2, n_query, n_key)
    for h, slope in enumerate([2**-4, 2**-8]):
        for s in range(n_query):
            for u in range(n_key):
                assert bias[h, s, u].item() == -slope * abs(s + offset - u)


def test_alibi_with_a_causal_mask_in_attention() -> None:
    query = torch.zeros(2, 3, 4)  # all scores 0: the distances alone decide
    trace = attention(query, query, query, mask=combine(alibi(3, 3, 2), causal(3, 3)))
    for h, slope in enumerate([2**-4, 2**-8]):
        row = [math.exp(-slope * distance) for distance in (2, 1, 0)]
        assert trace.weights[h, 2].tolist() == pytest.approx([value / sum(row) for value in row], abs=1e-6)
        assert trace.weights[h, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("n_buckets", "max_distance"),
    [(32, 128), (32, 256), (16, 64), (8, 20), (33, 100), (64, 1000), (4, 3), (6, 12), (128, 800)],
)
def test_buckets_are_those_of_t5(n_buckets: int, max_distance: int, bidirectional: bool) -> None:
    if max_distance <= n_buckets // (4 if bidirectional else 2):
        max_distance += n_buckets
    relative = torch.arange(1300) - torch.tensor([[0], [200], [1299]])  # key less query, as T5 counts
    theirs = T5Attention._relative_position_bucket(relative, bidirectional, n_buckets, max_distance)
    sizes = {"n_buckets": n_buckets, "max_distance": max_distance, "bidirectional": bidirectional}
    ours = [relative_buckets(1, 1300, offset=offset, **sizes)[0] for offset in (0, 200, 1299)]
    assert torch.equal(torch.stack(ours), theirs)
    assert ours[0].dtype == torch.int64


@settings(max_examples=100, deadline=None)
@given(
    n_near=st.integers(1, 20),
    n_wide=st.integers(1, 20),
    longer=st.integers(1, 300),
    distance=st.integers(0, 400),
)
def test_wide_buckets_start_where_the_logarithm_says_exactly(
    n_near: int, n_wide: int, longer: int, distance: int
) -> None:
    n_buckets = n_near + n_wide
    n_near, n_wide = n_buckets // 2, n_buckets - n_buckets // 2
    max_distance = n_near + longer
    bucket = relative_buckets(
        1, 1, n_buckets=n_buckets, max_distance=max_distance, bidirectional=False, offset=distance
    ).item()
    if distance < n_near:
        assert bucket == distance
    else:  # log(distance / near) / log(max / near) * wide >= j, without a logarithm
        far, whole = Fraction(distance, n_near) ** n_wide, Fraction(max_distance, n_near)
        assert bucket == n_near + sum(far >= whole**j for j in range(1, n_wide))


@pytest.mark.parametrize("is_decoder", [False, True])
def test_a_table_of_buckets_is_the_bias_of_a_t5_layer(is_decoder: bool) -> None:
    config = T5Config(d_model=8, d_kv=4, num_heads=2, is_decoder=is_decoder)
    torch.manual_seed(0)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    table = layer.relative_attention_bias.weight
    torch.nn.init.normal_(table)
    buckets = relative_buckets(6, 40, bidirectional=not is_decoder, offset=34)
    bias = table[buckets].permute(2, 0, 1)  # (h, s, u)
    assert torch.equal(bias[None], layer.compute_bias(6, 40, past_seen_tokens=34))
    bias.sum().backward()
    assert table.grad is not None and table.grad.sum() == 2 * 6 * 40


def test_sizes_of_nothing() -> None:
    assert relative_buckets(0, 3).shape == (0, 3)
    assert relative_buckets(3, 0).shape == (3, 0)


@pytest.mark.parametrize(
    ("call", "raised", "message"),
    [
        (lambda: alibi_slopes(0), ValueError, "n_heads: expected a whole number of at least 1, got 0"),
        (lambda: alibi(2, 2, 1.0), TypeError, "n_heads: expected a whole number of at least 1, got 1.0"),
        (lambda: alibi(-1, 2, 1), ValueError, "n_query: expected a whole number of at least 0, got -1"),
        (lambda: alibi(1, -2, 1), ValueError, "n_key: expected a whole number of at least 0, got -2"),
        (lambda: alibi(1, 2, 1, offset=0.5), TypeError, "offset: expected a whole number, got 0.5"),
        (lambda: relative_buckets(1, None), TypeError, "n_key: expected a whole number of at least 0, got None"),
        (lambda: relative_buckets(1, 1, offset="1"), TypeError, "offset: expected a whole number, got '1'"),
        (
            lambda: relative_buckets(1, 1, n_buckets=3),
            ValueError,
            "n_buckets: expected a whole number of at least 4, got 3",
        ),
        (
            lambda: relative_buckets(1, 1, n_buckets=1, bidirectional=False),
            ValueError,
            "n_buckets: expected a whole number of at least 2, got 1",
        ),
        (
            lambda: relative_buckets(1, 1, max_distance=8),
            ValueError,
            "max_distance: expected a whole number of at least 9, got 8",
        ),
        (
            lambda: relative_buckets(1, 1, max_distance=16, bidirectional=False),
            ValueError,
            "max_distance: expected a whole number of at least 17, got 16",
        ),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], object], raised: type[Exception], message: str) -> None:
    with pytest.raises(raised) as error:
        call()
    assert str(error.value) == message
