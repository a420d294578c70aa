"""Any language model that transformers runs, once hub.py has loaded it: an encoder, a decoder, or both in one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnviz.limits import MODEL_WRITES
from attnviz.models.capture import Recorder, recording, sites
from attnviz.models.encoding import Encoded, chances, encode, guesses
from attnviz.models.knockouts import Knockout, check_knockouts
from attnviz.models.model import Model, ModelInfo
from attnviz.models.reading import LayerRead, Part, Reading, Shortened
from attnviz.models.refusals import Refused
from attnviz.models.tokens import Token, aligned, shown

Ends = dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]  # by kind: what queries and keys are


class HuggingFace(Model):
    """A model of transformers in memory. Its layers and heads are counted in a run on three tokens."""

    def __init__(self, card: ModelInfo, model: Any, tokenizer: Any, special: frozenset[int]) -> None:
        self._model, self._tokenizer, self._special = model, tokenizer, special
        self._both = bool(model.config.is_encoder_decoder)
        self._sites = sites(model)
        self._takes = frozenset(inspect.signature(model.forward).parameters)
        with torch.no_grad():
            probed = self._run(card.code, torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 3]]), ())[1].reads
        kind = "encoder-decoder" if self._both else "decoder" if "decoder" in probed else "encoder"
        if not self._both:  # of one token alone, a mask would not tell
            self._sites = {i: replace(site, kind=kind) for i, site in self._sites.items()}
            probed = {kind: [read for reads in probed.values() for read in reads]}
        self._shapes = {each: (len(reads), len(reads[0].query)) for each, reads in probed.items()}
        first = next(iter(probed.values()))[0]
        n_layers = max(n for n, _ in self._shapes.values())
        super().__init__(card._replace(kind=kind, layers=n_layers, heads=len(first.query), kv_heads=len(first.key)))

    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        if self._both:
            return self._read_both(text, text_pair, knockouts)
        if self.info.kind == "decoder" and text_pair is not None:
            raise Refused("pair", model=self.info.code)
        texts = (text,) if text_pair is None else (text, text_pair)
        encoded = self._encoded(texts)
        ends: Ends = {self.info.kind: (encoded.tokens, encoded.tokens)}
        self._check(knockouts, ends)
        types = torch.tensor([encoded.types]) if len(texts) == 2 else None
        said, recorder = self._run(self.info.code, torch.tensor([encoded.ids]), None, knockouts, types)
        return self._reading(texts, recorder.reads, ends, encoded.shortened, said)

    def _read_both(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        source = self._encoded((text,))
        input_ids, cuts = torch.tensor([source.ids]), source.shortened
        if text_pair is None:
            written, text_pair = self._written(input_ids)
        else:
            target = self._encoded((text_pair,))
            written = target.tokens[:-1] if target.tokens[-1].special else target.tokens  # the end is not read
            cuts += tuple(cut._replace(text=1) for cut in target.shortened)
        start = self._start()
        piece = self._tokenizer.id_to_token(start) or ""
        read = (Token(start, piece, piece, (0, 0), 1, True), *(token._replace(text=1) for token in written))
        ends: Ends = {"encoder": (source.tokens,) * 2, "decoder": (read,) * 2, "cross": (read, source.tokens)}
        self._check(knockouts, ends)
        decoder_ids = torch.tensor([[token.id for token in read]])
        said, recorder = self._run(self.info.code, input_ids, decoder_ids, knockouts)
        return self._reading((text, text_pair), recorder.reads, ends, cuts, said)

    def _encoded(self, texts: Sequence[str]) -> Encoded:
        encoded = encode(self._tokenizer, texts, self.info.tokens, special=self._special)
        known = self._model.get_input_embeddings().num_embeddings
        for token in encoded.tokens:
            if token.id >= known:
                why = f"its tokenizer made token {token.id}, and it knows {known}"
                raise Refused("context", model=self.info.code, why=why)
        return encoded

    def _start(self) -> int:
        """The token that a decoder reads first."""
        for config in (self._model.generation_config, self._model.config):
            for name in ("decoder_start_token_id", "bos_token_id"):
                found = getattr(config, name, None)
                if isinstance(found, int):
                    return found
        return 0

    def _written(self, input_ids: Tensor) -> tuple[tuple[Token, ...], str]:
        """What the model itself answers, at most MODEL_WRITES tokens, each the most probable one."""
        made = self._model.generate(
            input_ids,
            attention_mask=torch.ones_like(input_ids),
            max_new_tokens=MODEL_WRITES,
            use_cache=False,  # which T5 makes of the encoder's number of layers, whatever the decoder's is
            do_sample=False,
            num_beams=1,
        )
        ids = made[0, 1:].tolist()
        while ids and ids[-1] in self._special:
            ids.pop()
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        pieces = [self._tokenizer.id_to_token(i) or "" for i in ids]
        spans = aligned(pieces, text)
        rows = zip(ids, pieces, shown(pieces, spans, text), spans, strict=True)
        return tuple(Token(*row, text=1, special=row[0] in self._special) for row in rows), text

    def _run(
        self,
        code: str,
        input_ids: Tensor,
        decoder_ids: Tensor | None,
        knockouts: Sequence[Knockout],
        types: Tensor | None = None,
    ) -> tuple[Any, Recorder]:
        """Run the model once, and note its attentions."""
        given: dict[str, Any] = {
            "input_ids": input_ids,
            "attention_mask": torch.ones_like(input_ids),
            "decoder_input_ids": decoder_ids,
            "token_type_ids": types,
            "use_cache": False,
            "logits_to_keep": 1,
        }
        given = {name: value for name, value in given.items() if name in self._takes and value is not None}
        recorder = Recorder(code, self._sites, knockouts)
        with recording(recorder):
            said = self._model(**given)
        if not recorder.reads:
            raise Refused("interface", model=code)
        return said, recorder

    def _check(self, knockouts: Sequence[Knockout], ends: Ends) -> None:
        sizes = {kind: (*self._shapes[kind], *map(len, ends[kind])) for kind in ends if kind in self._shapes}
        check_knockouts(knockouts, sizes)  # type: ignore[arg-type]  # four whole numbers each

    def _reading(
        self,
        texts: tuple[str, ...],
        reads: dict[str, list[LayerRead]],
        ends: Ends,
        cuts: tuple[Shortened, ...],
        said: Any,
    ) -> Reading:
        parts = tuple(Part(kind, tuple(reads[kind]), *ends[kind]) for kind in ends if kind in reads)
        logits = getattr(said, "logits", None)
        if logits is not None:
            found = chances(logits[0, -1])  # (v,)
            return Reading(
                self.info.code, texts, parts, cuts, probabilities=found, guesses=guesses(found, self._tokenizer)
            )
        hidden = said.last_hidden_state[0]  # (s, m)
        whole = hidden[-1] if self.info.kind == "decoder" else hidden.mean(dim=0)
        return Reading(self.info.code, texts, parts, cuts, embedding=whole / whole.norm())
