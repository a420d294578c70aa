"""The pooled map equals core.attention's whole matrix, cell by cell."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core import masks, pooling
from attnviz.core.attention import attention
from attnviz.core.pooling import PooledMap, Stopped, pooled_weights
from attnviz.core.shapes import widened
from tests.core.live_bytes import live_bytes
from tests.core.pooling_drawn import KINDS, asked_as, draw, mask_of

QUICK = settings(max_examples=60, deadline=None)
SIZES = st.integers(1, 13)
REDUCES = st.sampled_from(["max", "mean"])


def reference(
    query: Tensor, key: Tensor, mask: Tensor | None, pooled: PooledMap, reduce: str, **options: Any
) -> Tensor:
    """Each cell of pooled, from the whole matrix, one by one."""
    weights = attention(query, key, key, mask=mask, **options).weights
    rows, cols = (list(itertools.pairwise(edges)) for edges in (pooled.row_edges, pooled.col_edges))
    cells = [[weights[..., a:b, c:d].flatten(-2) for c, d in cols] for a, b in rows]
    take = (lambda x: x.amax(-1)) if reduce == "max" else (lambda x: x.mean(-1))
    return torch.stack([torch.stack([take(cell) for cell in line], -1) for line in cells], -2)


@st.composite
def windows(draw_: Any, n: int) -> tuple[int, int] | None:
    if draw_(st.booleans()):
        return None
    first = draw_(st.integers(0, n - 1))
    return first, draw_(st.integers(first + 1, n))


@QUICK
@given(
    data=st.data(),
    sizes=st.tuples(SIZES, SIZES, st.integers(1, 5)),
    groups=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    kind=st.sampled_from(KINDS),
    reduce=REDUCES,
    options=st.sampled_from([{}, {"scale": 0.7}, {"softcap": 1.5}, {"scale": 2.0, "softcap": 3.0}]),
    piece=st.sampled_from([1, 7, 20, 2**20]),
    seed=st.integers(0, 2**31),
)
def test_it_is_the_whole_matrix_pooled(
    data: Any,
    sizes: tuple[int, int, int],
    groups: tuple[int, int],
    kind: str,
    reduce: Any,
    options: dict[str, Any],
    piece: int,
    seed: int,
) -> None:
    n_query, n_key, size = sizes
    n_kv_heads, group = groups
    query, key = draw((2, n_kv_heads * group, n_query, 3), (2, n_kv_heads, n_key, 3), seed=seed)
    mask = mask_of(kind, n_kv_heads * group, n_query, n_key, seed)
    rows, cols = data.draw(windows(n_query)), data.draw(windows(n_key))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_PIECE", piece)  # so that a cell takes several pieces, or a piece has many cells
        pooled = pooled_weights(
            query,
            key,
            mask=asked_as(kind, mask),
            rows=rows,
            cols=cols,
            size=size,
            reduce=reduce,
            **options,
        )
    assert (pooled.row_edges[0], pooled.row_edges[-1]) == (rows or (0, n_query))
    assert (pooled.col_edges[0], pooled.col_edges[-1]) == (cols or (0, n_key))
    assert max(pooled.values.shape[-2:]) <= size
    assert pooled.exact == all(
        b - a == 1 for edges in (pooled.row_edges, pooled.col_edges) for a, b in itertools.pairwise(edges)
    )
    expected = reference(query, key, mask, pooled, reduce, **options)
    torch.testing.assert_close(pooled.values, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mask", ["causal", None])
def test_half_precision_is_rounded_once(dtype: torch.dtype, mask: Any) -> None:
    query, key = draw((3, 50, 8), (3, 50, 8), dtype=dtype)
    pooled = pooled_weights(query, key, mask=mask, size=7, reduce="mean")
    seen = masks.causal(50, 50) if mask else None
    expected = reference(widened(query).double(), widened(key).double(), seen, pooled, "mean")
    assert pooled.values.dtype == dtype
    tolerance = 2 * torch.finfo(dtype).eps if dtype != torch.float32 else 2e-6
    torch.testing.assert_close(pooled.values.double(), expected, rtol=tolerance, atol=1e-7)


def test_cells_of_a_window_that_fits_are_the_weights() -> None:
    query, key = draw((40, 8), (40, 8))
    pooled = pooled_weights(query, key, mask="causal", rows=slice(30, None), cols=(25, 35), size=10)
    assert pooled.exact
    weights = attention(query, key, key, mask=masks.causal(40, 40)).weights
    torch.testing.assert_close(pooled.values, weights[30:, 25:35], rtol=1e-13, atol=0)


def test_what_a_mask_hides_has_no_say() -> None:
    query, key = draw((4, 6, 2), (4, 6, 2))
    key[:, 5] = torch.nan
    hidden = masks.causal(6, 6, offset=-1)
    for mask in (hidden, torch.zeros(6, 6, dtype=torch.float64).masked_fill(~hidden, -torch.inf)):
        values = pooled_weights(query, key, mask=mask, size=6).values
        assert values.isfinite().all()
        assert (values[:, 0] == 0).all()
        torch.testing.assert_close(values[:, 1:].sum(-1), torch.ones(4, 5, dtype=torch.float64))
    whole = pooled_weights(query, key, mask="causal", size=2).values
    assert whole[:, 0].isfinite().all() and whole[:, 1].isnan().all()  # of row 5, which may see key 5


@pytest.mark.parametrize(("n_query", "n_key", "rows"), [(0, 4, None), (4, 0, None), (4, 4, (2, 2))])
def test_no_tokens_make_no_cells(n_query: int, n_key: int, rows: Any) -> None:
    pooled = pooled_weights(*draw((2, n_query, 3), (2, n_key, 3)), rows=rows, mask="causal")
    assert pooled.values.numel() == 0
    assert pooled.values.shape == (2, len(pooled.row_edges) - 1, len(pooled.col_edges) - 1)


@pytest.mark.parametrize("mask", ["causal", None])
def test_the_share_of_the_work_rises_to_1_and_false_stops_it(mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_PIECE", 640)
    query, key = draw((2, 64, 4), (2, 64, 4))
    shares: list[float] = []
    pooled_weights(query, key, mask=mask, size=8, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1 and len(shares) > 10
    assert (shares[0] < 0.02) == (mask == "causal")  # the first rows of a causal map are the cheap ones
    asked: list[float] = []

    def until_half(share: float) -> bool:
        asked.append(share)
        return share < 0.5

    with pytest.raises(Stopped):
        pooled_weights(query, key, mask=mask, size=8, progress=until_half)
    assert asked == [share for share in shares if share <= min(s for s in shares if s >= 0.5)]


@pytest.mark.parametrize("mask", ["causal", None])
@pytest.mark.parametrize("size", [1, 64])
def test_the_matrix_is_never_held(mask: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_PIECE", 2**16)
    n = 2048
    query, key = draw((n, 4), (n, 4), dtype=torch.float32)
    pooled, held, peak = live_bytes(lambda q, k: pooled_weights(q, k, mask=mask, size=size), query, key)
    assert held == pooled.values.nbytes
    assert peak < 6 * 4 * pooling._PIECE < n * n * 4 / 10


def test_nothing_carries_a_gradient() -> None:
    query, key = (x.requires_grad_() for x in draw((5, 2), (5, 2)))
    assert not pooled_weights(query, key, size=2).values.requires_grad
