"""What is trained: a task and the sizes of the model, plain values that hash and compare. Read without torch."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attnviz.fields import check_number, shown
from attnviz.limits import TRAINING_SYMBOLS, TRAINING_TEXT
from attnviz.tokenizers import clean

TASKS = ("repeat", "reverse", "sort", "copy", "text")
POSITIONS = ("none", "learned", "sinusoidal", "rope_half", "alibi")
LENGTHS = {"repeat": 24, "reverse": 10, "sort": 10, "copy": 10}  # of a sequence; of text it depends on the text
LONGEST = 32  # characters of one sequence of a text
HELD_OUT = 10  # one part in so many of a text, its last, is never trained on

_NUMBERS = ("layers", "heads", "width", "seed", "learning_rate", "steps", "offset")


@dataclass(frozen=True)
class Recipe:
    """What is trained, on what, and how: all that decides the numbers of a run.

    width is d_model; the heads divide it between them, d_k = d_v = width / heads. offset, in tokens, is for the
    task "copy", text for the task "text". The same recipe gives the same numbers on the same machine.

    Raises ValueError, which names the field, what it may be and what came.

    >>> recipe = Recipe("sort", layers=1)
    >>> recipe.seq_len, "".join(recipe.vocabulary), recipe.n_parameters
    (10, '0123456789', 5056)
    """

    task: str = "repeat"
    layers: int = 2
    heads: int = 1
    width: int = 32
    positions: str = "learned"
    seed: int = 0
    learning_rate: float = 0.01
    steps: int = 300
    offset: int = 2
    text: str = ""

    def __post_init__(self) -> None:
        for name, choices in (("task", TASKS), ("positions", POSITIONS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {shown(value)}")
        for name in _NUMBERS:
            self._set(name, check_number(name, getattr(self, name)))
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}, {self.heads} does not")
        if self.positions == "rope_half" and self.d_k % 2:
            raise ValueError(f"heads must leave each head an even number of features for rope_half, not {self.d_k}")
        if not isinstance(self.text, str):
            raise ValueError(f"text must be a string, not {shown(self.text)}")
        self._set("text", clean(self.text) if self.task == "text" else "")  # of the other tasks it decides nothing
        if self.task == "text":
            _check_text(self.text)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # as a frozen dataclass sets its own fields

    @property
    def d_k(self) -> int:
        """The features of one head's queries, keys and values."""
        return self.width // self.heads

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The symbols, in the order of their numbers: letters, digits to sort, or the characters of the text."""
        if self.task == "text":
            return tuple(sorted(set(self.text)))
        return tuple(string.digits if self.task == "sort" else string.ascii_lowercase)

    @property
    def seq_len(self) -> int:
        """How many tokens s a sequence has in training; of a text as many as its held-out part can ask for."""
        return LENGTHS.get(self.task) or min(LONGEST, len(self.text) // HELD_OUT - 1)

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        positions = self.seq_len * self.width if self.positions == "learned" else 0
        return 2 * len(self.vocabulary) * self.width + positions + self.layers * 4 * self.width**2


def _check_text(text: str) -> None:
    n_kinds = len(set(text))
    if not TRAINING_TEXT.low <= len(text) <= TRAINING_TEXT.high:
        low, high = TRAINING_TEXT.low, TRAINING_TEXT.high
        raise ValueError(f"text must have {low} to {high} characters to learn from, not {len(text)}")
    if not 2 <= n_kinds <= TRAINING_SYMBOLS:
        raise ValueError(f"text must have 2 to {TRAINING_SYMBOLS} different characters, not {n_kinds}")
