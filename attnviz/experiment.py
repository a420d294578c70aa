"""What is computed (Experiment) and where one looks (View): plain values that hash, compare and link."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from attnviz.drawing import read_drawing
from attnviz.edits import EDITS, Cells, Index, check_cells, check_matrix, is_cells
from attnviz.fields import CHOICES, PAGE, STEPS, check_choice, check_number, shown
from attnviz.lab import Lab
from attnviz.limits import SEQUENCES, TEXT_CHARS, TOKENS, TRACE_BYTES
from attnviz.run import PAD, Run, run
from attnviz.tokenizers import clean, tokenize

if TYPE_CHECKING:
    from attnviz.links import from_query, read_query, to_query

__all__ = ["CHOICES", "DEFAULT_TEXT", "EDITS", "PAD", "STEPS", "Cells", "Experiment", "Lab", "Run", "View"]
__all__ += ["from_query", "read_query", "to_query"]

DEFAULT_TEXT = "the cat sat on the mat"
_SIZES = ("d_model", "d_k", "d_v", "n_heads", "n_kv_heads", "max_tokens")
_NUMBERS = (*_SIZES, "seed", "temperature", "window_left", "window_right", "prefix_length")
_MAY_BE_NONE = ("n_kv_heads", "max_tokens")
_ROTATIONS: dict[str, Literal["half", "interleaved"]] = {"rope_half": "half", "rope_interleaved": "interleaved"}


@dataclass(frozen=True)
class Experiment:
    """A text and how attention over it is computed; each line that is not blank is one sequence of the batch.

    d_k and d_v are sizes of one head. n_kv_heads, a divisor of n_heads, groups the heads; None means n_heads.
    scale is what scores are multiplied by: "sqrt" 1/sqrt(d_k), "d_k" 1/d_k, "none" 1; temperature divides it.
    The seed draws the token vectors, learned positions and w_q, w_k, w_v. RoPE turns pairs of features: of an odd
    d_k it turns nothing.

    Edits are x (b, s, m), w_q, w_k (m, h*k), w_v (m, h*d), q (b, s, h*k), k (b, u, h*k), v (b, u, h*d); h is
    n_kv_heads for keys and values. Each is None, or a whole matrix (nested lists or a tensor; two axes of x,
    q, k, v are sequence 0), or a tuple of single cells (index, value). Cells are what is kept.

    Raises ValueError, which names the field, what it may be and what came.

    >>> experiment = Experiment("我喜欢猫", d_model=4, w_q=(((0, 1), 2.5),))
    >>> experiment.sequences, experiment.edits
    ((('我', '喜', '欢', '猫'),), {'w_q': (((0, 1), 2.5),)})
    """

    text: str
    tokenizer: str = "words"
    d_model: int = 8
    d_k: int = 4
    d_v: int = 4
    n_heads: int = 1
    n_kv_heads: int | None = None
    seed: int = 0
    scale: str = "sqrt"
    temperature: float = 1.0
    mask: str = "none"
    positions: str = "none"
    x: Any = None
    w_q: Any = None
    w_k: Any = None
    w_v: Any = None
    q: Any = None
    k: Any = None
    v: Any = None
    window_left: int = 2
    window_right: int = 0
    prefix_length: int = 2
    drawn: str = ""  # the drawn mask: see drawing
    # A limit on each sequence, which fitting() sets; never in a link.
    max_tokens: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or len(self.text) > TEXT_CHARS:
            raise ValueError(f"text must be a string of at most {TEXT_CHARS} characters, not {_length(self.text)}")
        self._set("text", clean(self.text))
        for name in ("tokenizer", "scale", "mask", "positions"):
            check_choice(name, getattr(self, name))
        for name in _NUMBERS:
            if name not in _MAY_BE_NONE or getattr(self, name) is not None:
                self._set(name, check_number(name, getattr(self, name)))
        if self.drawn:
            read_drawing(self.drawn)
        if self.n_heads % (self.n_kv_heads or 1):
            raise ValueError(f"n_kv_heads must divide n_heads={self.n_heads}, {self.n_kv_heads} does not")
        for name in EDITS:
            value = getattr(self, name)
            if is_cells(value):
                self._set(name, check_cells(name, value))
            elif value is not None:
                cells = check_matrix(name, value, self.shapes[name])
                kept = tuple(cell for cell in cells if self.has_cell(name, cell[0]))  # rows of padding stay 0
                self._set(name, check_cells(name, kept))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # as a frozen dataclass sets its own fields

    @cached_property
    def _lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]

    @cached_property
    def sequences(self) -> tuple[tuple[str, ...], ...]:
        """The tokens, not padded, of the first SEQUENCES lines that are not blank; none of an empty text."""
        tokens = (tokenize(line, self.tokenizer) for line in self._lines[:SEQUENCES])
        return tuple(tuple(sequence[: self.max_tokens]) for sequence in tokens)

    @property
    def n_left_out(self) -> int:
        """How many further lines the text has, which are not computed."""
        return max(0, len(self._lines) - SEQUENCES)

    @property
    def edits(self) -> dict[str, Cells]:
        """The edited cells by field, of those fields that have any."""
        return {name: cells for name in EDITS if (cells := getattr(self, name)) is not None}

    @cached_property
    def shapes(self) -> dict[str, Index]:
        """The present shape of each edit field: of x (b, s, m), with b sequences as long as the longest."""
        n_kv_heads = self.n_kv_heads or self.n_heads
        q, k, v = self.n_heads * self.d_k, n_kv_heads * self.d_k, n_kv_heads * self.d_v
        b, s = len(self.sequences), max(map(len, self.sequences), default=0)
        m = self.d_model
        weights: dict[str, Index] = {"w_q": (m, q), "w_k": (m, k), "w_v": (m, v)}
        return weights | {"x": (b, s, m), "q": (b, s, q), "k": (b, s, k), "v": (b, s, v)}

    def has_cell(self, name: str, index: Index) -> bool:
        """Say whether the cell `index` of edit field `name` lies in the present shape, and in no padding."""
        inside = all(i < size for i, size in zip(index, self.shapes[name], strict=True))
        return inside and (len(index) == 2 or index[1] < len(self.sequences[index[0]]))

    def unedited(self) -> Experiment:
        """Return the same experiment without edits."""
        none: dict[str, Any] = dict.fromkeys(EDITS)
        return replace(self, **none) if self.edits else self

    def with_cell(self, name: str, index: Index, value: float) -> Experiment:
        """Return a copy in which the cell `index` (counted from 0) of the edit field `name` is `value`.

        >>> Experiment("a b").with_cell("x", (0, 1, 2), 0.5).x
        (((0, 1, 2), 0.5),)
        """
        if name not in EDITS:
            raise ValueError(f"name must be one of {', '.join(EDITS)}, not {shown(name)}")
        cells: Any = (*(getattr(self, name) or ()), (tuple(index), value))
        return replace(self, **{name: cells})

    @property
    def rotation(self) -> Literal["half", "interleaved"] | None:
        """Which features of queries and keys turn together, "half" or "interleaved"; None where nothing turns."""
        return _ROTATIONS.get(self.positions) if self.d_k % 2 == 0 else None

    def trace_bytes(self, n: int) -> int:
        """Return the bytes of a whole trace, were every sequence n tokens long."""
        n_kv_heads = self.n_kv_heads or self.n_heads
        per_token = self.n_heads * (4 * n + self.d_k + self.d_v) + n_kv_heads * (self.d_k + self.d_v)
        per_token += (self.n_heads + n_kv_heads) * self.d_k if self.rotation else 0  # what was rotated
        per_token += self.n_heads * n if self.positions == "alibi" else 0  # a mask that differs from head to head
        return 4 * len(self.sequences) * n * per_token

    def fitting(self) -> tuple[Experiment, int]:
        """Return a copy that keeps the first tokens of each sequence, as many as fit, and how many were cut.

        At most TOKENS fit, fewer when the trace would exceed TRACE_BYTES. Itself and 0 when nothing is cut.
        """
        fits = bisect_right(range(TOKENS + 1), TRACE_BYTES, key=self.trace_bytes) - 1
        n_cut = sum(max(0, len(sequence) - fits) for sequence in self.sequences)
        return (replace(self, max_tokens=fits), n_cut) if n_cut else (self, 0)

    def run(self) -> Run:
        """Compute it all, in float32: see Run."""
        return run(self)


@dataclass(frozen=True)
class View:
    """Where one looks, and how: the page, the step, the cell (b, h, s, u, and a feature; all from 0).

    lang is "en", "zh" or None, the browser's; letters are those of the formulas, "bsu", "bij" or "bts";
    difference shows what the edits changed; from_s and from_u are the first tokens drawn of a long axis; lab
    holds the settings of the labs.
    Raises ValueError, which names the field, what it may be and what came.
    """

    page: str = "explore"
    step: str = "weights"
    b: int = 0
    h: int = 0
    s: int = 0
    u: int = 0
    lang: str | None = None
    letters: str = "bsu"
    feature: int = 0
    difference: bool = False
    from_s: int = 0
    from_u: int = 0
    lab: Lab = field(default_factory=Lab)

    def __post_init__(self) -> None:
        if not isinstance(self.page, str) or not PAGE.fullmatch(self.page):
            raise ValueError(f"page must be a name of small letters, digits, _ and -, not {shown(self.page)}")
        for name in ("step", "letters") if self.lang is None else ("step", "letters", "lang"):
            check_choice(name, getattr(self, name))
        for name in ("b", "h", "s", "u", "feature", "from_s", "from_u"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if not isinstance(self.difference, bool):
            raise ValueError(f"difference must be True or False, not {shown(self.difference)}")


def _length(text: Any) -> str:
    return f"{len(text)}" if isinstance(text, str) else shown(text)


def __getattr__(name: str) -> Any:  # links build on this file, so that it cannot import them at its top
    if name in ("from_query", "read_query", "to_query"):
        from attnviz import links

        return getattr(links, name)
    raise AttributeError(f"module 'attnviz.experiment' has no attribute {name!r}")
