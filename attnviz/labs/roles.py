"""Queries, keys and values: what changes when two of them are made alike, or when one is taken away."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import project
from attnviz.core.counts import projection_parameters

ROUNDING = 1e-6  # of the product of two lengths: dot products closer than this are taken as equal


class Mirror(NamedTuple):
    """Scores beside their transpose; each tensor is (s, s)."""

    scores: Tensor  # S_su = q_s . k_u
    transposed: Tensor  # S_us
    difference: Tensor  # S_su - S_us
    most: float  # the largest difference, whatever its sign
    at: tuple[int, int]  # where it is, s and u


class Diagonal(NamedTuple):
    """The diagonal of the scores (s, s) against the rest of its row; each tensor is (s,)."""

    own: Tensor  # S_ss
    rival: Tensor  # the largest of the others, -inf where there is none
    at: Tensor  # the u of that
    wins: Tensor  # whether no other is larger; one that is equal but for rounding is not


class Product(NamedTuple):
    """W_Q W_K^T of a head: all that the scores know of the two matrices."""

    product: Tensor  # (m, m)
    singular: Tensor  # (m,) its singular values, the largest first, in float64
    rank: int  # how many of them are more than rounding
    most: float  # the largest difference between Q K^T and X (W_Q W_K^T) X^T
    factored: int  # numbers in W_Q and W_K together, 2 * d_model * d_k
    whole: int  # numbers in a matrix of the product's shape, d_model * d_model


def value_table(value_is: str, *, value: Tensor, key: Tensor, x: Tensor) -> Tensor:
    """What stands in the place of V: "v" the values (u, d), "k" the keys (u, k), "x" X (u, m), "i" the identity (u, u).

    >>> value_table("i", value=torch.zeros(2, 3), key=torch.zeros(2, 3), x=torch.zeros(2, 3)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return {"v": value, "k": key, "x": x, "i": torch.eye(len(x), dtype=x.dtype)}[value_is]


def mixed(weights: Tensor, table: Tensor) -> Tensor:
    """The output (s, d): each row of the weights (s, u) mixes the rows of the table (u, d) that stands for V.

    >>> mixed(torch.tensor([[0.25, 0.75]]), torch.eye(2)).tolist()
    [[0.25, 0.75]]
    """
    return weights @ table  # (s, d)


def mirror(query: Tensor, key: Tensor) -> Mirror:
    """The scores of queries and keys (s, k) beside their transpose.

    The same products are summed for S_su and S_us when the key is the query, but a matrix product may add them in
    another order: the difference is then rounding, not always 0.

    >>> mirror(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).difference.tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """
    scores = query @ key.mT  # (s, u)
    difference = scores - scores.mT
    s, u = divmod(int(difference.abs().argmax()), len(scores))
    return Mirror(scores, scores.mT, difference, float(difference[s, u].abs()), (s, u))


def diagonal(query: Tensor, key: Tensor) -> Diagonal:
    """Whether S_ss is the largest of its row, for each row of queries and keys (s, k).

    A longer vector can beat a token's own: 1 * 1 < 1 * 3.

    >>> diagonal(torch.tensor([[1.0], [3.0]]), torch.tensor([[1.0], [3.0]])).wins.tolist()
    [False, True]
    """
    scores = query @ key.mT  # (s, u)
    own = scores.diagonal()
    others = scores.clone().fill_diagonal_(-torch.inf)
    rival, at = others.max(-1)
    rounding = ROUNDING * query.norm(dim=-1) * key.norm(dim=-1).max()  # (s,)
    return Diagonal(own, rival, at, own >= rival - rounding)


def product(x: Tensor, w_q: Tensor, w_k: Tensor) -> Product:
    """What W_Q and W_K (m, k) of a head are together, and that the scores of x (s, m) need no more than that.

    >>> product(torch.eye(2), torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [2.0]])).product.tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    m, k = w_q.shape
    joint = w_q @ w_k.mT  # (m, m)
    # In float64, where what is 0 but for rounding stands far below what is not.
    singular = torch.linalg.svdvals(w_q.double() @ w_k.double().mT)
    rank = int((singular > singular[0] * m * torch.finfo(torch.float64).eps).sum())
    scores = project(x, w_q) @ project(x, w_k).mT  # (s, u)
    most = float((scores - x @ joint @ x.mT).abs().max())
    return Product(joint, singular, rank, most, 2 * projection_parameters(m, 1, k), projection_parameters(m, 1, m))


def largest_difference(left: Tensor, right: Tensor) -> float | None:
    """The largest difference between the cells of two tables; None when they have not the same shape.

    >>> largest_difference(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 5.0]]))
    3.0
    """
    return float((left - right).abs().max()) if left.shape == right.shape else None
