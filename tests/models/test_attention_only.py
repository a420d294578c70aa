"""attnviz-tiny: read as attnviz.training's own forward computes it; its two heads are plain to see."""

import pytest
import torch

from attnviz.core.influence import contribution
from attnviz.models import attention_only
from attnviz.models.attention_only import AttentionOnly
from attnviz.models.heads import statistics
from attnviz.models.knockouts import Knockout, share_moved
from attnviz.models.refusals import Refused
from attnviz.training import checkpoint
from attnviz.training.model import forward
from attnviz.training.tasks import encode

LETTERS = "qwertyqwertyqw"


@pytest.fixture(scope="module")
def model() -> AttentionOnly:
    return attention_only.load()


def test_it_is_what_training_computes(model: AttentionOnly) -> None:
    recipe, weights = checkpoint.tiny()
    said = forward(recipe, weights, encode(recipe, list(LETTERS))[None], keep=True)
    reading = model.read(LETTERS)
    for read, layer in zip(reading.parts[0].layers, said.layers, strict=True):
        assert torch.equal(read.weights(), layer.trace.weights[0])
        expected = contribution(read.weights(), read.value, weights.layers[0].w_o)
        if read is reading.parts[0].layers[0]:
            torch.testing.assert_close(read.contribution(), expected)
    assert reading.probabilities is not None
    torch.testing.assert_close(reading.probabilities, said.logits[0, -1].softmax(-1), rtol=0, atol=1e-6)


def test_its_heads_are_plain_to_see(model: AttentionOnly) -> None:
    part = model.read(LETTERS).parts[0]
    first, second = (statistics(part, read.weights()) for read in part.layers)
    assert first["previous"].item() > 0.9
    assert second["induction"].item() > 0.9


def test_it_continues_and_without_its_first_head_does_not(model: AttentionOnly) -> None:
    reading = model.read(LETTERS)
    assert reading.guesses[0].shown == "e" and reading.guesses[0].probability > 0.9
    without = model.read(LETTERS, knockouts=[Knockout("decoder", 0, 0)])
    assert reading.probabilities is not None and without.probabilities is not None
    assert share_moved(reading.probabilities, without.probabilities) > 0.5
    edge = model.read(LETTERS, knockouts=[Knockout("decoder", 1, 0, 13, 8)])  # the last w cannot see the e after w
    assert edge.parts[0].layers[1].weights()[0, 13, 8] == 0


def test_letters_are_shown_as_they_were_typed(model: AttentionOnly) -> None:
    text = "Ab\n cA"
    reading = model.read(text)
    tokens = reading.parts[0].queries
    assert [token.shown for token in tokens] == ["A", "b", "c", "A"]
    assert [text[slice(*token.span)] for token in tokens] == ["A", "b", "c", "A"]
    assert tokens[0].id == tokens[3].id


def test_what_is_no_letter_is_refused(model: AttentionOnly) -> None:
    with pytest.raises(Refused, match=r"^text: attnviz-tiny reads the letters a to z, got '猫'$"):
        model.read("ab猫")
    with pytest.raises(Refused) as refused:
        model.read("  ")
    assert refused.value.code == "empty"
    with pytest.raises(Refused) as refused:
        model.read("a", "b")
    assert refused.value.code == "pair"


def test_a_longer_text_is_cut_where_it_says(model: AttentionOnly) -> None:
    reading = model.read("ab cd " * 20)
    assert len(reading.parts[0].queries) == model.info.tokens == 24
    assert reading.shortened == ((0, 36, 24),)


def test_a_file_that_is_not_whole(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"not a checkpoint")
    monkeypatch.setattr(checkpoint, "TINY_FILE", path)
    with pytest.raises(Refused, match=r"^attnviz-tiny: its files cannot be read: "):
        attention_only.load()
