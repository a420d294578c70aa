"""The model: embeddings, layers of attention alone, and a read-out, in the sums of attnviz.core.

    x_bsm       the embedding of each token, the residual stream
    a layer     queries and keys of x + positions, values of x; its output is added to x
    logits_bsv  x times the unembedding

Learned and sinusoidal positions go into queries and keys only, so that what is carried on is the tokens' own
(position-infused attention: Press et al. 2021, Shortformer, section 4). No biases, no norms, no feed-forward layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace, attention, project
from attnviz.core.heads import merge_heads, split_heads
from attnviz.core.masks import combine
from attnviz.core.positions import Rotary, alibi, rotate, sinusoidal
from attnviz.core.shapes import check_shape
from attnviz.training.recipe import Recipe
from attnviz.training.tasks import mask, stream

# Standard deviations of what is drawn. The small read-out lets the loss begin at chance, ln of the symbols.
SPREADS = {"embedding": 0.5, "positions": 0.5}
READ_OUT = 0.1  # of 1/sqrt(m)


class LayerWeights(NamedTuple):
    """What one layer has learned; head h owns the features h*k to (h + 1)*k - 1."""

    w_q: Tensor  # (m, h*k)
    w_k: Tensor  # (m, h*k)
    w_v: Tensor  # (m, h*d)
    w_o: Tensor  # (h*d, m)


class Weights(NamedTuple):
    """All that is learned."""

    embedding: Tensor  # (v, m), one row a symbol
    positions: Tensor | None  # (s, m), where they are learned
    layers: tuple[LayerWeights, ...]
    unembedding: Tensor  # (m, v)

    def items(self) -> Iterator[tuple[str, Tensor]]:
        """Go through every tensor by its name, such as "layers.0.w_q"."""
        yield "embedding", self.embedding
        if self.positions is not None:
            yield "positions", self.positions
        for number, layer in enumerate(self.layers):
            for name, weight in layer._asdict().items():
                yield f"layers.{number}.{name}", weight
        yield "unembedding", self.unembedding

    def copy(self) -> Weights:
        """Return the numbers as they are now, apart from any gradient."""
        return named({name: weight.detach().clone() for name, weight in self.items()})


class Layer(NamedTuple):
    """Every tensor of one layer."""

    x_qk: Tensor  # (b, s, m)  what queries and keys are made of: x and the positions
    x: Tensor  # (b, s, m)  what values are made of: the residual stream as it comes in
    trace: AttentionTrace  # heads at axis -3; query and key after rotation
    output: Tensor  # (b, s, m)  the merged heads projected: what is added to x


class Forward(NamedTuple):
    """What the model made of some sequences."""

    logits: Tensor  # (b, s, v)
    layers: tuple[Layer, ...]  # none unless they were asked for


def shapes(recipe: Recipe) -> dict[str, tuple[int, int]]:
    """Return the shape of every tensor of the weights by its name, in their order.

    >>> shapes(Recipe("sort", layers=1, width=8))["embedding"]
    (10, 8)
    """
    n_symbols, m = len(recipe.vocabulary), recipe.width
    found = {"embedding": (n_symbols, m)}
    if recipe.positions == "learned":
        found["positions"] = (recipe.seq_len, m)
    found |= {f"layers.{i}.{name}": (m, m) for i in range(recipe.layers) for name in LayerWeights._fields}
    return found | {"unembedding": (m, n_symbols)}


def named(tensors: Mapping[str, Tensor]) -> Weights:
    """Return the weights that are made of tensors by their names, the inverse of dict(weights.items()).

    Raises KeyError for a name that is missing.
    """
    n_layers = sum(name.endswith(".w_q") for name in tensors)
    layers = tuple(
        LayerWeights(*(tensors[f"layers.{number}.{name}"] for name in LayerWeights._fields))
        for number in range(n_layers)
    )
    return Weights(tensors["embedding"], tensors.get("positions"), layers, tensors["unembedding"])


def initial(recipe: Recipe) -> Weights:
    """Draw the untrained weights of a recipe: float32, normal, the same on every machine.

    A matrix has standard deviation 1/sqrt(its rows), so that no product grows; see also SPREADS.

    >>> initial(Recipe(layers=1)).embedding.shape
    torch.Size([26, 32])
    """
    generator = stream(recipe, "weights")
    tensors = {}
    for name, shape in shapes(recipe).items():
        # float64 draws are alike on every processor, float32 ones are not
        numbers = torch.randn(shape, dtype=torch.float64, generator=generator)
        spread = SPREADS.get(name, 1 / math.sqrt(shape[0])) * (READ_OUT if name == "unembedding" else 1)
        tensors[name] = (numbers * spread).float()
    return named(tensors)


def forward(recipe: Recipe, weights: Weights, tokens: Tensor, *, keep: bool = False) -> Forward:
    """Read sequences: tokens (b, s) -> logits (b, s, v), and with `keep` every step of every layer.

    Raises ValueError for tokens without two axes, of no symbol, or more than seq_len of them where positions are
    learned.

    >>> recipe = Recipe(layers=2, heads=4)
    >>> read = forward(recipe, initial(recipe), torch.tensor([[0, 1, 2]]), keep=True)
    >>> read.logits.shape, read.layers[1].trace.weights.shape
    (torch.Size([1, 3, 26]), torch.Size([1, 4, 3, 3]))
    """
    check_shape("tokens", tokens, "b s")
    places = added(recipe, weights, tokens.shape[-1])  # (s, m) or None
    seen = attended(recipe, tokens.shape[-1])  # (s, u) or (h, s, u) or None
    x = torch.nn.functional.embedding(tokens, weights.embedding)  # (b, s, m)
    layers = []
    for layer in weights.layers:
        x_qk = x if places is None else x + places  # (b, s, m)
        query = split_heads(project(x_qk, layer.w_q), recipe.heads)  # (b, h, s, k)
        key = split_heads(project(x_qk, layer.w_k), recipe.heads)  # (b, h, u, k)
        value = split_heads(project(x, layer.w_v), recipe.heads)  # (b, h, u, d)
        if recipe.positions == "rope_half":
            query, key = rotate(query, Rotary("half")), rotate(key, Rotary("half"))
        trace = attention(query, key, value, mask=seen)
        output = project(merge_heads(trace.output), layer.w_o)  # (b, s, m)
        if keep:
            layers.append(Layer(x_qk, x, trace, output))
        x = x + output
    return Forward(project(x, weights.unembedding), tuple(layers))


def added(recipe: Recipe, weights: Weights, n: int) -> Tensor | None:
    """What the positions add to the inputs of queries and keys, for n tokens: (s, m), or None."""
    if weights.positions is not None:
        if n > len(weights.positions):
            raise ValueError(f"tokens: expected at most {len(weights.positions)} a sequence, got {n}")
        return weights.positions[:n]
    return sinusoidal(n, recipe.width) if recipe.positions == "sinusoidal" else None


def attended(recipe: Recipe, n: int) -> Tensor | None:
    """What is given to attention as its mask: bool (s, u), with ALiBi floating (h, s, u); None when all may attend."""
    bias = alibi(n, n, recipe.heads) if recipe.positions == "alibi" else None
    return combine(mask(recipe, n), bias)
