from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.heads import merge_heads, repeat_kv, split_heads

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 4)


@QUICK
@given(leading=st.lists(SIZES, max_size=2), n_tokens=st.integers(0, 4), n_heads=SIZES, size=SIZES)
def test_head_h_owns_a_block_of_features_and_merging_gives_x_back(
    leading: list[int], n_tokens: int, n_heads: int, size: int
) -> None:
    x = torch.randn(*leading, n_tokens, n_heads * size)
    heads = split_heads(x, n_heads)
    assert heads.shape == (*leading, n_heads, n_tokens, size)
    for h in range(n_heads):
        assert torch.equal(heads[..., h, :, :], x[..., h * size : (h + 1) * size])
    assert torch.equal(merge_heads(heads), x)


@QUICK
@given(leading=st.lists(SIZES, max_size=1), n_kv_heads=SIZES, group=SIZES)
def test_query_head_h_reads_the_key_head_of_its_group(leading: list[int], n_kv_heads: int, group: int) -> None:
    x = torch.randn(*leading, n_kv_heads, 3, 2)
    repeated = repeat_kv(x, n_kv_heads * group)
    assert repeated.shape == (*leading, n_kv_heads * group, 3, 2)
    for h in range(n_kv_heads * group):
        assert torch.equal(repeated[..., h, :, :], x[..., h // group, :, :])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: split_heads(torch.ones(2, 6), 4),
            "n_heads: expected a divisor of the 6 features of x, got 4",
        ),
        (lambda: split_heads(torch.ones(2, 6), 0), "n_heads: expected a whole number of at least 1, got 0"),
        (lambda: split_heads(torch.ones(6), 2), "x: expected shape (..., s, h*k), got (6,)"),
        (lambda: merge_heads(torch.ones(2, 6)), "x: expected shape (..., h, s, k), got (2, 6)"),
        (lambda: repeat_kv(torch.ones(2, 6), 2), "x: expected shape (..., h_kv, u, k), got (2, 6)"),
        (
            lambda: repeat_kv(torch.ones(2, 1, 1), 3),
            "n_heads: expected a multiple of the 2 heads of x, got 3",
        ),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message
