"""What a head makes of tokens that came before: the duplicate-token and the induction pattern, and their scores.

    tokens      ... A B ... A          the row of the second A
    duplicate       ^                  gives its weight to the first A
    induction         ^                gives its weight to what followed it, and so can say B next

ids tell which tokens are the same: whole numbers or strings, one for each key token u. (n,) serves all maps;
(b, n) is one sequence for each of weights (b, s, u) or (b, h, s, u): the head axis may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnviz.core.shapes import broadcast, check_count, check_floating, check_shape, widened

_EXPECTED = "expected a whole number or a string for each token"
Ids = Tensor | Sequence[int] | Sequence[str] | Sequence[Sequence[int]] | Sequence[Sequence[str]]


def duplicate_token_mass(weights: Tensor, ids: Ids, *, offset: int = 0) -> Tensor:
    """What each row gives to its own token where it came earlier: (..., s, u) -> (..., s).

    The sum of a over the keys u < s + offset with the id of token s + offset; 0 where it is new. Query s is
    token s + offset of ids. Raises ValueError for ids that do not fit and an offset that leaves a query without
    an id, TypeError for dtypes. Source: Wang et al. 2022 (Interpretability in the wild), section 3.

    >>> duplicate_token_mass(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.75, 0.0, 0.25]]), ["a", "b", "a"])
    tensor([0.0000, 0.0000, 0.7500])
    """
    return _mass(weights, _earlier(weights, ids, offset))


def induction_mass(weights: Tensor, ids: Ids, *, offset: int = 0) -> Tensor:
    """What each row gives to the tokens that followed its own earlier: (..., s, u) -> (..., s).

    The sum of a over the keys u <= s + offset whose token u - 1 is an earlier one with the id of token
    s + offset; 0 where it is new. Query s is token s + offset of ids. The mean over the rows that have such a
    key is score(induction_mass(weights, ids), seen_before(ids)). Raises as duplicate_token_mass does.
    Source: Elhage et al. 2021 (induction heads); Olsson et al. 2022, appendix, head activation evaluators,
    prefix matching.

    >>> induction_mass(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.75, 0.25]]), ["a", "b", "a"])
    tensor([0.0000, 0.0000, 0.7500])
    """
    # No token comes after the last one, so its column is empty, and none that is rolled round to column 0 counts.
    return _mass(weights, _earlier(weights, ids, offset).roll(1, dims=-1))


def seen_before(ids: Ids) -> Tensor:
    """Tell the tokens that came earlier in their sequence, whose two masses above mean something: bool (..., n).

    Padding repeats too: leave its rows out by `& real`, where real tells what is no padding. Raises ValueError
    for ids without an axis, TypeError for ids that are neither whole numbers nor strings.

    >>> seen_before(["a", "b", "a", "a"])
    tensor([False, False,  True,  True])
    """
    codes = _codes(ids)  # (..., n)
    return _same_and_earlier(codes, codes, 0).any(dim=-1)


def score(mass: Tensor, where: Tensor | None = None) -> Tensor:
    """One number a map: the mean of its rows' masses over the rows where they are defined, (..., s) -> (...).

    where: bool, True = the row counts, broadcast to (..., s), its head axis left out or not; all rows without
    it. 0 where no row counts. Half precision is summed in float32. Raises ValueError for shapes, TypeError for
    dtypes, that do not fit.

    >>> score(torch.tensor([[0.0, 0.0, 0.5, 1.0]]), seen_before(["a", "b", "a", "b"]))
    tensor([0.7500])
    """
    check_shape("mass", mass, "... s")
    if not mass.is_floating_point():
        raise TypeError(f"mass: expected a floating dtype, got {mass.dtype}")
    if where is None:
        where = torch.ones((), dtype=torch.bool, device=mass.device)
    check_shape("where", where, "...")
    if where.dtype != torch.bool:
        raise TypeError(f"where: expected dtype torch.bool (True = the row counts), got {where.dtype}")
    counted = _with_heads("where", where, tuple(mass.shape)).expand(mass.shape)  # (..., s)
    total = torch.where(counted, widened(mass), 0).sum(dim=-1)  # (...)
    return (total / counted.sum(dim=-1).clamp_min(1)).to(mass.dtype)


def _mass(weights: Tensor, counted: Tensor) -> Tensor:
    return torch.where(counted, widened(weights), 0).sum(dim=-1).to(weights.dtype)  # (..., s)


def _earlier(weights: Tensor, ids: Ids, offset: int) -> Tensor:
    """Where key token u came before query token s and has the same id: bool, broadcasts to (..., s, u)."""
    check_floating("weights", weights, "... s u")
    *leading, n_query, n_key = weights.shape
    codes = _codes(ids).to(weights.device)
    check_shape("ids", codes, "... n", n=n_key)
    if n_query > n_key:
        raise ValueError(f"weights: expected no more query tokens s than ids, {n_key}, got {tuple(weights.shape)}")
    offset = check_count("offset", offset)
    if offset > n_key - n_query:
        raise ValueError(
            f"offset: expected at most u - s = {n_key - n_query}, so that each query token s + offset has an id,"
            f" got {offset}"
        )
    codes = _with_heads("ids", codes, (*leading, n_key))
    return _same_and_earlier(codes[..., offset : offset + n_query], codes, offset)


def _same_and_earlier(asked: Tensor, read: Tensor, offset: int) -> Tensor:
    same = asked[..., :, None] == read[..., None, :]  # (..., s, u)
    return same.tril(offset - 1)  # u <= s + offset - 1


def _with_heads(name: str, x: Tensor, target: tuple[int, ...]) -> Tensor:
    """x (..., n), with an axis for the heads where it lacks just that; it then broadcasts to the target."""
    spread = x[..., None, :] if 1 < x.ndim < len(target) else x
    if broadcast(spread.shape, target) != target:
        raise ValueError(
            f"{name}: expected a shape that broadcasts to {target}, its head axis (-2) left out or not, got"
            f" {tuple(x.shape)}"
        )
    return spread


def _codes(ids: Ids) -> Tensor:
    """The ids as whole numbers (..., n), equal where the tokens are."""
    if isinstance(ids, Tensor):
        codes = ids
        if codes.is_floating_point() or codes.is_complex():
            raise TypeError(f"ids: {_EXPECTED}, got dtype {codes.dtype}")
    else:
        if isinstance(ids, str):  # a sequence of characters to Python; more likely a text not yet split
            raise TypeError(f"ids: {_EXPECTED}, got one string of {len(ids)} characters")
        numbered = _numbered(ids, {})
        try:
            codes = torch.tensor(numbered, dtype=torch.int64)
        except (TypeError, ValueError):
            raise ValueError("ids: expected sequences of one length, got several lengths") from None
    if codes.ndim == 0:
        raise ValueError("ids: expected shape (..., n), got ()")
    return codes


def _numbered(ids: object, known: dict[int | str, int]) -> Any:
    """ids with a whole number for each distinct leaf, in the order in which they come."""
    if hasattr(ids, "tolist"):  # a tensor or an array among the sequences
        ids = ids.tolist()
    if isinstance(ids, int | str):
        return known.setdefault(ids, len(known))
    if isinstance(ids, Sequence):
        return [_numbered(part, known) for part in ids]
    raise TypeError(f"ids: {_EXPECTED}, got {type(ids).__name__}")
