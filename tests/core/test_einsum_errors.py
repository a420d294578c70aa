"""Equations and shapes that do not fit: refused where torch.einsum refuses, and only there, in words that say why."""

import itertools
import pickle
from collections.abc import Callable
from typing import cast

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attnviz.core import einsum_parse
from attnviz.core.einsum import EquationError, einsum, element, loop, parse, sizes
from tests.core.test_einsum import Case, cases

Shapes = list[tuple[int, ...]]


def torch_takes(text: str, shapes: Shapes) -> tuple[int, ...] | None:
    """The shape of torch.einsum's result, None when it refuses."""
    try:
        return tuple(torch.einsum(text, *(torch.zeros(shape) for shape in shapes)).shape)
    except (RuntimeError, ValueError, LookupError):  # the last two: no operand, and opt_einsum where it is installed
        return None


def we_take(text: str, shapes: Shapes) -> tuple[int, ...] | None:
    try:
        equation = parse(text, shapes)
    except EquationError as error:
        str(error)  # every code has its facts, else this is a KeyError
        for refuses in (sizes, loop):
            with pytest.raises(EquationError):
                refuses(text, shapes)
        return None
    return tuple(sizes(text, shapes)[letter] for letter in equation.output)


@st.composite
def nearly_right(draw: st.DrawFn) -> tuple[str, Shapes]:
    """An equation with its shapes, one or two things of them changed."""
    case: Case = draw(cases())
    text, shapes = case.text, [list(shape) for shape in case.shapes]
    changes = ["size", "size", "size", "letter", "letter", "put", "drop", "swap", "axis", "operand", "no operand"]
    for _ in range(draw(st.integers(1, 2))):
        change = draw(st.sampled_from(changes))
        at = draw(st.integers(0, len(text)))
        shape = draw(st.sampled_from(shapes)) if shapes else []
        if change == "letter":
            text = text[:at] + draw(st.sampled_from(["i", "j", *text])) + text[at + 1 :]
        elif change == "put":
            text = text[:at] + draw(st.sampled_from([*"abAZ.,> -1_é\t\n", "...", "->", *text])) + text[at:]
        elif change == "drop":
            text = text[:at] + text[at + 1 :]
        elif change == "swap":
            text = text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
        elif change == "size" and shape:
            shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 3))
        elif change == "axis":
            shape.insert(draw(st.integers(0, len(shape))), draw(st.integers(0, 3)))
        elif change == "operand":
            shapes.append(draw(st.lists(st.integers(0, 3), max_size=3)))
        elif change == "no operand" and shapes:
            shapes.pop()
    return text, [tuple(shape) for shape in shapes]


@settings(max_examples=250, deadline=None)
@given(broken=nearly_right())
@example(broken=("ii,i->i", [(1, 1), (3,)]))  # the diagonal of 1 x 1 is stretched
@example(broken=("ii,i->i", [(1, 3), (3,)]))  # but not an axis of it alone
@example(broken=("i,i->", [(0,), (1,)]))
@example(broken=("...,...", [(2, 0), (2, 3)]))
def test_refused_where_torch_refuses(broken: tuple[str, Shapes]) -> None:
    assert we_take(*broken) == torch_takes(*broken)


@pytest.mark.parametrize("shapes", [[], [(2,)], [(2, 3)], [(2,), (1,)], [(2, 2), (2,)]])
def test_every_short_text_is_taken_or_refused_as_torch_does(shapes: Shapes) -> None:
    signs = ["i", "J", "...", ".", ",", "->", " "]
    texts = ["".join(text) for n in range(5) for text in itertools.product(signs, repeat=n)]
    assert [text for text in texts if we_take(text, shapes) != torch_takes(text, shapes)] == []


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters() | st.sampled_from("ab.,-> "), max_size=8), shape=st.lists(st.integers(0, 2)))
def test_any_text_at_all(text: str, shape: list[int]) -> None:
    # A lone surrogate cannot be handed to torch: UnicodeEncodeError is a ValueError.
    assert we_take(text, [tuple(shape)]) == torch_takes(text, [tuple(shape)])


