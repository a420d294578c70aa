"""What is looked at: one layer, sequence and head of the arrays that were brought, and how they were meant.

Letters: l layer, b sequence of the batch, h head, s query token, u key token, k feature of a query or key.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from torch import Tensor

from attnviz.core.diagnosis_masks import split_mask
from attnviz.core.masks import causal
from attnviz.core.rotary import Rotary, rotate
from attnviz.core.shapes import widened
from attnviz.lab import Lab
from attnviz.models.files_axes import Brought
from attnviz.models.files_causal import Sign
from attnviz.models.reading import LayerRead


class Given(NamedTuple):
    """One head of what was brought."""

    name: Hashable  # equal names, equal arrays and settings
    brought: Brought
    layer: int
    sample: int
    head: int
    queries: tuple[str, ...]  # what the tokens of s are called
    keys: tuple[str, ...]
    lab: Lab  # how it was meant
    assumed: Sign = ""  # why a causal mask is taken as meant, where none is given

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.brought.main.shape[0]

    @property
    def n_heads(self) -> int:
        """How many query heads there are."""
        return self.brought.main.shape[2]

    @property
    def square(self) -> bool:
        """Say whether queries and keys are the same tokens."""
        return self.queries == self.keys

    @property
    def scale(self) -> float | None:
        """What scores were to be multiplied by; None for 1/sqrt(k)."""
        return self.lab.given_scale or None

    @property
    def softcap(self) -> float | None:
        """The soft cap that was meant."""
        return self.lab.given_softcap or None

    @property
    def rotary(self) -> Rotary | None:
        """How queries and keys are rotated, where they come before it."""
        query = self.brought.query
        if self.lab.rotary == "none" or query is None or query.shape[-1] % 2:
            return None
        return Rotary("half" if self.lab.rotary == "half" else "interleaved", self.lab.rotary_base)

    def mask(self, layer: int | None = None) -> Tensor | None:
        """The mask that was meant, for all sequences of a layer: it broadcasts to (b, h, s, u)."""
        n_query, n_key = len(self.queries), len(self.keys)
        if self.lab.given_mask == "causal" or self.assumed:
            return causal(n_query, n_key, offset=n_key - n_query)[None, None]
        mask = self.brought.mask
        if self.lab.given_mask == "none" or mask is None:
            return None
        layer = self.layer if layer is None else layer
        return mask[layer if mask.shape[0] > 1 else 0]

    def read(self, layer: int | None = None) -> LayerRead:
        """The layer as it should have been computed, for the chosen sequence. Needs queries and keys."""
        layer = self.layer if layer is None else layer
        brought, b = self.brought, self.sample
        assert brought.query is not None and brought.key is not None
        query, key = widened(brought.query[layer, b]), widened(brought.key[layer, b])
        value = key[..., :0] if brought.value is None else widened(brought.value[layer, b])
        if self.rotary is not None:
            query, key = rotate(query, self.rotary), rotate(key, self.rotary)
        mask = self.mask(layer)
        visible, bias = split_mask(None if mask is None else mask[b if len(mask) > 1 else 0], *self._sizes)
        if bias is not None:
            bias = bias.expand(query.shape[0], *bias.shape[-2:]).to(query.dtype)
        return LayerRead(query, key, value, visible, bias, self.scale, self.softcap)

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.queries), len(self.keys)

    def theirs(self, layer: int | None = None) -> Tensor | None:
        """The weights that were brought, of the chosen sequence, (h, s, u): one head where they were averaged.

        Where they came as (h, u, s), which their diagnosis says, they are turned round.
        """
        weights = self.brought.weights
        if weights is None:
            return None
        found = weights[self.layer if layer is None else layer, self.sample].detach()
        return found if tuple(found.shape[-2:]) == self._sizes else found.mT

    def weights(self, layer: int | None = None) -> Tensor:
        """The weights of a layer (h, s, u): those that were brought, else as attention() computes them."""
        found = self.theirs(layer)
        return self.read(layer).weights() if found is None else found

    def map(self) -> Tensor:
        """The weights of the chosen head, (s, u)."""
        weights = self.weights()
        return weights[min(self.head, len(weights) - 1)]
