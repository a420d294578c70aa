"""Why a model or a text was refused, in the reader's language."""

from __future__ import annotations

from attnviz.figures.text import markdown
from attnviz.locale import _
from attnviz.models.refusals import Refused


def word(refused: Refused) -> str:
    """Word a refusal in one sentence, in Markdown."""
    values = {name: markdown(_name(str(value))) for name, value in refused.values.items()}
    return _words()[refused.code].format(**values)


def _name(value: str) -> str:
    """A model as its reader calls it, and of a very long value the beginning."""
    value = value.removeprefix("hf:")
    return value if len(value) <= 200 else value[:199] + "…"


def _words() -> dict[str, str]:
    return {
        "model": _("There is no model “{model}”: choose one of the list."),
        "public": _(
            "This server is open to all and does not load {model}: choose another model of the list, or start attnviz "
            "on a machine of your own."
        ),
        "missing": _("{model} needs {packages}, not installed here. One line brings what it needs:"),
        "empty": _("There is nothing to read yet: type a few words."),
        "symbol": _("{model} reads the letters a to z, and “{symbol}” is none: take it out, or choose another model."),
        "pair": _("{model} reads one text only: empty the second box."),
        "unknown": _("{model}: there is no such model on the hub, or it is not open to all. Check its name."),
        "folder": _("There is no model at {model}: name a folder that holds a config.json, or a model of the hub."),
        "network": _("{model} is not on this machine, and the hub cannot be reached from here."),
        "corrupt": _("The files of {model} cannot be read: {why}"),
        "memory": _("{model} needs some {needed} MB of memory, and {free} MB are free: choose a smaller model."),
        "room": _("Too little memory is free for {model} to read this text: shorten it."),
        "code": _("{model} needs program code of its own, which is never run here."),
        "tokenizer": _("No tokenizer was found for {model}: it cannot read a text."),
        "interface": _("The attention of {model} does not go through transformers' interface and cannot be read."),
        "sinks": _("The softmax of {model} counts a learned sink beside the keys: its attention cannot be shown here."),
        "context": _("{model} cannot be run on a text alone: {why}"),
        "knockout": _("What is knocked out does not fit: expected {expected}, and {got} came."),
    }
