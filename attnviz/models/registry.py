"""Which models there are, and the one that is in memory: another choice releases it first."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from types import ModuleType

from attnviz.models import attention_only, hub, minilm, smollm2
from attnviz.models.knockouts import Knockout
from attnviz.models.memory import check_memory, give_back
from attnviz.models.model import Model, ModelInfo, Progress
from attnviz.models.reading import Reading
from attnviz.models.refusals import Refused

_OFFLINE: dict[str, ModuleType] = {"attnviz-tiny": attention_only, "minilm": minilm, "smollm2": smollm2}
_ALIASES = {  # what people call these, in small letters
    "tiny": "attnviz-tiny",
    "all-minilm-l6-v2": "minilm",
    "sentence-transformers/all-minilm-l6-v2": "minilm",
    "smollm2-135m": "smollm2",
    "smollm2-135m-instruct": "smollm2",
    "huggingfacetb/smollm2-135m-instruct": "smollm2",
}

_loading = threading.RLock()  # one load or one reading at a time: two models never are in memory together
_kept: list[Model] = []  # the one model, or none


def available() -> list[ModelInfo]:
    """The cards of the models that need no download by the hub, and of "hf:", which stands for any that does.

    A card's `missing` names the packages that are not here, and `install` the line that brings them.

    >>> [card.code for card in available()]
    ['attnviz-tiny', 'minilm', 'smollm2', 'hf:']
    """
    return [*(module.info() for module in _OFFLINE.values()), hub.info()]


def code_of(name: str) -> str:
    """Return the code of the model that a name means, in small or large letters; a name that is none's as it came.

    >>> code_of("SmolLM2-135M-Instruct"), code_of("MiniLM"), code_of("hf:gpt2")
    ('smollm2', 'minilm', 'hf:gpt2')
    """
    small = name.strip().lower()
    codes = {each.lower(): each for each in _OFFLINE} | _ALIASES
    return codes.get(small, name)


def load(code: str, progress: Progress | None = None) -> Model:
    """Return the model of a code of available(), or of "hf:" and a name or folder: from memory, or loaded.

    Any other model in memory is released before; only who still holds it keeps it. Use read() to hold none.
    progress is told the share that is done. Raises Refused for a code that is none, and as the loaders do.
    """
    with _loading:
        if _kept and _kept[0].info.code == code:
            return _kept[0]
        loader = _loader(code)
        release()
        _kept.append(loader(progress))
        return _kept[0]


def read(
    code: str,
    text: str,
    text_pair: str | None = None,
    *,
    knockouts: Sequence[Knockout] = (),
    progress: Progress | None = None,
) -> Reading:
    """Load a model if need be, and have it read a text; nobody loads another meanwhile. Raises as both do."""
    with _loading:
        return load(code, progress).read(text, text_pair, knockouts=knockouts)


def release() -> None:
    """Let the model in memory go, and hand its memory back."""
    with _loading:
        if _kept:
            _kept.clear()
            gc.collect()  # models of transformers hold themselves in circles
            give_back()


def loaded() -> ModelInfo | None:
    """The card of the model in memory, with all that is known once it is loaded; None when there is none."""
    kept = list(_kept)  # read without waiting for a load that is going on
    return kept[0].info if kept else None


def _loader(code: str) -> Callable[[Progress | None], Model]:
    if code.startswith(hub.PREFIX):
        return lambda progress: hub.load(code.removeprefix(hub.PREFIX), progress)
    if code not in _OFFLINE:
        raise Refused("model", known=", ".join(_OFFLINE), model=code)
    module = _OFFLINE[code]
    card: ModelInfo = module.info()
    if not card.missing:
        check_memory(code, card.memory)
    return lambda progress: module.load(progress)