QK = [(2, 5, 4), (2, 6, 4)]
REFUSED = [
    ("bsk,b1k", QK, "character", "operand 2 'b1k': expected letters a to z or A to Z, '...' and spaces, got '1'"),
    ("é", [(2,)], "character", "operand 1 'é': expected letters a to z or A to Z, '...' and spaces, got 'é'"),
    ("i\t->i", [(2,)], "character", r"operand 1 'i\t': expected letters a to z or A to Z, '...' and spaces, got '\t'"),
    ("i->i>", [(2,)], "character", "output 'i>': expected letters a to z or A to Z, '...' and spaces, got '>'"),
    ("i, ..j", [(2,), (2,)], "dots", "operand 2 '..j': expected dots only as '...', got a '.' beside that"),
    ("i->.. .", [(2,)], "dots", "output '.. .': expected dots only as '...', got a '.' beside that"),
    ("...i...", [(2,)], "ellipses", "operand 1 '...i...': expected '...' at most once, got it 2 times"),
    ("i->......", [(2,)], "ellipses", "output '......': expected '...' at most once, got it 2 times"),
    ("i->i->i", [(2,)], "arrows", "equation 'i->i->i': expected '->' at most once, got it 2 times"),
    ("i,j->i,j", [(2,), (3,)], "outputs", "output 'i,j': expected one output, got 2, with commas between"),
    ("bsk,buk->bsz", QK, "unknown", "output 'bsz': expected letters that stand in an operand, of 'bsku', got z"),
    ("->i", [()], "unknown", "output 'i': expected letters that stand in an operand, of '', got i"),
    ("bsk,buk->bsub", QK, "twice", "output 'bsub': expected each letter at most once, got b 2 times"),
    ("i->...i...", [(2,)], "ellipses", "output '...i...': expected '...' at most once, got it 2 times"),
    ("i,j", [(2,)], "operands", "equation 'i,j->ij': expected as many operands as it names, 2, got 1"),
    ("i", [(2,), (2,)], "operands", "equation 'i->i': expected as many operands as it names, 1, got 2"),
    ("i", [], "operands", "equation 'i->i': expected as many operands as it names, 1, got 0"),
    ("bsk,buk", [(2, 5, 4), (6, 4)], "axes", "operand 2 'buk': expected shape (b, u, k), got (6, 4)"),
    ("...uk", [(4,)], "axes", "operand 1 '...uk': expected shape (..., u, k), got (4,)"),
    ("i,", [(2,), (1,)], "axes", "operand 2 '': expected shape (), got (1,)"),
    ("iij", [(2, 3, 4)], "diagonal", "operand 1 'iij': expected one size for letter i, which it repeats, got 2 and 3"),
    (
        "bsk, buk",
        [(2, 5, 4), (2, 6, 3)],
        "size",
        "operand 2 'buk': expected size 4 of letter k, as in operand 1 'bsk', or 1, got 3",
    ),
    (
        "i,i,i",
        [(1,), (3,), (4,)],
        "size",
        "operand 3 'i': expected size 3 of letter i, as in operand 2 'i', or 1, got 4",
    ),
    (
        "...i,...i",
        [(2, 5, 1), (3, 5, 4)],
        "size",
        "operand 2 '...i': expected size 2 of letter ...0, as in operand 1 '...i', or 1, got 3",
    ),
]


@pytest.mark.parametrize(("text", "shapes", "code", "message"), REFUSED)
def test_what_does_not_fit_is_named(text: str, shapes: Shapes, code: str, message: str) -> None:
    assert torch_takes(text, shapes) is None
    operands = [torch.zeros(shape) for shape in shapes]
    calls: list[Callable[[], object]] = [
        lambda: parse(text, shapes),
        lambda: sizes(text, shapes),
        lambda: loop(text, shapes),
        lambda: element(text, operands, ()),
        lambda: einsum(text, *operands),
    ]
    for call in calls:
        with pytest.raises(EquationError) as raised:
            call()
        assert (raised.value.code, str(raised.value)) == (code, message)
        assert str(pickle.loads(pickle.dumps(raised.value))) == message  # noqa: S301  # our own, made in this line


