"""What decoding with a KV cache costs, and without one: of one step, and of several."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.labs.sizes import BYTES, Sizes


class Cost(NamedTuple):
    """What a step takes, or several."""

    projected: int  # tokens turned into a query, a key and a value
    multiplications: int  # of the projections, the scores and the output
    read: int  # bytes of keys and values read from the cache
    kept: int  # bytes of keys and values kept for the next step


def cost(sizes: Sizes, t: int, *, cached: bool) -> Cost:
    """What step t takes, of t tokens so far. Without a cache it is a whole run over the t tokens.

    A whole run computes hidden scores as well, as torch does here; numbers are float32.

    >>> cost(Sizes(d_model=8, d_k=4, d_v=4, n_heads=1, n_kv_heads=1), 6, cached=True)
    Cost(projected=1, multiplications=144, read=160, kept=192)
    """
    rows = 1 if cached else t
    features = sizes.n_heads * sizes.d_k + sizes.n_kv_heads * (sizes.d_k + sizes.d_v)  # of q, k and v of a token
    cells = sizes.n_heads * rows * t  # of the scores, and of the weights
    multiplications = rows * sizes.d_model * features + cells * (sizes.d_k + sizes.d_v)
    row = sizes.n_kv_heads * (sizes.d_k + sizes.d_v) * BYTES  # of a key and a value
    return Cost(rows, multiplications, row * (t - 1), row * t) if cached else Cost(rows, multiplications, 0, 0)


def total(sizes: Sizes, t: int, *, cached: bool) -> Cost:
    """What steps 1 to t take together; `kept` is what is kept after the last of them.

    >>> total(Sizes(d_model=8, d_k=4, d_v=4, n_heads=1, n_kv_heads=1), 2, cached=False)
    Cost(projected=3, multiplications=328, read=0, kept=0)
    """
    steps = [cost(sizes, i, cached=cached) for i in range(1, t + 1)]
    projected, multiplications, read = (sum(column) for column in list(zip(*steps, strict=True))[:3])
    return Cost(projected, multiplications, read, steps[-1].kept)


def multiplications_by_step(sizes: Sizes, n: int, *, cached: bool) -> list[int]:
    """The multiplications of each of steps 1 to n: see cost.

    >>> multiplications_by_step(Sizes(d_model=8, d_k=4, d_v=4, n_heads=1, n_kv_heads=1), 3, cached=True)
    [104, 112, 120]
    """
    return [cost(sizes, t, cached=cached).multiplications for t in range(1, n + 1)]


def bytes_by_step(sizes: Sizes, n: int) -> list[int]:
    """The bytes of the cache after each of steps 1 to n: see cost.

    >>> bytes_by_step(Sizes(d_model=8, d_k=4, d_v=4, n_heads=1, n_kv_heads=1), 3)
    [32, 64, 96]
    """
    return [cost(sizes, t, cached=True).kept for t in range(1, n + 1)]
