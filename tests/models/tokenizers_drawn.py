"""Tokenizers of every family that models use, trained on a few words, so that much of a text falls into pieces."""

from collections.abc import Callable
from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = ["the cat sat on the mat", "The cats sat on mats", "我喜欢", "it's a play of words"] * 4


@cache
def wordpiece() -> Any:
    """BERT's: lower case, accents removed, ## before what continues a word, [CLS] and [SEP] around."""
    letters = sorted(set("".join(CORPUS).lower()) | set("abcdefghijklmnopqrstuvwxyz!?',<>[]👩🚀猫喜欢"))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    vocabulary += sorted({word for line in CORPUS for word in line.lower().split() if len(word) > 1} - {"it's"})
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary.index("[CLS]")), ("[SEP]", vocabulary.index("[SEP]"))],
    )
    return tokenizer


@cache
def byte_level() -> Any:
    """GPT-2's: bytes, Ġ for a space."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "<s>", "</s>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS[:2], trainer)
    return tokenizer


@cache
def byte_fallback() -> Any:
    """Llama's: ▁ for a space and before the text, <0xE7> for a byte of what the vocabulary lacks."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<pad>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(["我喜欢", *CORPUS[:2]], trainer)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)  # the text is one word
    return tokenizer


@cache
def unigram() -> Any:
    """T5's: ▁ before each word, characters composed, </s> at the end."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60,
        initial_alphabet=list("鼠猫!"),  # else two that are unknown are one
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


FAMILIES: dict[str, Callable[[], Any]] = {
    "WordPiece": wordpiece,
    "byte-level BPE": byte_level,
    "SentencePiece, byte fallback": byte_fallback,
    "SentencePiece, unigram": unigram,
}
