"""Masks that are set in place of the one that was meant: inverted, moved, in the wrong corner, on the wrong axis.

All are bool, True = may attend, as those of masks.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.core.masks import causal
from attnviz.core.shapes import check_shape

HIDES = -1e4  # what a floating mask adds where it hides: this or less


def split_mask(mask: Tensor | None, n_query: int, n_key: int) -> tuple[Tensor | None, Tensor | None]:
    """Part a mask into who may attend, bool (..., s, u), and what it adds, floating; None for either that it lacks.

    A floating mask hides where it is -1e4 or less. Raises TypeError for a dtype that is neither, ValueError for
    a shape that does not broadcast to (s, u).

    >>> visible, bias = split_mask(torch.tensor([[0.0, -1e9], [0.5, 0.0]]), 2, 2)
    >>> visible.int().tolist(), bias.tolist()
    ([[1, 0], [1, 1]], [[0.0, 0.0], [0.5, 0.0]])
    """
    if mask is None:
        return None, None
    check_shape("mask", mask, "...")
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(f"mask: expected dtype bool (True = may attend) or floating (added), got {mask.dtype}")
    rows, columns = (1, 1, *mask.shape)[-2:]
    if rows not in (1, n_query) or columns not in (1, n_key):
        target = f"(..., {n_query}, {n_key})"
        raise ValueError(f"mask: expected a shape that broadcasts to (..., s, u) = {target}, got {tuple(mask.shape)}")
    mask = mask.expand(*mask.shape[:-2], n_query, n_key)
    if mask.dtype == torch.bool:
        return mask, None
    visible = mask > HIDES
    bias = torch.where(visible, mask, 0)
    return (None if visible.all() else visible), (bias if bias.any() else None)


def as_causal(visible: Tensor) -> tuple[int | None, Tensor] | None:
    """Read a mask as causal(offset) and the keys that are there at all, (..., u); None where it is something else.

    The offset is None for a mask that hides keys alone.

    >>> offset, keys = as_causal(causal(3, 3) & torch.tensor([True, True, False]))
    >>> offset, keys.tolist()
    (0, [True, True, False])
    >>> as_causal(torch.eye(3).bool()) is None
    True
    """
    n_query, n_key = visible.shape[-2:]
    keys = visible.any(dim=-2)  # (..., u)
    if torch.equal(visible, keys[..., None, :].expand(visible.shape)):
        return None, keys
    seen = visible.flatten(end_dim=-3).any(dim=0) if visible.ndim > 2 else visible  # (s, u)
    ahead = torch.arange(n_key) - torch.arange(n_query)[:, None]  # (s, u)
    offset = int(ahead[seen.cpu()].max())
    bounded = causal(n_query, n_key, offset=offset).to(visible.device) & keys[..., None, :]
    return (offset, keys) if torch.equal(visible, bounded.expand(visible.shape)) else None


def other_masks(visible: Tensor | None, n_query: int, n_key: int) -> dict[str, Tensor]:
    """Every mask that could stand in place of the one that was meant, by a name; only those that differ from it.

    inverted, transposed, later and earlier (causal, off by one), corner (causal from the other corner), queries
    (padding hides the queries and not the keys); with no mask meant, causal and, of unequal lengths, corner.

    >>> sorted(other_masks(causal(3, 3), 3, 3))
    ['earlier', 'inverted', 'later', 'transposed']
    >>> other_masks(None, 2, 2)["causal"].int().tolist()
    [[1, 0], [1, 1]]
    """
    if visible is None:
        found = {"causal": causal(n_query, n_key)}
        if n_query != n_key:
            found["corner"] = causal(n_query, n_key, offset=n_key - n_query)
        return {name: mask for name, mask in found.items() if not mask.all()}
    found = {"inverted": ~visible}
    read = as_causal(visible)
    if read is not None:
        offset, keys = read
        if offset is not None:
            offsets = {"later": offset + 1, "earlier": offset - 1}
            offsets["corner"] = 0 if offset == n_key - n_query else n_key - n_query
            for name, moved in offsets.items():
                found[name] = causal(n_query, n_key, offset=moved).to(visible.device) & keys[..., None, :]
        if n_query == n_key and not keys.all():
            bound = causal(n_query, n_key, offset=n_key if offset is None else offset).to(visible.device)
            found["queries"] = bound & keys[..., :, None]
    if n_query == n_key and "queries" not in found:
        found["transposed"] = visible.mT
    return {name: mask for name, mask in found.items() if not torch.equal(mask, visible)}
