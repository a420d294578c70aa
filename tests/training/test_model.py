"""The model against the same one written plainly in torch, and what it keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.positions import alibi, sinusoidal
from attnviz.core.rotary import rotate
from attnviz.training.model import READ_OUT, SPREADS, Weights, forward, initial, named
from attnviz.training.recipe import POSITIONS, TASKS, Recipe
from attnviz.training.tasks import batch, causal
from attnviz.training.trainer import loss_of

TEXT = "the cat sat on the mat, and the dog sat on the cat. " * 8
GOLDEN_EMBEDDING = [-1.15521, -0.18663, -0.53041]
GOLDEN_W_O = [0.47852, 0.27687, -0.07655]


def plain(recipe: Recipe, weights: Weights, tokens: Tensor) -> Tensor:
    """The logits, by torch's own attention; its masks, positions and heads are written out here."""
    x, n = weights.embedding[tokens], tokens.shape[1]
    bias = torch.zeros(n, n)
    if recipe.positions == "alibi":
        bias = alibi(n, n, recipe.heads)
    if causal(recipe):
        bias = bias + torch.full((n, n), -torch.inf).triu(1)
    for w_q, w_k, w_v, w_o in weights.layers:
        inside = x
        if recipe.positions == "learned":
            assert weights.positions is not None
            inside = x + weights.positions[:n]
        elif recipe.positions == "sinusoidal":
            inside = x + sinusoidal(n, recipe.width)
        q, k, v = (
            torch.stack(projected.chunk(recipe.heads, dim=-1), dim=1)
            for projected in (inside @ w_q, inside @ w_k, x @ w_v)
        )
        if recipe.positions == "rope_half":
            q, k = rotate(q), rotate(k)
        heads = scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + torch.cat(heads.unbind(dim=1), dim=-1) @ w_o
    return x @ weights.unembedding


@settings(max_examples=40)
@given(
    st.sampled_from(TASKS),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(POSITIONS),
    st.integers(0, 99),
)
def test_the_logits_are_those_of_the_plain_model(task: str, layers: int, heads: int, positions: str, seed: int):
    recipe = Recipe(task, layers, heads, 16, positions, seed, text=TEXT)
    weights = initial(recipe)
    tokens = batch(recipe, 3, torch.Generator().manual_seed(seed)).tokens
    read = forward(recipe, weights, tokens)
    assert read.logits.shape == (3, recipe.seq_len, len(recipe.vocabulary)) and read.layers == ()
    assert torch.allclose(read.logits, plain(recipe, weights, tokens), rtol=0, atol=1e-5)


@pytest.mark.parametrize("positions", POSITIONS)
def test_every_step_of_every_layer_is_kept_and_they_make_the_logits(positions: str) -> None:
    recipe = Recipe(layers=3, heads=2, width=16, positions=positions)
    weights = initial(recipe)
    tokens = batch(recipe, 2, torch.Generator().manual_seed(0)).tokens
    read = forward(recipe, weights, tokens, keep=True)
    assert len(read.layers) == 3
    x = weights.embedding[tokens]
    for layer in read.layers:
        assert torch.equal(layer.x, x)
        assert layer.trace.weights.shape == (2, 2, 24, 24)
        assert torch.allclose(layer.trace.weights.sum(-1), torch.ones(2, 2, 24), atol=1e-5)
        assert not layer.trace.weights.triu(1).any()
        assert torch.equal(layer.x_qk, layer.x) == (positions not in ("learned", "sinusoidal"))
        x = x + layer.output
    assert torch.equal(x @ weights.unembedding, read.logits)
    assert torch.equal(read.logits, forward(recipe, weights, tokens).logits)


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_gradient_reaches_every_weight(positions: str) -> None:
    recipe = Recipe(layers=2, heads=2, width=16, positions=positions)
    tensors = {name: weight.requires_grad_() for name, weight in initial(recipe).items()}
    asked = batch(recipe, 16, torch.Generator().manual_seed(0))
    loss_of(forward(recipe, named(tensors), asked.tokens).logits, asked).backward()
    for name, weight in tensors.items():
        assert weight.grad is not None and weight.grad.isfinite().all() and weight.grad.any(), name


def test_the_gradient_is_that_of_the_plain_model() -> None:
    recipe = Recipe(heads=2, width=16)
    asked = batch(recipe, 16, torch.Generator().manual_seed(0))
    grads = []
    for logits_of in (lambda w: forward(recipe, w, asked.tokens).logits, lambda w: plain(recipe, w, asked.tokens)):
        tensors = {name: weight.requires_grad_() for name, weight in initial(recipe).items()}
        loss_of(logits_of(named(tensors)), asked).backward()
        grads.append(torch.cat([weight.grad.flatten() for weight in tensors.values() if weight.grad is not None]))
    assert grads[0].abs().max() > 1e-3
    ours, theirs = grads
    assert len(ours) == recipe.n_parameters and torch.allclose(ours, theirs, rtol=0, atol=1e-6)


def test_untrained_weights_are_of_the_seed_and_have_the_spread_that_is_said() -> None:
    recipe = Recipe(width=64)
    weights, again, other = initial(recipe), initial(recipe), initial(Recipe(width=64, seed=1))
    for (name, one), (_, two), (_, three) in zip(weights.items(), again.items(), other.items(), strict=True):
        assert torch.equal(one, two) and not torch.equal(one, three), name
    assert float(weights.embedding.std()) == pytest.approx(SPREADS["embedding"], rel=0.1)
    assert float(weights.layers[0].w_q.std()) == pytest.approx(1 / 8, rel=0.1)
    assert float(weights.unembedding.std()) == pytest.approx(READ_OUT / 8, rel=0.1)


def test_golden_weights() -> None:
    """Drawn in float64: the same on every processor."""
    weights = initial(Recipe(layers=1, width=8))
    assert [round(value, 5) for value in weights.embedding[0, :3].tolist()] == GOLDEN_EMBEDDING
    assert [round(value, 5) for value in weights.layers[0].w_o[7, 5:].tolist()] == GOLDEN_W_O


def test_weights_come_back_from_their_names_and_a_copy_is_apart() -> None:
    weights = initial(Recipe(layers=2, positions="none"))
    assert weights.positions is None
    assert [name for name, _ in weights.items()] == [
        "embedding",
        *(f"layers.{number}.w_{letter}" for number in (0, 1) for letter in "qkvo"),
        "unembedding",
    ]
    back = named(dict(weights.items()))
    assert all(one is two for (_, one), (_, two) in zip(weights.items(), back.items(), strict=True))
    apart = weights.copy()
    weights.embedding.zero_()
    assert apart.embedding.any()


def test_tokens_that_do_not_fit_are_refused() -> None:
    recipe = Recipe()
    with pytest.raises(ValueError, match=r"^tokens: expected shape \(b, s\), got \(3,\)$"):
        forward(recipe, initial(recipe), torch.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match=r"^tokens: expected at most 24 a sequence, got 25$"):
        forward(recipe, initial(recipe), torch.zeros(1, 25, dtype=torch.int64))


def test_a_causal_model_reads_a_beginning_as_it_reads_the_whole() -> None:
    recipe = Recipe(heads=2)
    weights = initial(recipe)
    tokens = batch(recipe, 2, torch.Generator().manual_seed(0)).tokens
    whole, beginning = forward(recipe, weights, tokens).logits, forward(recipe, weights, tokens[:, :7]).logits
    assert torch.allclose(whole[:, :7], beginning, atol=1e-6)
