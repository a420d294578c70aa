"""Which tensor of the reader's each operand of an equation is, by its letters or by where they stand."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import torch
from torch import Tensor

from attnviz.core.attention import AttentionTrace
from attnviz.core.einsum import Equation, parse
from attnviz.core.einsum_parse import ELLIPSIS
from attnviz.core.heads import repeat_kv, split_heads

# The sums of attention in the design's letters, with what they are of; where two fit alike, the first counts.
KNOWN: tuple[tuple[str, str, str], ...] = (
    ("bsm,mk->bsk", "X W_Q", "Q"),
    ("bum,mk->buk", "X W_K", "K"),
    ("bum,md->bud", "X W_V", "V"),
    ("bsk,buk->bsu", "Q K", "S"),
    ("bsu,bud->bsd", "a V", "O"),
    ("bsm,bum->bsu", "X X", "S"),
    ("bhsk,bhuk->bhsu", "Q K", "S"),
    ("bhsu,bhud->bhsd", "a V", "O"),
    ("bshk,buhk->bhsu", "Q K", "S"),
    ("bhsu,buhd->bshd", "a V", "O"),
    ("sm,mk->sk", "X W_Q", "Q"),
    ("um,mk->uk", "X W_K", "K"),
    ("um,md->ud", "X W_V", "V"),
    ("sk,uk->su", "Q K", "S"),
    ("su,ud->sd", "a V", "O"),
)
_PARSED = [(known, parse(known[0])) for known in KNOWN]
AXES = {
    "X": "bsm",
    "W_Q": "hmk",
    "W_K": "hmk",
    "W_V": "hmd",
    "Q": "bhsk",
    "K": "bhuk",
    "V": "bhud",
    "a": "bhsu",
    "O": "bhsd",
}
_SPELT = {"sm": "X", "um": "X", "mk": "W_Q", "md": "W_V", "sk": "Q", "uk": "K", "ud": "V", "su": "a", "sd": "O"}
_BY_LETTERS = {frozenset(letters): name for letters, name in _SPELT.items()}
_FREE_NAMES = [name for name in "ABCDEFGHIJLMNPRTUWYZ" if name not in AXES]


def own_tensors(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, trace: AttentionTrace) -> dict[str, Tensor]:
    """The reader's tensors by name, in the letters of AXES; a shared key or value head stands once for each query head.

    x is (b, s, m), w_q (m, h*k), w_k and w_v (m, h_kv*...), trace as attention returns it, with a head axis.
    """
    n_heads, n_kv_heads = trace.query.shape[1], trace.key.shape[1]
    keys, values, w_keys, w_values = (
        repeat_kv(part, n_heads)
        for part in (trace.key, trace.value, split_heads(w_k, n_kv_heads), split_heads(w_v, n_kv_heads))
    )
    tensors = (x, split_heads(w_q, n_heads), w_keys, w_values, trace.query, keys, values, trace.weights, trace.output)
    return dict(zip(AXES, tensors, strict=True))


def recognise(parsed: Equation, letters: Mapping[str, str]) -> tuple[tuple[str, str, str] | None, dict[str, str]]:
    """The equation of KNOWN that this one is, and what its letters mean."""
    spelt: dict[str, str] = {}
    for letter in parsed.kept + parsed.summed:
        ours = letters.get(letter, letter)
        if ours in "bhsumkd" and ours not in spelt.values():
            spelt[letter] = ours
    literal = all(literally(operand, spelt) for operand in parsed.operands)
    best: tuple[tuple[bool, int, int], tuple[str, str, str], dict[str, str]] | None = None
    for known, sum_ in _PARSED:
        renamed = _renamed(parsed, sum_)
        if renamed is None:
            continue
        same = {ours for letter, ours in renamed.items() if letters.get(letter, letter) == ours}
        features = [letter == ours for letter, ours in renamed.items() if {letter, ours} & set("mkd")]
        exact = len(same) == len(renamed)
        # Of matrices with two axes alone, the pattern says little: 'ij,jk->ik' is any product.
        if not exact and (literal or not (all(features) or max(map(len, parsed.operands)) > 2)):
            continue
        score = (exact, sum(features), len(same))
        if best is None or score > best[0]:
            best = (score, known, renamed)
    return (best[1], best[2]) if best else (None, spelt)


def _renamed(parsed: Equation, known: Equation) -> dict[str, str] | None:
    """Of each letter the one that stands in its places in `known`; None where the two differ by more than letters."""
    ours, theirs = ([*e.operands, e.output] for e in (known, parsed))
    if list(map(len, ours)) != list(map(len, theirs)) or any(ELLIPSIS in letters for letters in theirs):
        return None
    pairs = {pair for a, b in zip(theirs, ours, strict=True) for pair in zip(a, b, strict=True)}
    renamed = dict(sorted(pairs))
    return renamed if len(renamed) == len(pairs) == len({b for _, b in pairs}) else None


def literally(operand: Sequence[str], meaning: Mapping[str, str]) -> str:
    """The tensor of the reader's that an operand spells, whatever the order of its letters; "" for none."""
    ours = [meaning.get(letter, "") for letter in operand]
    name = _BY_LETTERS.get(frozenset(ours) - {"b", "h"}, "")
    rest = set(ours) & {"b", "h"}
    return name if name and len(set(ours)) == len(ours) and rest <= set(AXES[name]) else ""


def taken(tensor: Tensor, axes: str, wanted: Sequence[str], at: Mapping[str, int]) -> Tensor:
    """The axes that are wanted, in their order; of sequences and heads that are not, the one that is chosen."""
    for letter in "bh":
        if letter in axes and letter not in wanted:
            tensor = tensor.select(axes.index(letter), at[letter])
            axes = axes.replace(letter, "")
    axes = axes.replace("s", "u") if "u" in wanted and "u" not in axes else axes
    return tensor.permute([axes.index(letter) for letter in wanted])


def drawn(number: int, shape: Sequence[int], seed: int) -> Tensor:
    """Normal numbers with one decimal, easily added by hand; those of one operand, seed and shape are always the same.

    Drawn in float64 and then cast, as all of attnviz's: float32 draws differ between CPU kernels.
    """
    generator = torch.Generator().manual_seed(seed * 100 + number)
    whole = (torch.randn(list(shape), dtype=torch.float64, generator=generator) * 10).round()
    return whole.div(10).to(torch.float32)


def names(own: Sequence[str], operands: Sequence[Tensor], letters: Container[str]) -> tuple[str, ...]:
    """Names for the operands that run: none of the letters, and two alike only for one and the same tensor.

    >>> names(["a", "", ""], [torch.ones(1)] * 3, ("i", "a"))
    ('a_', 'A', 'B')
    """
    free = iter([*_FREE_NAMES, *(f"x{i}" for i in range(len(own)))])
    given: dict[str, Tensor] = {}
    labels = []
    for name, x in zip(own, operands, strict=True):
        label = free_of(name or next(free), letters)
        while label in given and not torch.equal(given[label], x):
            label += "_"
        given[label] = x
        labels.append(label)
    return tuple(labels)


def free_of(name: str, letters: Container[str]) -> str:
    """The name, with a mark where a letter has it already."""
    return f"{name}_" if name in letters else name
