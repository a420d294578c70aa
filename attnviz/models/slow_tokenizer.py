"""A tokenizer of transformers that is written in Python, made to answer as one of the tokenizers package does."""

from __future__ import annotations

from typing import Any, NamedTuple

from attnviz.models.tokens import Span, aligned


class _Encoding:
    """Ids of one text, or of texts put together."""

    def __init__(self, ids: list[int], tokens: list[str], offsets: list[Span]) -> None:
        self.ids, self.tokens, self.offsets = ids, tokens, offsets
        self.type_ids = [0] * len(ids)
        self.special_tokens_mask = [0] * len(ids)

    def truncate(self, size: int) -> None:
        self.__init__(self.ids[:size], self.tokens[:size], self.offsets[:size])  # type: ignore[misc]


class SlowTokenizer(NamedTuple):
    """What encoding.encode asks of a tokenizer; where each piece stands is found by looking for it in the text."""

    slow: Any

    def encode(self, text: str, add_special_tokens: bool = False) -> _Encoding:
        """One text without special tokens."""
        pieces = self.slow.tokenize(text)
        return _Encoding(self.slow.convert_tokens_to_ids(pieces), pieces, aligned(pieces, text))

    def num_special_tokens_to_add(self, pair: bool) -> int:
        """How many the tokenizer adds."""
        return int(self.slow.num_special_tokens_to_add(pair))

    def post_process(self, *parts: _Encoding, add_special_tokens: bool = True) -> _Encoding:
        """Put texts together, with the tokens that the tokenizer adds."""
        ids = self.slow.build_inputs_with_special_tokens(*(part.ids for part in parts))
        mask = self.slow.get_special_tokens_mask(*(part.ids for part in parts))
        spans = iter([span for part in parts for span in part.offsets])
        pieces = iter([piece for part in parts for piece in part.tokens])
        whole = _Encoding(
            ids,
            [self.id_to_token(i) if added else next(pieces) for i, added in zip(ids, mask, strict=True)],
            [(0, 0) if added else next(spans) for added in mask],
        )
        whole.type_ids = list(self.slow.create_token_type_ids_from_sequences(*(part.ids for part in parts)))
        whole.special_tokens_mask = list(mask)
        return whole

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        """The text of some ids."""
        return str(self.slow.decode(ids, skip_special_tokens=skip_special_tokens))

    def id_to_token(self, i: int) -> str:
        """The piece of an id."""
        return str(self.slow.convert_ids_to_tokens(i))
