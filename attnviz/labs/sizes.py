"""What attention costs by its sizes: parameters, multiplications and bytes of every step, of any length of sentence."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.core.counts import dense_parameters, projection_parameters

BYTES = 4  # of a float32
LENGTHS = tuple(2**i for i in range(16))  # 1 to 32,768 tokens


class Sizes(NamedTuple):
    """The sizes of one layer; d_k and d_v are of one head."""

    d_model: int
    d_k: int
    d_v: int
    n_heads: int
    n_kv_heads: int


class Cost(NamedTuple):
    """What one step costs for one sequence."""

    step: str
    parameters: int  # numbers that are learned
    multiplications: int  # multiplications and divisions
    bytes: int  # of its result, in float32


class Growth(NamedTuple):
    """One kind of cost at each of some lengths."""

    lengths: tuple[int, ...]  # tokens
    attention: list[int]  # of all its steps
    dense: list[int]  # of the dense layer


def costs(sizes: Sizes, n: int) -> tuple[Cost, ...]:
    """Return the cost of each step of attention over n tokens, from the queries to the output.

    >>> [cost.parameters for cost in costs(Sizes(8, 4, 4, 2, 1), n=10)]
    [64, 32, 32, 0, 0, 0, 0]
    """
    m, k, d, h, h_kv = sizes
    cells = h * n * n
    made = (
        ("query", projection_parameters(m, h, k), n * m * h * k, n * h * k),
        ("key", projection_parameters(m, h_kv, k), n * m * h_kv * k, n * h_kv * k),
        ("value", projection_parameters(m, h_kv, d), n * m * h_kv * d, n * h_kv * d),
        ("scores", 0, cells * k, cells),
        ("scaled", 0, cells, cells),
        ("weights", 0, cells, cells),  # one division a cell; exponentials are no multiplications
        ("output", 0, cells * d, n * h * d),
    )
    return tuple(Cost(step, parameters, times, BYTES * numbers) for step, parameters, times, numbers in made)


def total(made: tuple[Cost, ...]) -> Cost:
    """Return the sums over all steps.

    >>> total(costs(Sizes(8, 4, 4, 2, 1), n=10)).parameters
    128
    """
    return Cost("total", *(sum(getattr(cost, name) for cost in made) for name in Cost._fields[1:]))


def dense(sizes: Sizes, n: int) -> Cost:
    """Return the cost of one dense layer from the flattened sentence to all that attention puts out.

    >>> dense(Sizes(8, 4, 4, 2, 1), n=10).parameters == (10 * 8) * (10 * 2 * 4)
    True
    """
    weights = dense_parameters(n, sizes.d_model, sizes.n_heads, sizes.d_v)
    return Cost("dense", weights, weights, BYTES * n * sizes.n_heads * sizes.d_v)


def compared(sizes: Sizes, n: int) -> tuple[Cost, ...]:
    """Return the cost of each step of attention over n tokens, then of all together, then of the dense layer.

    >>> [cost.parameters for cost in compared(Sizes(8, 4, 4, 2, 1), n=10)]
    [64, 32, 32, 0, 0, 0, 0, 128, 6400]
    """
    made = costs(sizes, n)
    return (*made, total(made), dense(sizes, n))


def growth(sizes: Sizes, kind: str) -> Growth:
    """Return one kind of cost, a field of Cost, at each of LENGTHS.

    >>> growth(Sizes(8, 4, 4, 2, 1), "parameters").dense[:3]
    [64, 256, 1024]
    """
    attention = [int(getattr(total(costs(sizes, n)), kind)) for n in LENGTHS]
    return Growth(LENGTHS, attention, [int(getattr(dense(sizes, n), kind)) for n in LENGTHS])


def split(sizes: Sizes, n_heads: int) -> Sizes:
    """Return a layer of the same width cut into n_heads heads: h*k and h*d stay what they are.

    ValueError where the width cannot be cut so.

    >>> split(Sizes(8, 4, 4, 2, 2), 4)
    Sizes(d_model=8, d_k=2, d_v=2, n_heads=4, n_kv_heads=4)
    """
    widths = (sizes.n_heads * sizes.d_k, sizes.n_heads * sizes.d_v)
    if any(width % n_heads for width in widths):
        raise ValueError(f"n_heads must divide the widths h*k={widths[0]} and h*d={widths[1]}, {n_heads} does not")
    return Sizes(sizes.d_model, widths[0] // n_heads, widths[1] // n_heads, n_heads, n_heads)
