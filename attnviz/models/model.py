"""What every loaded model is: a card, and read(), which runs it on a text and keeps what its attention did."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from attnviz.limits import MODEL_CHARS
from attnviz.models.knockouts import Knockout
from attnviz.models.reading import Reading, Shortened
from attnviz.models.refusals import Refused
from attnviz.tokenizers import clean

Progress = Callable[[float], None]  # is told the share that is done, 0 to 1


class ModelInfo(NamedTuple):
    """A model's card; sizes are 0 where they are known only once it is loaded."""

    code: str
    title: str
    kind: str  # "encoder", "decoder" or "encoder-decoder"; "" where it is not known yet
    layers: int
    heads: int
    kv_heads: int
    d_model: int
    parameters: int
    tokens: int  # the longest text that is read
    download: int  # bytes of what its packages bring; 0 for what ships
    memory: int  # bytes it takes once it is loaded
    licence: str
    missing: tuple[str, ...] = ()  # packages to be installed first
    install: str = ""  # the line that installs them


class Model(ABC):
    """A model in memory. read() may be called from any thread: one call runs at a time, and shares nothing."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info
        self._running = threading.Lock()

    def read(self, text: str, text_pair: str | None = None, *, knockouts: Sequence[Knockout] = ()) -> Reading:
        """Run the model on a text, or two, and keep every layer's queries, keys and values.

        Of a text that is longer than info.tokens, or limits.MODEL_CHARS, the rest is left out, and the reading says
        from where on. What no encoding can hold, a lone surrogate, is read as U+FFFD.
        text_pair: a second text, where the model reads two; of an encoder-decoder, what its decoder has written.
        knockouts: heads and edges that are silenced while it runs.
        Raises Refused, a ValueError, for a text without tokens, a second one that is not read, a knock-out that
        does not fit, too little memory.
        """
        given = [text] if text_pair is None else [text, text_pair]
        texts = [clean(each[:MODEL_CHARS]) for each in given]
        with self._running, torch.no_grad():
            try:
                reading = self._read(texts[0], texts[1] if len(texts) == 2 else None, tuple(knockouts))
            except (MemoryError, RuntimeError) as error:
                if isinstance(error, MemoryError) or "allocate memory" in str(error):
                    raise Refused("room", model=self.info.code) from error
                raise
        cut = {each.text for each in reading.shortened}
        more = tuple(
            Shortened(number, MODEL_CHARS, self.info.tokens)
            for number, each in enumerate(given)
            if len(each) > MODEL_CHARS and number not in cut
        )
        return reading._replace(shortened=reading.shortened + more)

    @abstractmethod
    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading: ...
