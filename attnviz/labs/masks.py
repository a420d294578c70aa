"""Masks: what a hidden score becomes, what then leaks, rows that see nothing, and the two masks of torch's layer."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.labs.softmax import over_axis


class Hidden(NamedTuple):
    """Attention in which a mask hid keys, one way or another."""

    scores: Tensor  # (s, u), as the softmax took them
    weights: Tensor  # (s, u), as the values were mixed with them
    output: Tensor  # (s, d)


class Leak(NamedTuple):
    """What hidden keys still get of the attention."""

    largest: float  # the largest weight on a hidden cell
    s: int  # that cell
    u: int
    total: float  # the sum of the weights on all hidden cells
    above: tuple[int, int, int] | None  # s, a hidden u and a seen one that gets less: where the gap is widest


class Nowhere(NamedTuple):
    """The rows that are wholly hidden, by the plain softmax and by the safe one."""

    rows: tuple[int, ...]
    plain: Tensor  # (s, u): NaN in those rows
    safe: Tensor  # (s, u): 0 in those rows
    plain_output: Tensor  # (s, d)
    safe_output: Tensor  # (s, d)
    spoiled: int  # numbers of V (u, d) whose gradient is NaN after the plain softmax


class Multihead(NamedTuple):
    """A mask as torch.nn.MultiheadAttention takes it: bool, and True HIDES, the opposite of ours."""

    attn_mask: Tensor  # (s, u)
    key_padding_mask: Tensor  # (b, u)
    both: Tensor  # (b, s, u): hidden by one or the other


def hide(scaled: Tensor, value: Tensor, mask: Tensor, *, hidden: float = -math.inf, after: bool = False) -> Hidden:
    """Attend with scaled scores (s, u) to values (u, d), where mask (s, u) is True = may attend.

    Hidden scores become `hidden` before the softmax; or, `after` it, hidden weights are multiplied by 0.

    >>> scaled, value, mask = torch.zeros(1, 2), torch.ones(2, 1), torch.tensor([[True, False]])
    >>> [hide(scaled, value, mask, **way).weights.tolist()[0] for way in ({}, {"hidden": 0.0}, {"after": True})]
    [[1.0, 0.0], [0.5, 0.5], [0.5, 0.0]]
    """
    scores = scaled if after else torch.where(mask, scaled, hidden)  # (s, u)
    weights = over_axis(scores, "u")
    if after:
        weights = weights * mask
    return Hidden(scores, weights, weights @ value)


def leak(weights: Tensor, mask: Tensor) -> Leak | None:
    """Say what of the weights (s, u) lies on hidden cells; None when the mask hides nothing.

    >>> leak(torch.tensor([[0.25, 0.75]]), torch.tensor([[True, False]]))
    Leak(largest=0.75, s=0, u=1, total=0.75, above=(0, 1, 0))
    """
    if bool(mask.all()):
        return None
    of_hidden = weights.masked_fill(mask, -math.inf)
    s, u = divmod(int(of_hidden.argmax()), weights.shape[1])
    most, hidden_key = of_hidden.max(-1)  # (s,)
    least, seen_key = weights.masked_fill(~mask, math.inf).min(-1)  # (s,)
    row = int((most - least).nan_to_num(-math.inf, neginf=-math.inf).argmax())
    above = (row, int(hidden_key[row]), int(seen_key[row])) if most[row] > least[row] else None
    return Leak(float(weights[s, u]), s, u, float(weights.masked_fill(mask, 0).double().sum()), above)


def leaks_of(scaled: Tensor, value: Tensor, mask: Tensor, hidden: Sequence[float]) -> tuple[Leak | None, ...]:
    """What leaks with each of some values in the hidden scores: see hide and leak.

    >>> found = leaks_of(torch.zeros(1, 2), torch.ones(2, 1), torch.tensor([[True, False]]), [0.0, -math.inf])
    >>> [one.total for one in found]
    [0.5, 0.0]
    """
    return tuple(leak(hide(scaled, value, mask, hidden=one).weights, mask) for one in hidden)


def hide_row(mask: Tensor, s: int) -> Tensor:
    """Let query s see nothing: (s, u) -> (s, u).

    >>> hide_row(masks.causal(2, 2), 1).int().tolist()
    [[1, 0], [0, 0]]
    """
    hidden = mask.clone()
    hidden[s] = False
    return hidden


def on_hidden(weights: Tensor, mask: Tensor) -> Tensor:
    """The sum of the weights (s, u) on the hidden cells of mask (s, u): ().

    >>> on_hidden(torch.tensor([[0.25, 0.75]]), torch.tensor([[True, False]])).item()
    0.75
    """
    return weights.masked_fill(mask, 0).sum()


def renormalised(weights: Tensor) -> Tensor:
    """Divide each row of weights (s, u) by its sum; a row of zeros stays.

    >>> renormalised(torch.tensor([[0.25, 0.25, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    sums = weights.sum(-1, keepdim=True)  # (s, 1)
    return weights / sums.masked_fill(sums == 0, 1)


def nowhere(scaled: Tensor, value: Tensor, mask: Tensor) -> Nowhere:
    """Attend with -inf in the hidden scores, by torch's softmax as it is and by the one that knows empty rows.

    >>> found = nowhere(torch.zeros(2, 2), torch.ones(2, 1), torch.tensor([[True, True], [False, False]]))
    >>> found.rows, found.plain[1].tolist(), found.safe[1].tolist(), found.spoiled
    ((1,), [nan, nan], [0.0, 0.0], 2)
    """
    masked = torch.where(mask, scaled, -math.inf)  # (s, u)
    plain, safe = torch.softmax(masked, dim=-1), over_axis(masked, "u")
    learned = value.detach().clone().requires_grad_()  # (u, d)
    with torch.enable_grad():
        plain_output = plain @ learned
        (gradient,) = torch.autograd.grad(plain_output.sum(), learned)
    rows = (~mask).all(-1).nonzero().flatten().tolist()
    return Nowhere(tuple(rows), plain, safe, plain_output.detach(), safe @ value, int(gradient.isnan().sum()))


def for_multihead(mask: Tensor, lengths: Sequence[int]) -> Multihead:
    """Write mask (s, u), True = may attend, and the lengths of b sequences as torch.nn.MultiheadAttention's masks.

    Source: torch.nn.MultiheadAttention.forward, on attn_mask and key_padding_mask.

    >>> for_multihead(masks.causal(2, 2), [1]).both.int().tolist()
    [[[0, 1], [0, 1]]]
    """
    padding = ~masks.padding(lengths, mask.shape[-1])[:, 0]  # (b, u)
    return Multihead(~mask, padding, ~mask | padding[:, None])


def segment_ids(tokens: Sequence[str]) -> tuple[int, ...]:
    """Number the segments of a text, which end with punctuation; without any inside, its two halves.

    >>> segment_ids(["I", "see", ".", "You", "too", "!"]), segment_ids(["the", "cat", "sat"])
    ((0, 0, 0, 1, 1, 1), (0, 0, 1))
    """
    ends = [all(unicodedata.category(c)[0] == "P" for c in token) for token in tokens]
    begins = [before and not here for before, here in zip([False, *ends], ends, strict=False)]  # "?!" is one end
    if not any(begins):
        return tuple(int(i >= (len(tokens) + 1) // 2) for i in range(len(tokens)))
    return tuple(accumulate(map(int, begins)))
