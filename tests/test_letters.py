"""The letters of the reader's choice: every equation stays the same sum."""

import pytest
import torch

from attnviz.core.arithmetic import EQUATIONS
from attnviz.fields import CHOICES
from attnviz.letters import LETTERS, relabel


def test_every_choice_has_its_letters() -> None:
    assert set(LETTERS) == set(CHOICES["letters"])


@pytest.mark.parametrize(
    ("equation", "letters", "theirs"),
    [
        ("bsk,buk->bsu", "bsu", "bsk,buk->bsu"),
        ("bsk,buk->bsu", "bij", "bik,bjk->bij"),
        ("bsk,buk->bsu", "bts", "btk,bsk->bts"),  # s becomes t and u becomes s, at once
        ("bsm,mk->bsk", "bts", "btm,mk->btk"),
        ("u", "bts", "s"),
        ("s", "bts", "t"),
        ("m", "bij", "m"),
        ("", "bij", ""),
    ],
)
def test_letters_are_exchanged_at_once(equation: str, letters: str, theirs: str) -> None:
    assert relabel(equation, letters) == theirs


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("step", [step for step, equation in EQUATIONS.items() if "," in equation])
def test_a_relabelled_equation_is_the_same_sum(step: str, letters: str) -> None:
    sizes = {"b": 2, "s": 3, "u": 4, "m": 5, "k": 6, "d": 7}
    operands = [
        torch.arange(float(torch.tensor([sizes[c] for c in letters_]).prod())).reshape([sizes[c] for c in letters_])
        for letters_ in EQUATIONS[step].split("->")[0].split(",")
    ]
    ours, theirs = (torch.einsum(e, *operands) for e in (EQUATIONS[step], relabel(EQUATIONS[step], letters)))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("letters", LETTERS)
def test_no_two_letters_become_one(letters: str) -> None:
    assert len(set(relabel("bhsumkd", letters))) == 7
