"""A causal mask is seen in the numbers that it left, and in no others."""

import math

import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.models.files_causal import sign_in_output, sign_in_weights

GENERATOR = torch.Generator().manual_seed(3)


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR).float()


def weights(n_query: int, n_key: int, offset: int | None, *leading: int) -> Tensor:
    """Weights of queries that see the keys up to their own and `offset` more; of None, all."""
    scores = drawn(*leading, n_query, n_key)
    if offset is not None:
        scores = scores.masked_fill(~torch.ones(n_query, n_key, dtype=torch.bool).tril(offset), -math.inf)
    return torch.softmax(scores, dim=-1)


@pytest.mark.parametrize(
    ("n_query", "n_key", "offset", "sign"),
    [
        (6, 6, 0, "zeros"),
        (4, 4, 0, "zeros"),
        (6, 6, 1, "beside"),
        (6, 6, -1, "numbers"),  # its first row sees nothing, and is NaN
        (6, 6, 2, ""),
        (6, 6, None, ""),
        (3, 3, 0, ""),  # too few to tell
        (4, 7, 3, "zeros"),  # the last query sees every key
        (4, 7, 0, "zeros"),  # of the wrong corner: still zeros above
        (4, 7, None, ""),
        (7, 4, 0, ""),
    ],
)
def test_zeros_above_the_diagonal_speak_for_a_causal_mask(n_query: int, n_key: int, offset: int, sign: str) -> None:
    assert sign_in_weights(weights(n_query, n_key, offset, 2, 3)) == sign


def test_one_head_that_looks_ahead_speaks_against_it() -> None:
    both = torch.stack([weights(6, 6, 0), weights(6, 6, None)])
    assert sign_in_weights(both[:1]) == "zeros" and sign_in_weights(both) == ""


def test_zeros_on_both_sides_say_nothing() -> None:
    assert sign_in_weights(torch.eye(6)) == "" and sign_in_weights(torch.zeros(6, 6)) == ""
    assert sign_in_weights(torch.full((6, 6), math.nan)) == ""


def test_a_head_of_nan_does_not_hide_the_mask_of_the_others() -> None:
    maps = weights(6, 6, 0, 3)
    maps[1] = math.nan
    assert sign_in_weights(maps) == "numbers"


@pytest.mark.parametrize(("n_key", "n_shared"), [(6, 4), (6, 2), (9, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_output_of_a_causal_mask_is_told_by_its_first_row(n_key: int, n_shared: int, dtype: torch.dtype) -> None:
    q, k, v = drawn(4, 6, 8), drawn(n_shared, n_key, 8), drawn(n_shared, n_key, 5)
    mask = torch.ones(6, n_key, dtype=torch.bool).tril(n_key - 6)
    k4, v4 = (x.repeat_interleave(4 // n_shared, dim=0) for x in (k, v))
    for hidden, sign in ((mask, "output"), (torch.ones_like(mask), "")):
        scores = (q @ k4.mT / math.sqrt(8)).masked_fill(~hidden, -math.inf)
        output = (torch.softmax(scores, dim=-1) @ v4).to(dtype)
        assert sign_in_output(q, k, v, output.float(), eps=torch.finfo(dtype).eps) == sign


def test_an_output_that_any_mask_would_make_says_nothing() -> None:
    q, v = drawn(2, 6, 4), torch.ones(2, 6, 3)
    assert sign_in_output(q, q, v, attention(q, q, v).output) == ""
