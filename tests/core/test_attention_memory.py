"""What attention holds while it runs: its trace, and no more than one temporary beside it."""

import pytest
import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import attention
from tests.core.live_bytes import live_bytes

N, D_K = 64, 8
MASKS = {
    "none": None,
    "bool": masks.causal(N, N),
    "float": torch.zeros(N, N),
    "nowhere": masks.causal(N, N, offset=-2),
    "nowhere, float": torch.zeros(N, N).masked_fill(~masks.causal(N, N, offset=-2), -torch.inf),
}


def tensors(n_kv_heads: int) -> list[Tensor]:
    return [torch.randn(2, heads, N, D_K) for heads in (4, n_kv_heads, n_kv_heads)]


@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("kind", MASKS)
def test_the_trace_and_one_temporary(kind: str, n_kv_heads: int, softcap: float | None) -> None:
    given = tensors(n_kv_heads)
    trace, held, peak = live_bytes(lambda q, k, v: attention(q, k, v, mask=MASKS[kind], softcap=softcap), *given)
    one_map = trace.weights.nbytes
    made = 3 if kind == "none" else 4  # scores, scaled, weights; and masked
    assert held == made * one_map + trace.output.nbytes
    assert peak <= held + one_map + given[0].nbytes  # key or value heads, repeated, are as large as the query


def test_bytes_are_counted() -> None:
    x = torch.zeros(1000)
    result, held, peak = live_bytes(lambda x: ((x + 1) * 2).sum(), x)
    assert result == 2000
    assert (held, peak) == (4, 2 * x.nbytes)
    _, held, peak = live_bytes(lambda x: x.view(10, 100).mT, x)  # views make nothing
    assert (held, peak) == (0, 0)
