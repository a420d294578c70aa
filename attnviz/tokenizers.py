"""Text to tokens, in three ways: words, characters, or as typed with spaces as the borders."""

import re
from functools import lru_cache
from typing import Any

_UNSAFE = re.compile("[\0\ud800-\udfff]")
TOKENIZERS = ("words", "characters", "spaces")

# \X is a grapheme cluster: what a reader calls one character, say a letter with its accents or an emoji of
# four people. A word is a run of clusters that start with a letter or digit, apostrophes allowed inside. A
# Chinese character is a word, as Chinese puts no spaces between words. All else but spaces stands alone.
_LETTER = r"(?=[\p{L}\p{N}--\p{Han}])\X"
_PATTERNS = {
    "words": rf"{_LETTER}(?:['’]?{_LETTER})*|(?!\s)\X",
    "characters": r"\X",
    "spaces": r"\S+",
}


def tokenize(text: str, tokenizer: str = "words") -> list[str]:
    """Split `text` into tokens.

    `tokenizer` is one of TOKENIZERS: "words" (words, single Chinese characters, single marks and emoji),
    "characters" (grapheme clusters, spaces too) or "spaces" (what stands between white space, as typed).
    Grapheme clusters are those of Unicode Annex 29, as the `regex` package finds them.

    >>> tokenize("我喜欢猫, don't I?")
    ['我', '喜', '欢', '猫', ',', "don't", 'I', '?']
    >>> tokenize("<s> don't", "spaces")
    ['<s>', "don't"]
    >>> tokenize("a 👩‍🚀", "characters")
    ['a', ' ', '👩\u200d🚀']
    """
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, not {tokenizer!r}")
    return list(_compiled(tokenizer).findall(text))


def clean(text: str) -> str:
    """Make text safe: lone surrogates and NUL, which no link can carry, become U+FFFD; all else stays.

    >>> clean("a\\x00b")
    'a�b'
    """
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return _UNSAFE.sub("\ufffd", text)


@lru_cache(maxsize=len(TOKENIZERS))
def _compiled(tokenizer: str) -> Any:
    import regex  # here, so that a link is read without it

    return regex.compile(_PATTERNS[tokenizer], regex.V1)
