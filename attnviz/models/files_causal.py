"""Whether numbers that came without a mask show that a causal one was meant.

Letters: l layer, b sequence of the batch, h head, s query, u key token, k feature of a query or key, d of a value.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.masks import causal

Sign = Literal["", "zeros", "numbers", "beside", "output"]
FEWEST = 4  # queries: of fewer, too few cells lie beyond a causal mask to tell it
_SEEN = 0.25  # share of the weights below the diagonal that are above 0: else zeros above it say nothing
_ROUNDING = 16  # units of the last binary digit by which a row of output may differ


def sign_in_weights(weights: Tensor) -> Sign:
    """Say what in weights (..., s, u) speaks for a causal mask: "" for nothing. The last query sees every key.

    "zeros": they are 0 above the diagonal; "numbers": those that are not NaN are; "beside": they are 0 above the
    diagonal but for the cells next to it, as of a mask that is one off.

    >>> sign_in_weights(torch.softmax(torch.zeros(5, 5).masked_fill(~causal(5, 5), -torch.inf), dim=-1))
    'zeros'
    >>> sign_in_weights(torch.full((5, 5), 0.2))
    ''
    """
    n_query, n_key = weights.shape[-2:]
    last = n_key - n_query
    if n_query < FEWEST or last < 0:
        return ""
    maps = weights.reshape(-1, n_query, n_key)
    nan = maps.isnan()
    some = ((maps != 0) & ~nan).any(dim=0)  # (s, u); NaN speaks neither for nor against
    share = (maps > 0).float().mean(dim=0)  # (s, u)
    above, below = ~causal(n_query, n_key, offset=last), causal(n_query, n_key, offset=last - 1)
    if some[~causal(n_query, n_key, offset=last + 1)].any() or share[below].mean() < _SEEN:
        return ""
    if some[above].any():
        return "beside"
    return "numbers" if nan.any(dim=0)[above].any() else "zeros"


def sign_in_output(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    eps: float | None = None,
) -> Sign:
    """Say whether an output (h, s, d) is that of a causal mask: its first row is what the keys it may see make.

    query (h, s, k), key and value (h_kv, u, ·). eps: the rounding of the output as it came, that of its dtype when
    None. "" where not, and where all keys would make the same row.

    >>> q, v = torch.eye(4)[None], torch.arange(4.0).reshape(1, 4, 1)
    >>> sign_in_output(q, q, v, attention(q, q, v, mask=causal(4, 4)).output)
    'output'
    >>> sign_in_output(q, q, v, attention(q, q, v).output)
    ''
    """
    n_query, n_key = query.shape[-2], key.shape[-2]
    seen = n_key - n_query + 1
    if n_query < FEWEST or seen < 1:
        return ""
    first, row = query[..., :1, :], output[..., :1, :]
    near = attention(first, key[..., :seen, :], value[..., :seen, :], scale=scale, softcap=softcap).output
    whole = attention(first, key, value, scale=scale, softcap=softcap).output
    limit = _ROUNDING * (torch.finfo(output.dtype).eps if eps is None else eps) * float(value.abs().amax())
    apart, told = (near - row).abs().amax(), (near - whole).abs().amax()
    return "output" if bool(apart <= limit < told) else ""