def test_every_code_is_met() -> None:
    assert {code for _, _, code, _ in REFUSED} | {"unknown_axes"} == set(einsum_parse.MESSAGES)


def test_the_facts_are_numbers_and_letters() -> None:
    with pytest.raises(EquationError) as raised:
        parse("bsk,buk->bsu", [(2, 5, 4), (2, 6, 3)])
    facts = {"operand": 2, "subscripts": "buk", "letter": "k", "expected": 4, "got": 3}
    assert raised.value.facts == facts | {"like": 1, "like_subscripts": "bsk"}


X = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: parse(cast("str", 3)), TypeError, "equation: expected a str such as 'bsk,buk->bsu', got int"),
        (lambda: parse("i", [cast("tuple", 3)]), TypeError, "operand 1: expected a shape, got 3"),
        (
            lambda: parse("i,i", [(2,), (-1,)]),
            ValueError,
            "operand 2, its shape: expected a whole number of at least 0, got -1",
        ),
        (
            lambda: sizes("i", [cast("tuple", (2.0,))]),
            TypeError,
            "operand 1, its shape: expected a whole number of at least 0, got 2.0",
        ),
        (
            lambda: loop("...k->k"),
            EquationError,
            "equation '...k->k': expected the operands' shapes, which say what '...' is, got none",
        ),
        (lambda: loop("ij,j", names=("X",)), ValueError, "names: expected 2, one for each operand, got 1"),
        *(
            (
                lambda name=name: loop("ij,jB", names=("X", name)),
                ValueError,
                f"names: expected a Python name that the loop does not use itself, got {name!r}",
            )
            for name in ("i", "B", "range", "for", "X.T", "")
        ),
        (
            lambda: loop("...", [(2,)], output="axis_0"),
            ValueError,
            "output: expected a Python name that the loop does not use itself, got 'axis_0'",
        ),
        (
            lambda: loop("ij,kj", names=("X", "X"), output="X"),
            ValueError,
            "output: expected a name other than the operands', got 'X'",
        ),
        *(
            (
                lambda index=index: element("ij->ij", [X], index),
                ValueError,
                f"index: expected 2 whole numbers from 0 below the result's shape (2, 3), got {index}",
            )
            for index in ((0,), (0, 3), (-1, 0), (0.0, 1), (0, 1, 0))
        ),
        (
            lambda: element("ij,j,k->", [X, torch.zeros(3), torch.zeros(4)], (), max_terms=23),
            ValueError,
            "operands: expected at most 23 terms in one element, got i=2 * j=3 * k=4 = 24",
        ),
        (
            lambda: element("i,ij->", [torch.zeros(2), X.to(torch.complex64)], ()),
            TypeError,
            "operand 2 'ij': expected a real dtype, got torch.complex64",
        ),
        (lambda: einsum("i,i", X[0], [1, 2]), TypeError, "operand 2 'i': expected a torch.Tensor, got list"),
        (
            lambda: element("i", cast("list[torch.Tensor]", [(1, 2)]), (0,)),
            TypeError,
            "operand 1 'i': expected a torch.Tensor, got tuple",
        ),
        (
            lambda: einsum("ij,jk", X, torch.zeros(3, 2).double()),
            TypeError,
            "operand 2 'jk': expected dtype torch.float32 as operand 1 'ij' has, got torch.float64",
        ),
        (
            lambda: einsum("ij,j->ij", X, torch.zeros(3, device="meta")),
            TypeError,
            "operand 2 'j': expected device cpu as operand 1 'ij' has, got meta",
        ),
    ],
)
def test_what_is_no_equation_at_fault_is_named(call: Callable[[], object], error: type, message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_dtypes_that_torch_multiplies_are_let_through() -> None:
    assert einsum("i,i->i", torch.ones(2), torch.ones(2).double()).dtype == torch.float64
    with pytest.raises(NotImplementedError, match="Bool"):  # torch's own word, where the dtypes are the same
        einsum("ij,jk", X.bool(), X.mT.bool())
