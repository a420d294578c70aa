"""Tokens are shown as the reader wrote them, by the tokenizers of every family; words group them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.models.encoding import encode
from attnviz.models.refusals import Refused
from attnviz.models.tokens import Token, aligned, shown
from attnviz.models.words import group_weights, words
from attnviz.tokenizers import tokenize
from tests.models.tokenizers_drawn import FAMILIES

MIXED = "The cat's 我喜欢猫 👩‍🚀🇫🇷 cafe\u0301\tnaïve\n<s> [SEP]?"
TEXTS = (MIXED, "我喜欢猫", "👩‍🚀 👨‍👩‍👧‍👦", "e\u0301 o\u0302\u0323 n\u0303", "مرحبا", "हिन्दी", "plain words")
family = pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
Make = Callable[[], Any]


def whole(token: Token) -> str:
    """What a token shows without the number of its part."""
    shown_text, _, part = token.shown.rpartition(" ")
    return shown_text if "/" in part and part.replace("/", "").isdigit() else token.shown


@family
@pytest.mark.parametrize("text", TEXTS)
def test_every_token_shows_whole_characters_of_the_text(make: Make, text: str) -> None:
    clusters = set(tokenize(text, "characters"))
    tokens = encode(make(), [text], 512).tokens
    assert any(not token.special for token in tokens)
    for token in tokens:
        if token.special:
            continue
        assert "\ufffd" not in token.shown
        assert token.shown
        if not token.shown.isspace():
            assert set(tokenize(whole(token), "characters")) <= clusters


@family
def test_nothing_that_the_reader_wrote_is_lost(make: Make) -> None:
    tokens = [token for token in encode(make(), [MIXED], 512).tokens if not token.special]
    seen = "".join(whole(token) for token in tokens)
    assert set("".join(MIXED.split())) <= set(seen)


@family
def test_a_sign_of_the_tokenizer_is_shown_only_when_asked_for(make: Make) -> None:
    text = "the cat sat"
    encoding = make().encode(text, add_special_tokens=False)
    plain = shown(encoding.tokens, encoding.offsets, text)
    assert "".join(plain).replace(" ", "") == "thecatsat"
    assert not any(sign in token for token in plain for sign in ("Ġ", "▁", "##"))
    marked = shown(encoding.tokens, encoding.offsets, text, markers=True)
    assert marked == encoding.tokens


def test_bytes_of_one_character_say_which_part_they_are() -> None:
    tokens = encode(FAMILIES["byte-level BPE"](), ["猫 x"], 512).tokens
    assert [token.shown for token in tokens][:3] == ["猫 1/3", "猫 2/3", "猫 3/3"]
    tokens = encode(FAMILIES["SentencePiece, byte fallback"](), ["鼠"], 512).tokens
    assert [token.shown for token in tokens] == [" ", "鼠 1/3", "鼠 2/3", "鼠 3/3"]


def test_a_mark_is_shown_with_its_letter() -> None:
    assert shown(["cafe", "Ì", "ģ"], [(0, 4), (4, 5), (4, 5)], "cafe\u0301") == [
        "cafe\u0301 1/3",
        "e\u0301 2/3",
        "e\u0301 3/3",
    ]


def test_a_piece_of_white_space_stays_white_space() -> None:
    assert shown(["Ġ", "Ċ", "ĠĠ", "Ġa"], [(0, 1), (1, 2), (2, 4), (4, 6)], " \n   a") == [" ", "\n", "  ", "a"]


def test_a_heap_of_combining_marks_is_taken_apart() -> None:
    text = "a" + "\u0301" * 5000
    found = shown(["x"] * 10, [(i, i + 1) for i in range(10)], text)
    assert max(map(len, found)) < 40


def test_as_many_spans_as_pieces() -> None:
    with pytest.raises(ValueError, match=r"^spans: expected one for each of 2 pieces, got 1$"):
        shown(["a", "b"], [(0, 1)], "ab")


def test_pieces_are_found_in_the_text_when_the_tokenizer_does_not_say_where() -> None:
    text = "The cat, the cat"
    pieces = ["▁The", "▁cat", ",", "▁the", "▁", "cat</w>", "<0xE7>"]
    assert [text[a:b] for a, b in aligned(pieces, text)] == ["The", "cat", ",", "the", "", "cat", ""]


def test_a_long_text_is_cut_where_it_says() -> None:
    tokenizer = FAMILIES["WordPiece"]()
    encoded = encode(tokenizer, ["the cat sat on the mat"], 5)
    assert len(encoded.tokens) == 5
    assert encoded.tokens[0].piece == "[CLS]" and encoded.tokens[-1].piece == "[SEP]"
    (cut,) = encoded.shortened
    assert "the cat sat on the mat"[: cut.character].split() == ["the", "cat", "sat"]
    assert cut.limit == 5
    assert encode(tokenizer, ["the cat sat"], 5).shortened == ()


def test_of_two_texts_the_longer_is_cut_first() -> None:
    tokenizer = FAMILIES["WordPiece"]()
    encoded = encode(tokenizer, ["the cat", "the cat sat on the mat"], 8)
    assert [cut.text for cut in encoded.shortened] == [1]
    assert [token.shown for token in encoded.tokens] == ["[CLS]", "the", "cat", "[SEP]", "the", "cat", "sat", "[SEP]"]
    assert encoded.types == (0, 0, 0, 0, 1, 1, 1, 1)
    assert [token.text for token in encoded.tokens] == [0, 0, 0, 0, 1, 1, 1, 1]
    both = encode(tokenizer, ["the cat sat on the mat", "the mat sat on the cat"], 9)
    assert [cut.text for cut in both.shortened] == [0, 1] and len(both.tokens) == 9


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_text_without_tokens_is_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"^text: expected at least one token, got ") as refused:
        encode(FAMILIES["WordPiece"](), [text], 512)
    assert refused.value.code == "empty"


@family
def test_words_are_the_readers_own(make: Make) -> None:
    text = "The cats don't 鼠猫 cafe\u0301!"
    tokens = encode(make(), [text], 512).tokens
    found = words(tokens, [text])
    assert sorted(i for word in found for i in word.tokens) == list(range(len(tokens)))
    shown_words = [word.shown for word in found if not word.shown.isspace() and not tokens[word.tokens[0]].special]
    assert shown_words == ["The", "cats", "don't", "鼠", "猫", "cafe\u0301", "!"]


def test_words_that_a_token_joins_are_one_group() -> None:
    text = "我 喜欢 it"
    tokens = [
        Token(0, "", "我 喜", (0, 3)),
        Token(1, "", "欢", (3, 4)),
        Token(2, "", "i", (4, 6)),
        Token(3, "", "t", (6, 7)),
    ]
    assert words(tokens, [text]) == (("我 喜", (0,)), ("欢", (1,)), ("it", (2, 3)))
    across = [Token(0, "", "我", (0, 1)), Token(1, "", "我 喜", (0, 3)), Token(2, "", "欢 it", (3, 7))]
    assert words(across, [text]) == (("我 喜", (0, 1)), ("欢 it", (2,)))


def test_words_of_two_texts_are_kept_apart() -> None:
    tokens = encode(FAMILIES["WordPiece"](), ["the cat", "cat sat"], 512).tokens
    assert [word.shown for word in words(tokens, ["the cat", "cat sat"])] == [
        "[CLS]", "the", "cat", "[SEP]", "cat", "sat", "[SEP]",
    ]  # fmt: skip


@cache
def partitions(n: int) -> list[list[list[int]]]:
    """All ways to cut n tokens into runs."""
    if n == 0:
        return [[]]
    return [[*rest, list(range(k, n))] for k in range(n) for rest in partitions(k)]


@given(st.data())
def test_rows_of_grouped_weights_still_sum_to_one(data: st.DataObject) -> None:
    n_query, n_key, n_heads = (data.draw(st.integers(1, 6)) for _ in range(3))
    rows, columns = (data.draw(st.sampled_from(partitions(n))) for n in (n_query, n_key))
    seed = data.draw(st.integers(0, 100))
    weights = torch.randn(n_heads, n_query, n_key, generator=torch.Generator().manual_seed(seed)).softmax(-1)
    grouped = group_weights(weights, rows, columns)
    assert grouped.shape == (n_heads, len(rows), len(columns))
    torch.testing.assert_close(grouped.sum(-1), torch.ones(n_heads, len(rows)))
    expected = weights[:, rows[0]][:, :, columns[-1]].sum(-1).mean(-1)
    torch.testing.assert_close(grouped[:, 0, -1], expected)


def test_groups_hold_each_token_once() -> None:
    weights = torch.eye(3)
    for groups in ([[0], [1]], [[0, 1], [1, 2]], [[0, 1, 2], []]):
        with pytest.raises(ValueError, match=r"^rows: expected each of the 3 tokens in one group"):
            group_weights(weights, groups)
