"""A text, or two, made the numbers that a model reads, by a tokenizer of the tokenizers package."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.models.reading import Guess, Shortened
from attnviz.models.refusals import Refused
from attnviz.models.tokens import Token, shown

_GUESSES = 20


class Encoded(NamedTuple):
    """Texts as a model reads them."""

    tokens: tuple[Token, ...]
    types: tuple[int, ...]  # for each token, as BERT has them: 1 in the second text
    shortened: tuple[Shortened, ...]

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]


def encode(
    tokenizer: Any,
    texts: Sequence[str],
    limit: int,
    *,
    special: Collection[int] = (),
    add_special: bool = True,
) -> Encoded:
    """Cut one or two texts into at most `limit` tokens, the tokenizer's own among them.

    Of two texts that are too long together the longer one is shortened first. special: ids that are special where
    the text itself spells them. Raises Refused "empty" when a text has no token.
    """
    parts = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    for text, part in zip(texts, parts, strict=True):
        if not part.ids:
            raise Refused("empty", text=text)
    n_added = tokenizer.num_special_tokens_to_add(len(parts) == 2) if add_special else 0
    sizes = _sizes([len(part.ids) for part in parts], limit - n_added)
    shortened = []
    for number, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if size < len(part.ids):
            shortened.append(Shortened(number, part.offsets[size][0], limit))
            part.truncate(size)
    whole = tokenizer.post_process(*parts, add_special_tokens=add_special)
    return Encoded(_tokens(whole, texts, sizes, special), tuple(whole.type_ids), tuple(shortened))


def chances(logits: Tensor) -> Tensor:
    """The next token's probabilities (v,): a softmax in float64, for in float32 one over 50,000 misses 1 by 1e-5."""
    return logits.softmax(dim=-1, dtype=torch.float64).to(logits.dtype)


def guesses(probabilities: Tensor, tokenizer: Any, n: int = _GUESSES) -> tuple[Guess, ...]:
    """The n most probable next tokens of probabilities (v,), as a reader would write them, the first first.

    A token of bytes that are no whole character is written by its bytes, as "E7 8C".
    """
    best = probabilities.topk(min(n, len(probabilities)))
    return tuple(
        Guess(i, spelled(tokenizer, i), share, "\ufffd" not in tokenizer.decode([i], skip_special_tokens=False))
        for i, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )


def spelled(tokenizer: Any, i: int) -> str:
    """What one token stands for by itself, without white space in front where it has more; special tokens by name."""
    text: str = tokenizer.decode([i], skip_special_tokens=False)
    if "\ufffd" in text:
        piece = tokenizer.id_to_token(i) or ""
        raw = bytes(_BYTES[c] for c in piece if c in _BYTES)
        return raw.hex(" ").upper() or piece
    return text.strip() or text or tokenizer.id_to_token(i) or ""


def _sizes(counts: Sequence[int], room: int) -> list[int]:
    """How many tokens each text keeps, so that all fit into the room and the shorter one loses none it need not."""
    room = max(room, len(counts))
    if sum(counts) <= room:
        return list(counts)
    if len(counts) == 1:
        return [room]
    shorter = min(*counts, room // 2)
    return [shorter, room - shorter] if counts[0] <= counts[1] else [room - shorter, shorter]


def _tokens(encoding: Any, texts: Sequence[str], sizes: Sequence[int], special: Collection[int]) -> tuple[Token, ...]:
    """The tokens of an encoding whose texts have `sizes` tokens, one text after the other.

    Of two texts that were encoded one by one, the encoding itself forgets which tokens are the first's.
    """
    own = iter([(number, i) for number, size in enumerate(sizes) for i in range(size)])
    pieces, spans = encoding.tokens, encoding.offsets
    of_text = [None if added else next(own) for added in encoding.special_tokens_mask]
    written = []
    for number, text in enumerate(texts):
        mine = [i for i, place in enumerate(of_text) if place is not None and place[0] == number]
        written.append(shown([pieces[i] for i in mine], [spans[i] for i in mine], text))
    tokens: list[Token] = []
    for id_, piece, span, place in zip(encoding.ids, pieces, spans, of_text, strict=True):
        if place is None:  # it is the text's before it: [CLS] the first's, a [SEP] that of what it ends
            tokens.append(Token(id_, piece, piece, (0, 0), tokens[-1].text if tokens else 0, True))
        else:
            is_special = id_ in special
            seen = piece if is_special else written[place[0]][place[1]]
            tokens.append(Token(id_, piece, seen, tuple(span), place[0], is_special))
    return tuple(tokens)


def _byte_signs() -> dict[str, int]:
    """Which byte each sign of a byte-level piece stands for; what cannot be seen has a sign above 255.

    Source: Radford et al. 2019 (GPT-2), as its published tokenizer does it.
    """
    seen: Iterable[int] = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    signs = {chr(byte): byte for byte in seen}
    hidden = [byte for byte in range(256) if chr(byte) not in signs]
    return signs | {chr(256 + i): byte for i, byte in enumerate(hidden)}


_BYTES = _byte_signs()
