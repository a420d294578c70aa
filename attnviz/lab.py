"""What the labs are set to: plain values that hash and link, as those of View, of which a Lab is a part."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from attnviz.fields import check_choice, check_number, shown
from attnviz.limits import LIMITS, QUESTIONS, TEXTS
from attnviz.tokenizers import clean

MOST_STEPS = int(LIMITS["steps"].high)


@dataclass(frozen=True)
class Lab:
    """The settings of every lab, each of which reads its own; what a field may be stands in fields and limits.

    reveal holds the numbers of the questions whose answers are shown. Raises ValueError, which names the field,
    what it may be and what came.

    >>> Lab(axis="s", reveal=(4,)).reveal
    (4,)
    """

    section: str = "step"  # the part of a step's page that is shown
    reveal: tuple[int, ...] = ()
    # scale
    draw_d_k: int = 64  # features of the queries and keys drawn at random
    draws: int = 200
    # softmax
    axis: str = "u"  # the letter over which the softmax sums to 1
    dropout: float = 0.2
    training: bool = True
    shift: int = 0  # added to every score of the row
    # masks
    hidden_value: str = "-inf"  # what a hidden score becomes
    hidden_when: str = "before"  # the softmax, or after it
    padded: int = 2  # last keys that are taken for padding, where no sequence is padded
    # queries, keys, values
    tied: bool = False  # W_K := W_Q
    value_is: str = "v"
    lookup: float = 1.0  # the temperature of the look-up table
    # parameters
    length: int = 512  # tokens
    # heads
    context: str = ""  # a second text, whose keys and values are read
    kv_heads: int = 2  # that the query heads share; as many of them as divide the heads
    shared_by: str = "mean"  # what a shared head is of its group
    sharpness: float = 3.0  # of two opposite heads
    # positions
    order: str = ""  # of the tokens, a permutation of 1 to n
    # decoding
    decoded: int = 4  # tokens so far
    # einsum
    equation: str = "bsm,mk->bsk"
    sizes: str = ""  # such as "k=3, i=2"
    at: str = ""  # the element whose terms are shown, such as "1, 1, 2"
    lit: str = ""  # the letter that is emphasised
    # what a weight proves
    knocked: str = "edge"
    # training: the fields of a Recipe, under names of their own where others have them too
    task: str = "repeat"
    layers: int = 2
    heads: int = 1
    width: int = 32
    places: str = "learned"  # the recipe's positions
    draw: int = 0  # the recipe's seed
    learning_rate: float = 0.01
    steps: int = 300
    offset: int = 2
    learn: str = ""  # the recipe's text
    beside: str = "none"  # what is trained side by side with it
    ran: bool = False  # it has been trained: a link trains it again
    at_step: int = MOST_STEPS  # the step that is looked at, the last one when there are fewer
    sequence: str = ""  # that the trained model reads; its own when empty
    which: int = 0  # of the models that were trained side by side
    # training and trained models
    layer: int = 0
    head: int = 0
    # trained models
    model: str = "attnviz-tiny"
    pair: str = ""  # a second text, where the model reads two
    part: str = "encoder"  # of an encoder-decoder
    grouped: bool = False  # pieces are grouped into words
    markers: bool = False  # pieces are shown with their markers
    silenced: str = ""  # heads and edges that are knocked out
    statistic: str = "previous"  # by which heads are told apart
    ranked: bool = False  # the heads of the highest statistic come first
    least: float = 0.0  # this and the next: of the statistic, for a head to be shown
    most: float = 32_768.0
    other_layer: int = 0  # this and the next: the head beside
    other_head: int = 0
    # the map of a long text
    map_scale: str = "auto"  # of its colours
    map_s: int = 0  # the first query token of the window that is shown, and its end; 0 is the end of the text
    map_s_end: int = 0
    map_u: int = 0  # the same of the key tokens
    map_u_end: int = 0
    # tensors from a file
    example: str = "none"
    brought: bool = False  # a file was there: a link cannot carry it, and says so
    axes: str = "auto"  # which axes stand before tokens: see models.files_axes
    sample: int = 0  # the sequence of the batch
    labels: str = ""  # the tokens, between blanks
    given_mask: str = "file"
    given_scale: float = 0.0
    given_softcap: float = 0.0
    given_d_model: int = 0
    rotary: str = "none"
    rotary_base: float = 10_000.0
    merged_heads: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _checked(field.name, getattr(self, field.name), field.default))


def _checked(name: str, value: Any, default: Any) -> Any:
    if name == "reveal":
        return check_reveal(value)
    if name in LIMITS:
        return check_number(name, value)
    if name in TEXTS:
        if not isinstance(value, str) or len(value) > TEXTS[name]:
            raise ValueError(f"{name} must be a text of at most {TEXTS[name]} characters, not {shown(value)}")
        return clean(value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, not {shown(value)}")
        return value
    return check_choice(name, value)


def check_reveal(value: Any) -> tuple[int, ...]:
    """Return the numbers of questions in their order, each once; ValueError when one is no question's.

    >>> check_reveal([4, 3, 4])
    (3, 4)
    """
    numbers = tuple(value) if isinstance(value, tuple | list | set | frozenset) else (value,)
    if not all(type(n) is int and 1 <= n <= QUESTIONS for n in numbers):
        raise ValueError(f"reveal must hold whole numbers from 1 to {QUESTIONS}, not {shown(value)}")
    return tuple(sorted(set(numbers)))
