"""A tokenizer that is written in Python and does not say where its pieces stand: ByT5's, whose pieces are bytes."""

from pathlib import Path

import pytest
import transformers

from attnviz.models import hub
from attnviz.models.encoding import encode
from attnviz.models.slow_tokenizer import SlowTokenizer


@pytest.fixture(scope="module")
def tokenizer() -> SlowTokenizer:
    return SlowTokenizer(transformers.ByT5Tokenizer())


def test_ids_are_the_tokenizers_own(tokenizer: SlowTokenizer) -> None:
    for text in ("the cat", "我 x"):
        assert encode(tokenizer, [text], 100).ids == tokenizer.slow(text)["input_ids"]
    pair = encode(tokenizer, ["ab", "c"], 100)
    assert pair.ids == tokenizer.slow("ab", "c")["input_ids"]
    assert [token.text for token in pair.tokens if not token.special] == [0, 0, 1]


def test_tokens_stand_where_they_are_found(tokenizer: SlowTokenizer) -> None:
    tokens = encode(tokenizer, ["cat at"], 100).tokens
    assert [token.shown for token in tokens] == ["c", "a", "t", " ", "a", "t", "</s>"]
    assert [token.span for token in tokens[:3]] == [(0, 1), (1, 2), (2, 3)]
    assert tokens[-1].special


def test_a_long_text_is_cut(tokenizer: SlowTokenizer) -> None:
    encoded = encode(tokenizer, ["cats and dogs"], 5)
    assert [token.shown for token in encoded.tokens] == ["c", "a", "t", "s", "</s>"]
    assert encoded.shortened[0].character == 4


def test_a_model_with_such_a_tokenizer(tmp_path: Path) -> None:
    start = {"decoder_start_token_id": 0}
    config = transformers.T5Config(vocab_size=384, d_model=24, d_kv=5, d_ff=32, num_layers=1, num_heads=4, **start)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)
    reading = hub.load(str(tmp_path)).read("cat", "dog")
    assert [token.shown for token in reading.part("decoder").queries] == ["<pad>", "d", "o", "g"]
    assert reading.part("cross").layers[0].check().weights < 1e-6
