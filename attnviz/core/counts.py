"""How many numbers a projection learns, and what the same map would take without sharing across positions."""

from __future__ import annotations


def projection_parameters(d_model: int, n_heads: int, d_head: int) -> int:
    """Return the parameters of one projection W (m, h*k): every token is projected by the same W.

    >>> projection_parameters(512, 8, 64)
    262144
    """
    return d_model * n_heads * d_head


def dense_parameters(n: int, d_model: int, n_heads: int, d_head: int) -> int:
    """Return the parameters of a dense layer from a flattened sentence (n*m) to the same outputs (n*h*k).

    >>> dense_parameters(10, 512, 8, 64) // projection_parameters(512, 8, 64)
    100
    """
    return (n * d_model) * (n * n_heads * d_head)
