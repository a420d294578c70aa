"""Models that transformers runs, read: exact queries, keys and values, weights and outputs of nine families."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from attnviz.core.influence import contribution
from attnviz.core.rotary import Rotary, rotate
from attnviz.models import hub
from attnviz.models.huggingface import HuggingFace
from attnviz.models.knockouts import Knockout
from attnviz.models.reading import Reading
from attnviz.models.refusals import Refused
from tests.models.models_drawn import MODELS, save

TEXT = "the cat sat on the mat, 我喜欢猫"
SECOND = "the cats"


class Loaded:
    """A model saved and loaded again, what it read, and the model that was saved, asked for its own maps."""

    def __init__(self, name: str, folder: Path) -> None:
        self.drawn = MODELS[name]
        self.original = save(name, folder)
        self.model = hub.load(str(folder))
        self.pair = SECOND if self.drawn.kind == "encoder-decoder" else None
        self.reading = self.model.read(TEXT, self.pair)

    def own_maps(self) -> dict[str, tuple[torch.Tensor, ...]]:
        self.original.set_attn_implementation("eager")
        ids = {part.kind: torch.tensor([[token.id for token in part.queries]]) for part in self.reading.parts}
        given = {"input_ids": ids.get("encoder", ids.get("decoder"))}
        if self.pair:
            given["decoder_input_ids"] = ids["decoder"]
        with torch.no_grad():
            said = self.original(**given, output_attentions=True, use_cache=False)
        if self.pair:
            return {
                "encoder": said.encoder_attentions,
                "decoder": said.decoder_attentions,
                "cross": said.cross_attentions,
            }
        return {self.reading.parts[0].kind: said.attentions}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=MODELS)
def loaded(request: pytest.FixtureRequest, folders: Path) -> Loaded:
    return Loaded(request.param, folders / request.param)


@pytest.fixture(scope="module")
def gpt2(folders: Path) -> Loaded:
    return Loaded("gpt2", folders / "another gpt2")


def test_weights_are_those_of_the_model(loaded: Loaded) -> None:
    own = loaded.own_maps()
    assert [part.kind for part in loaded.reading.parts] == list(own)
    for part in loaded.reading.parts:
        assert len(part.layers) == len(own[part.kind]) > 1
        for read, weights in zip(part.layers, own[part.kind], strict=True):
            torch.testing.assert_close(read.weights(), weights[0], rtol=0, atol=1e-5)
            assert weights.amax(-1).median() > 1.2 / weights.shape[-1]  # even weights would be right for any scores
            check = read.check()
            assert check.by == "model"
            assert check.weights < 1e-5 and check.output < 1e-4


def test_the_card_is_what_the_model_has(loaded: Loaded) -> None:
    info, drawn = loaded.model.info, loaded.drawn
    assert (info.kind, info.heads, info.kv_heads) == (drawn.kind, drawn.heads, drawn.kv_heads)
    assert info.layers == (3 if loaded.pair else 2)
    assert info.parameters == sum(parameter.numel() for parameter in loaded.original.parameters())
    assert info.d_model == 24 and 0 < info.tokens <= 512


def test_shared_heads_are_not_repeated(loaded: Loaded) -> None:
    for part in loaded.reading.parts:
        for read in part.layers:
            assert read.query.shape[1] == len(part.queries)
            assert read.key.shape[1] == read.value.shape[1] == len(part.keys)
    first = loaded.reading.parts[0].layers[0]
    assert (len(first.query), len(first.key)) == (loaded.drawn.heads, loaded.drawn.kv_heads)


def test_one_head_is_the_same_as_in_the_trace_of_all(loaded: Loaded) -> None:
    for part in loaded.reading.parts:
        read = part.layers[1]
        whole = read.trace()
        for head in range(len(read.query)):
            for one, all_ in zip(read.trace(head), whole, strict=True):
                if len(all_) == len(read.query):
                    torch.testing.assert_close(one[0], all_[head], rtol=1e-6, atol=1e-6)


def test_what_a_value_carries_is_the_cores_contribution(loaded: Loaded) -> None:
    names = {"bert": "attention.output.dense", "gpt2": "c_proj", "bart": "out_proj", "t5": ".o", "llama": "o_proj"}
    kind = loaded.original.config.model_type
    if kind not in names:
        assert all(read.carried is not None for part in loaded.reading.parts for read in part.layers)
        return
    found = [
        module.weight if kind == "gpt2" else module.weight.T
        for name, module in loaded.original.named_modules()
        if name.endswith(names[kind]) and "mlp" not in name
    ]
    read = loaded.reading.parts[0].layers[0]
    expected = contribution(read.weights(), read.value, found[0].detach())
    torch.testing.assert_close(read.contribution(), expected, rtol=0, atol=1e-4)


def test_tokens_are_shown_as_the_reader_wrote_them(loaded: Loaded) -> None:
    shown = [token.shown for token in loaded.reading.parts[0].queries if not token.special]
    assert not any(sign in token for token in shown for sign in "Ġ▁#\ufffd")
    assert "我" in "".join(shown)


def test_the_next_token_is_the_models_own(loaded: Loaded) -> None:
    reading = loaded.reading
    if loaded.drawn.kind == "encoder":
        assert reading.probabilities is None and reading.embedding is not None
        assert float(reading.embedding.norm()) == pytest.approx(1)
        return
    assert reading.probabilities is not None
    assert float(reading.probabilities.sum()) == pytest.approx(1, abs=1e-5)
    ids = {part.kind: torch.tensor([[token.id for token in part.queries]]) for part in reading.parts}
    given = {"input_ids": ids.get("encoder", ids["decoder"])} | (
        {"decoder_input_ids": ids["decoder"]} if loaded.pair else {}
    )
    with torch.no_grad():
        logits = loaded.original(**given).logits[0, -1]
    torch.testing.assert_close(reading.probabilities, logits.softmax(-1), rtol=0, atol=1e-5)
    assert reading.guesses[0].id == int(logits.argmax())


def test_a_head_is_silenced_in_the_model(loaded: Loaded) -> None:
    kind = loaded.reading.parts[-1].kind
    without = loaded.model.read(TEXT, loaded.pair, knockouts=[Knockout(kind, 0, 1)])
    told = [part.layers[0].query for part in (loaded.reading.parts[-1], without.parts[-1])]
    assert torch.equal(*told)  # what the layer itself reads is not changed
    after = [part.layers[1].query for part in (loaded.reading.parts[-1], without.parts[-1])]
    assert (after[0] - after[1]).abs().max() > 1e-3
    assert torch.equal(loaded.model.read(TEXT, loaded.pair).parts[-1].layers[1].query, after[0])  # and nothing stays


def test_an_edge_is_hidden_in_the_model(loaded: Loaded) -> None:
    kind = loaded.reading.parts[-1].kind
    without = loaded.model.read(TEXT, loaded.pair, knockouts=[Knockout(kind, 0, 1, 2, 0)])
    before, after = (reading.parts[-1].layers[0].weights() for reading in (loaded.reading, without))
    assert before[1, 2, 0] > 0 and after[1, 2, 0] == 0
    changed = (before != after).any(-1)
    assert changed.sum() == 1 and changed[1, 2]
    torch.testing.assert_close(after.sum(-1), before.sum(-1))
    others = [reading.parts[-1].layers[1].query for reading in (loaded.reading, without)]
    assert not torch.equal(*others)


def test_llama_is_read_after_its_rotation(folders: Path) -> None:
    llama = Loaded("llama", folders / "another llama")
    attention = llama.original.model.layers[0].self_attn
    projected: list[torch.Tensor] = []
    attention.q_proj.register_forward_hook(lambda module, given, output: projected.append(output))
    llama.own_maps()
    before = projected[0].unflatten(-1, (4, 8)).transpose(1, 2)[0]
    query = llama.reading.parts[0].layers[0].query
    assert (query - before).abs().max() > 0.1
    torch.testing.assert_close(query, rotate(before, Rotary()), rtol=0, atol=1e-5)


def test_t5s_bias_is_apart_from_its_mask(folders: Path) -> None:
    t5 = Loaded("t5", folders / "another t5")
    for part in t5.reading.parts:
        for read in part.layers:
            assert read.scale == 1
            assert (read.bias is None) == (part.kind == "cross")
            assert (read.mask is None) == (part.kind != "decoder")
    decoder = t5.reading.part("decoder")
    assert torch.equal(decoder.layers[0].mask, torch.ones(len(decoder.keys), len(decoder.keys)).bool().tril())


def test_a_decoder_of_one_token_is_still_a_decoder(gpt2: Loaded) -> None:
    (part,) = gpt2.model.read("a").parts
    assert part.kind == "decoder" and len(part.queries) == 1


def test_an_encoder_reads_a_pair(folders: Path) -> None:
    model = Loaded("bert", folders / "another bert").model
    tokens = model.read("the cat", "the mat").parts[0].queries
    assert [token.shown for token in tokens] == ["[CLS]", "the", "cat", "[SEP]", "the", "mat", "[SEP]"]
    assert [token.text for token in tokens] == [0, 0, 0, 0, 1, 1, 1]


def test_an_encoder_decoder_answers_when_it_is_given_one_text(folders: Path) -> None:
    bart = Loaded("bart", folders / "another bart")
    reading = bart.model.read("the cat sat")
    decoder = reading.part("decoder")
    assert decoder.queries[0].special and 1 <= len(decoder.queries) <= 33
    answered = [token.id for token in decoder.queries[1:]]
    source = torch.tensor([[token.id for token in reading.part("encoder").queries]])
    with torch.no_grad():
        wanted = bart.original.generate(source, max_new_tokens=32, do_sample=False, num_beams=1)[0, 1:].tolist()
    assert wanted[: len(answered)] == answered


def test_a_decoder_reads_no_pair(gpt2: Loaded) -> None:
    with pytest.raises(Refused, match=r"text_pair: .* reads one text, got two$"):
        gpt2.model.read("a", "b")


def test_a_long_text_is_cut_at_the_models_window(gpt2: Loaded) -> None:
    assert gpt2.model.info.tokens == 128
    reading = gpt2.model.read("the cat sat on the mat " * 60)
    assert len(reading.parts[0].queries) == 128
    assert reading.shortened[0].limit == 128 and reading.shortened[0].character > 128


@pytest.mark.parametrize(
    ("knockout", "sentence"),
    [
        (Knockout("encoder", 0), "expected a kind of decoder, got 'encoder'"),
        (Knockout("decoder", 2), "expected a layer from 0 below 2, got 2"),
        (Knockout("decoder", 0, 4), "expected a head from 0 below 4, got 4"),
        (Knockout("decoder", 0, 0, 1), "expected both s and u, or neither, got s=1, u=None"),
        (Knockout("decoder", 0, 0, 0, 9), "expected a u from 0 below 1, got 9"),
    ],
)
def test_a_knockout_that_does_not_fit_is_refused(gpt2: Loaded, knockout: Knockout, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        gpt2.model.read("a", knockouts=[knockout])
    assert str(refused.value) == f"knockouts: {sentence}"


@pytest.fixture
def stray() -> Iterator[Any]:
    """A thread's worth of reading, so that two threads read at once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_threads_that_read_at_once_do_not_meet(gpt2: Loaded, stray: Any) -> None:
    texts = ["the cat", "the cat sat on the mat", "a", "我喜欢猫 and the mat"]
    alone = [gpt2.model.read(text) for text in texts]

    def same(one: Reading, other: Reading) -> bool:
        pairs = zip(one.parts[0].layers, other.parts[0].layers, strict=True)
        return all(torch.equal(a.query, b.query) and torch.equal(a.value, b.value) for a, b in pairs)

    for found, expected in zip(stray.map(gpt2.model.read, texts * 5), alone * 5, strict=True):
        assert same(found, expected)


def test_reading_leaves_the_model_as_it_was(gpt2: Loaded) -> None:
    assert isinstance(gpt2.model, HuggingFace)
    before = {name: parameter.clone() for name, parameter in gpt2.model._model.state_dict().items()}
    gpt2.model.read(TEXT, knockouts=[Knockout("decoder", 0, 0), Knockout("decoder", 1, 0, 3, 1)])
    after = gpt2.model._model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
