"""The attention layers of models that people use, rebuilt from their weights: outputs, weights and gradients.

Every layer of a tiny BERT, GPT-2, Llama, T5 and BART in float64, on the hidden states that it really read.
"""

import socket
from collections.abc import Callable

import pytest
import torch

from tests.core import transformers_models as models
from tests.core.transformers_record import Layer, gradients, rebuild

Model = Callable[[], list[Layer]]

# And how many attentions each has.
MODELS: dict[Model, int] = {models.bert: 2, models.gpt2: 2, models.llama: 2, models.t5: 6, models.bart: 6}
LAYERS = [pytest.param(model, i, id=f"{model.__name__} {i}") for model, n in MODELS.items() for i in range(n)]
every_layer = pytest.mark.parametrize(("model", "i"), LAYERS)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a test of core asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def assert_output_and_weights_agree(layer: Layer, tolerance: float) -> None:
    heads, _ = rebuild(layer)
    torch.testing.assert_close(heads.trace.weights, layer.weights, rtol=0, atol=tolerance)
    largest = float(layer.output.detach().abs().max())
    torch.testing.assert_close(heads.output, layer.output, rtol=0, atol=tolerance * largest)


def assert_gradients_agree(layer: Layer, tolerance: float) -> None:
    """Of a sum in which each output counts differently, so that no error cancels."""
    heads, leaves = rebuild(layer)
    share = torch.randn(layer.output.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours = torch.autograd.grad((heads.output * share).sum(), list(leaves.values()))
    expected = gradients(layer, (layer.output * share).sum())
    assert leaves.keys() == expected.keys()
    largest = {name: float(gradient.abs().max()) for name, gradient in expected.items()}
    # b_k adds the same to all scores of a row, which changes no weight, unless rotary turns it.
    assert all(size > 1 for name, size in largest.items() if name != "b_k")
    for name, gradient in zip(leaves, ours, strict=True):
        torch.testing.assert_close(gradient, expected[name], rtol=0, atol=tolerance * max(largest.values()))


@pytest.mark.parametrize("model", MODELS)
def test_every_attention_of_the_model_is_looked_at(model: Model) -> None:
    layers = model()
    assert len(layers) == MODELS[model]
    for layer in layers:
        assert layer.output.dtype == layer.weights.dtype == torch.float64
        seen = layer.site.mask.expand_as(layer.weights)
        assert layer.weights[~seen].abs().sum() == 0
        # Even weights would be right whatever the scores: most rows have one that is far above even.
        assert (layer.weights.amax(-1) * seen.sum(-1)).median() > 1.5


@every_layer
def test_output_and_weights_are_those_of_the_model(model: Model, i: int) -> None:
    assert_output_and_weights_agree(model()[i], tolerance=1e-13)


@every_layer
def test_gradients_are_those_of_the_model(model: Model, i: int) -> None:
    assert_gradients_agree(model()[i], tolerance=1e-12)


@pytest.mark.parametrize("i", [0, 1])
def test_llama_with_its_own_angles_of_float32(i: int) -> None:
    layer = models.llama_as_it_is()[i]  # an angle of 10 radians is good to 10 * 2^-24, 6e-7
    assert_output_and_weights_agree(layer, tolerance=4e-6)
    assert_gradients_agree(layer, tolerance=4e-6)


def test_llama_is_not_met_by_a_softmax_of_float64() -> None:
    layer = models.llama()[0]
    site = layer.site._replace(options=layer.site.options | {"softmax_dtype": None})
    assert (rebuild(layer._replace(site=site))[0].trace.weights - layer.weights).abs().max() > 1e-9
