"""Tokens are what a reader would call one, in any script, and no character is lost."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from attnviz.tokenizers import TOKENIZERS, clean, tokenize

FAMILY, HAND, FLAG, ENGLAND = (
    "👨‍👩‍👧‍👦",
    "👋🏽",
    "🇫🇷",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)

# Any text, with more of what is odd than chance would bring.
ODD = [
    "\u200d",
    "\u200b",
    "\ufe0f",
    "\u0301",
    "'",
    "’",
    " ",
    "\n",
    "猫",
    "か",
    "한",
    "ا",
    "é",
    "7",
    FAMILY,
    FLAG,
]
texts = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=3)), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the cat sat", ["the", "cat", "sat"]),
        ("我喜欢猫，猫也喜欢我", list("我喜欢猫，猫也喜欢我")),
        ("GPT是transformer的", ["GPT", "是", "transformer", "的"]),
        ("カタカナ と ひらがな", ["カタカナ", "と", "ひらがな"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("don't I’d 'quoted' rock'n'roll", ["don't", "I’d", "'", "quoted", "'", "rock'n'roll"]),
        ("3.14 d_model", ["3", ".", "14", "d", "_", "model"]),
        (f"{FAMILY}{HAND}{FLAG}{FLAG}{ENGLAND}1️⃣", [FAMILY, HAND, FLAG, FLAG, ENGLAND, "1️⃣"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می‌خواهم", ["می‌خواهم"]),  # a zero-width non-joiner inside a word
        ("ca\u0301fe\u0301", ["ca\u0301fe\u0301"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("<s> $x$ :red[x]", ["<", "s", ">", "$", "x", "$", ":", "red", "[", "x", "]"]),
        ("a\u200bb", ["a", "\u200b", "b"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),  # a variation selector belongs to its character
        ("", []),
        (" \t\u3000\n", []),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a b", ["a", " ", "b"]),
        (f"{FAMILY}{HAND}{FLAG}x", [FAMILY, HAND, FLAG, "x"]),
        ("e\u0301e", ["e\u0301", "e"]),
        ("</s>", ["<", "/", "s", ">"]),
        ("", []),
    ],
)
def test_characters(text: str, tokens: list[str]) -> None:
    assert tokenize(text, "characters") == tokens


@pytest.mark.parametrize("text", ["<s> don't </s>", "  a\t b\u3000c ", "$x$ :red[x] &amp;", "", f"{FAMILY} {FLAG}"])
def test_spaces_keep_what_was_typed(text: str) -> None:
    assert tokenize(text, "spaces") == text.split()


@given(texts)
def test_no_character_is_lost(text: str) -> None:
    assert "".join(tokenize(text, "characters")) == text
    for tokenizer in ("words", "spaces"):
        assert regex.sub(r"\s", "", "".join(tokenize(text, tokenizer))) == regex.sub(r"\s", "", text)


@given(texts)
def test_no_token_cuts_a_grapheme_cluster(text: str) -> None:
    borders = {match.end() for match in regex.finditer(r"\X", text)} | {0}
    at = 0
    for token in tokenize(text, "words"):
        at = text.index(token, at)
        # A mark after a space is one cluster with it, which only dropping the space can cut.
        assert at in borders or text[at - 1].isspace()
        at += len(token)
        assert at in borders


@given(st.text(st.characters(), max_size=20))
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_any_text_at_all_is_taken(tokenizer: str, text: str) -> None:
    assert all(tokenize(text, tokenizer))
    clean(text).encode("utf-8")
    assert "\0" not in clean(text)


def test_ten_thousand_words() -> None:
    assert len(tokenize("word " * 10_000)) == 10_000


@pytest.mark.parametrize("tokenizer", ["word", "", None, 3])
def test_an_unknown_tokenizer_is_named(tokenizer: str) -> None:
    with pytest.raises(ValueError, match=r"^tokenizer must be one of words, characters, spaces, not "):
        tokenize("a", tokenizer)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        ("nul\0", "nul\ufffd"),
        ("猫\0", "猫\ufffd"),
        ("\ud83d", "\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        (FAMILY, FAMILY),
        ("\ufffd\n\t\x01", "\ufffd\n\t\x01"),
    ],
)
def test_clean(text: str, safe: str) -> None:
    assert clean(text) == safe
