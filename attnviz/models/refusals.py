"""Why a model or a text was refused: a code with its values for those who word it, and one plain sentence."""

from __future__ import annotations

_SENTENCES = {
    "model": "model: expected one of {known} or 'hf:' and a name or folder, got {model!r}",
    "public": "{model}: this server is open to all and loads only models that it came with",
    "missing": "{model} needs {packages}, not installed here: {install}",
    "empty": "text: expected at least one token, got {text!r}",
    "symbol": "text: {model} reads the letters a to z, got {symbol!r}",
    "pair": "text_pair: {model} reads one text, got two",
    "unknown": "{model}: no such model on the hub, or it is not open to all",
    "folder": "{model}: expected a folder with a config.json, got one without",
    "network": "{model}: not on this machine, and the hub cannot be reached",
    "corrupt": "{model}: its files cannot be read: {why}",
    "memory": "{model} needs some {needed} MB of memory, and {free} MB are free",
    "room": "{model}: too little memory is free to read this text",
    "code": "{model}: it needs program code of its own, which is never run",
    "tokenizer": "{model}: no tokenizer for it was found",
    "interface": "{model}: its attention does not go through transformers' attention interface and cannot be read",
    "sinks": "{model}: its softmax counts a learned sink beside the keys, which attention here does not know",
    "context": "{model}: it cannot be run on text alone: {why}",
    "knockout": "knockouts: expected {expected}, got {got}",
}
CODES = tuple(_SENTENCES)


class Refused(ValueError):
    """A model or a text that cannot be read; code is one of CODES, values are what its sentence names.

    >>> refused = Refused("empty", text="")
    >>> refused.code, str(refused)
    ('empty', "text: expected at least one token, got ''")
    """

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(_SENTENCES[code].format(**values))
        self.code = code
        self.values = values

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.code, self.values)


def _again(code: str, values: dict[str, object]) -> Refused:
    return Refused(code, **values)
