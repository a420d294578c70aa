"""What a trained model's attention read and gave on one text: every layer's queries, keys and values.

Letters: l layer, h head, h_kv key-value head, s query token, u key token, k feature of a query or key, d of a value.
Queries, keys and values of all layers are kept, as the model used them: after normalisation and rotation. Maps are
not: those of a layer are computed when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.attention import AttentionTrace, attention
from attnviz.core.masks import combine
from attnviz.models.tokens import Token


class Check(NamedTuple):
    """How far attention() is from what it is compared with, at most."""

    weights: float
    output: float
    by: str  # "model": what the model returned while it ran; "torch": its fused attention, on the same tensors


@dataclass(frozen=True, eq=False)
class LayerRead:
    """What one layer's attention worked with."""

    query: Tensor  # (h, s, k), after rotation
    key: Tensor  # (h_kv, u, k), after rotation
    value: Tensor  # (h_kv, u, d)
    mask: Tensor | None = None  # bool (s, u) or (h, s, u), True = may attend; None when all may
    bias: Tensor | None = None  # (h, s, u), added to the scaled scores, as T5's and ALiBi's are
    scale: float | None = None  # 1/sqrt(k) when None
    softcap: float | None = None
    carried: Tensor | None = None  # (h, u), ||v_u W_O||: how much of a value reaches the model's stream
    returned: Check | None = None  # found while the model ran, where it returns its weights

    @property
    def added(self) -> Tensor | None:
        """Mask and bias as attention() and explain() take them: bool without a bias, else floating with -inf."""
        return combine(self.mask, self.bias)

    def trace(self, head: int | None = None) -> AttentionTrace:
        """Every step of this layer's attention, or of one of its heads, which keeps its axis: (h, s, u) or (1, s, u).

        Raises ValueError for a head that is none.

        >>> read = LayerRead(torch.zeros(4, 3, 2), torch.zeros(2, 3, 2), torch.ones(2, 3, 5))
        >>> read.trace().weights.shape, read.trace(head=3).output.shape
        (torch.Size([4, 3, 3]), torch.Size([1, 3, 5]))
        """
        query, key, value, added = self.query, self.key, self.value, self.added
        if head is not None:
            n_heads = query.shape[0]
            if not 0 <= head < n_heads:
                raise ValueError(f"head: expected a whole number from 0 below {n_heads}, got {head}")
            shared = head * key.shape[0] // n_heads
            query, key, value = query[head : head + 1], key[shared : shared + 1], value[shared : shared + 1]
            added = added[head : head + 1] if added is not None and added.ndim == 3 and added.shape[0] > 1 else added
        return attention(query, key, value, mask=added, scale=self.scale, softcap=self.softcap)

    def weights(self) -> Tensor:
        """The maps of all heads, the trace's, without its output: (h, s, u)."""
        nothing = self.value[..., :0]  # (h_kv, u, 0)
        trace = attention(self.query, self.key, nothing, mask=self.added, scale=self.scale, softcap=self.softcap)
        return trace.weights

    def contribution(self) -> Tensor | None:
        """How much each key adds to each row's output, a ||v_u W_O||: (h, s, u); None where W_O was not found.

        Source: Kobayashi et al. 2020 (Attention is not only a weight), the norm-based analysis.
        """
        return None if self.carried is None else self.weights() * self.carried[:, None, :]

    def check(self) -> Check:
        """Compare weights and output with the model's own, or with those of torch's fused attention.

        The fused attention returns no weights; with the identity as values its output is the weights.

        >>> LayerRead(torch.eye(3)[None], torch.eye(3)[None], torch.ones(1, 3, 2)).check().weights < 1e-6
        True
        """
        return self.returned or compared(self, *_fused(self))


def compared(read: LayerRead, weights: Tensor, output: Tensor, by: str = "torch") -> Check:
    """The largest differences of a layer's weights (h, s, u) and output (h, s, d) from others of the same shape."""
    trace = read.trace()
    apart = ((trace.weights - weights).abs().max(), (trace.output - output).abs().max())
    return Check(float(apart[0]), float(apart[1]), by)


def _fused(read: LayerRead) -> tuple[Tensor, Tensor]:
    if read.softcap is not None:
        raise ValueError("softcap: expected None, for torch's fused attention has none, got a number")
    query, key, value = (x[None] for x in (read.query, read.key, read.value))  # (1, h, s, k), ...
    added = read.added
    if added is not None and added.ndim == 3:
        added = added[None]  # (1, h, s, u)
    n_key = key.shape[-2]
    identity = torch.eye(n_key, dtype=value.dtype).expand(1, key.shape[1], n_key, n_key)
    weights, output = (
        scaled_dot_product_attention(query, key, x, added, scale=read.scale, enable_gqa=True)[0]
        for x in (identity, value)
    )
    return weights, output


class Part(NamedTuple):
    """The attentions of one kind in a model, and what their rows and columns are."""

    kind: str  # "encoder", "decoder" or "cross", in which a decoder reads an encoder
    layers: tuple[LayerRead, ...]
    queries: tuple[Token, ...]  # of s
    keys: tuple[Token, ...]  # of u; in an encoder or a decoder the same as of s


class Guess(NamedTuple):
    """A token that may come next."""

    id: int
    shown: str
    probability: float
    whole: bool = True  # False: it is bytes of a character that is not complete by them, shown as such


class Shortened(NamedTuple):
    """A text of more tokens than are read: all from `character` on was left out."""

    text: int  # which of the texts
    character: int
    limit: int  # tokens that are read, of both texts and the model's own


class Reading(NamedTuple):
    """A text, its tokens, and all that a model's attention did with them."""

    model: str  # the code it was loaded by
    texts: tuple[str, ...]
    parts: tuple[Part, ...]
    shortened: tuple[Shortened, ...] = ()
    embedding: Tensor | None = None  # (m,), of the whole text, where the model is an encoder
    probabilities: Tensor | None = None  # (v,), of the token after the last one, where the model writes
    guesses: tuple[Guess, ...] = ()  # the most probable of them, the first first

    def part(self, kind: str) -> Part:
        """The part of a kind. Raises ValueError where the model has none."""
        for part in self.parts:
            if part.kind == kind:
                return part
        raise ValueError(f"kind: expected one of {', '.join(part.kind for part in self.parts)}, got {kind!r}")

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors that are kept; what layers share counts once."""
        kept = [self.embedding, self.probabilities]
        for part in self.parts:
            for read in part.layers:
                kept += [read.query, read.key, read.value, read.mask, read.bias, read.carried]
        storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in kept if x is not None}
        return sum(storages.values())
