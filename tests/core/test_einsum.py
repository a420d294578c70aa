"""Equations of every kind that torch.einsum reads, against torch.einsum itself. Numbers are small and whole: exact."""

import math
import string
from collections import Counter
from typing import NamedTuple

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core.einsum import Equation, einsum, element, loop, parse, sizes

QUICK = settings(max_examples=100, deadline=None)


class Case(NamedTuple):
    """An equation in pieces, so that it can be broken, and shapes that fit it."""

    inputs: list[list[str]]
    output: list[str] | None
    shapes: list[tuple[int, ...]]
    space: str = ""

    @property
    def text(self) -> str:
        parts = f"{self.space},{self.space}".join(self.space.join(letters) for letters in self.inputs)
        return parts if self.output is None else f"{parts}{self.space}->{self.space}{self.space.join(self.output)}"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Repeated letters, '...' anywhere, operands without letters, sizes 0 and 1, stretched axes, implicit output."""
    length = st.sampled_from([2, 3, 1, 0])
    pool = draw(st.lists(st.sampled_from(string.ascii_letters), min_size=1, max_size=5, unique=True))
    size = {letter: draw(length) for letter in pool}
    left_over = draw(st.lists(length, max_size=2))
    inputs, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.lists(st.sampled_from(pool), max_size=4))
        stretched = {letter for letter in letters if draw(st.integers(0, 4)) == 4}
        axes = [(letter, (1 if letter in stretched else size[letter],)) for letter in letters]
        if draw(st.booleans()):
            covered = left_over[draw(st.integers(0, len(left_over))) :]
            covered = [1 if draw(st.integers(0, 4)) == 4 else n for n in covered]
            axes.insert(draw(st.integers(0, len(axes))), ("...", tuple(covered)))
        inputs.append([letter for letter, _ in axes])
        shapes.append(tuple(n for _, own in axes for n in own))
    output = None
    if draw(st.booleans()):
        seen = sorted({letter for letters in inputs for letter in letters} | {"..."})  # '...' of no operand is read too
        output = draw(st.lists(st.sampled_from(seen), unique=True))
    return Case(inputs, output, shapes, draw(st.sampled_from(["", " ", "  "])))


def whole_numbers(case: Case, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(len(case.text))
    return [torch.randint(-3, 4, shape, generator=generator).to(dtype) for shape in case.shapes]


@QUICK
@given(case=cases())
def test_an_equation_is_read_as_torch_reads_it(case: Case) -> None:
    operands = whole_numbers(case)
    expected = torch.einsum(case.text, *operands)
    equation, size = parse(case.text, case.shapes), sizes(case.text, case.shapes)
    assert torch.equal(einsum(case.text, *operands), expected)
    assert torch.equal(torch.einsum(equation.text, *operands), expected)
    assert " " not in equation.text and parse(equation.text, case.shapes) == parse(equation, case.shapes) == equation
    assert tuple(size[letter] for letter in equation.output) == expected.shape
    assert [len(letters) for letters in equation.operands] == [x.ndim for x in operands]
    order = list(dict.fromkeys(letter for letters in equation.operands for letter in letters))
    assert list(size) == order
    assert sorted(equation.kept) == sorted(equation.output)
    assert Counter(equation.kept + equation.summed) == Counter(order)
    assert [order.index(letter) for letter in equation.kept] == sorted(map(order.index, equation.kept))
    assert [order.index(letter) for letter in equation.summed] == sorted(map(order.index, equation.summed))


@QUICK
@given(case=cases())
def test_the_loop_runs_to_the_same_numbers(case: Case) -> None:
    assume(math.prod(sizes(case.text, case.shapes).values()) <= 500)
    operands = whole_numbers(case)
    assert torch.equal(run(loop(case.text, case.shapes), operands), torch.einsum(case.text, *operands))


@QUICK
@given(case=cases(), data=st.data())
def test_an_element_is_the_sum_of_its_terms(case: Case, data: st.DataObject) -> None:
    operands = whole_numbers(case, torch.float32)
    expected = torch.einsum(case.text, *operands)
    assume(expected.numel() > 0)
    equation, size = parse(case.text, case.shapes), sizes(case.text, case.shapes)
    index = tuple(data.draw(st.integers(0, n - 1)) for n in expected.shape)
    found = element(case.text, operands, index)
    assert found.total == expected[index].item()
    assert found.index == dict(zip(equation.output, index, strict=True))
    assert tuple(found.summed) == equation.summed
    n_terms = math.prod(size[letter] for letter in equation.summed)
    assert {tensor.dtype for tensor in (*found.factors, found.products)} == {torch.float64}
    assert {tuple(tensor.shape) for tensor in (*found.factors, found.products)} == {(n_terms,)}
    combinations = [tuple(int(places[term]) for places in found.summed.values()) for term in range(n_terms)]
    assert len(set(combinations)) == n_terms and combinations == sorted(combinations)
    for term in {0, n_terms // 2, n_terms - 1} & set(range(n_terms)):
        at = found.index | {letter: int(places[term]) for letter, places in found.summed.items()}
        read = [
            x[tuple(0 if n == 1 else at[letter] for letter, n in zip(letters, x.shape, strict=True))].item()
            for letters, x in zip(equation.operands, operands, strict=True)
        ]
        assert [factor[term].item() for factor in found.factors] == read
        assert found.products[term].item() == math.prod(read)


@pytest.mark.parametrize(
    ("text", "canonical", "shape"),
    [
        ("bA,Ca", "bA,Ca->ACab", (2, 3, 4, 5)),
        ("z...A", "z...A->...Az", (2, 6, 3)),
        ("ii", "ii->", (4, 4)),
        ("ij,jk", "ij,jk->ik", (2, 3)),
        (" b s k , b u k -> b s u ", "bsk,buk->bsu", (2, 3, 4)),
        ("i->...i", "i->i", (4,)),
        (",", ",->", ()),
    ],
)
def test_the_output_is_written_out(text: str, canonical: str, shape: tuple[int, ...]) -> None:
    equation = parse(text)
    assert equation.text == canonical
    assert equation.output == parse(canonical).output
    assert parse(text)[1:] == parse(canonical)[1:]


def test_letters_of_attention() -> None:
    shapes = [(2, 5, 4), (2, 6, 4)]
    equation = parse("bsk,buk->bsu", shapes)
    letters = (("b", "s", "k"), ("b", "u", "k"))
    assert equation == Equation("bsk,buk->bsu", letters, ("b", "s", "u"), ("b", "s", "u"), ("k",))
    assert parse("bsk,buk->usb").kept == ("b", "s", "u")
    assert loop(equation, shapes, names=("Q", "K"), output="S") == (
        "S = Q.new_zeros(2, 5, 6)\n"
        "for b in range(2):\n"
        "    for s in range(5):\n"
        "        for u in range(6):\n"
        "            for k in range(4):\n"
        "                S[b, s, u] += Q[b, s, k] * K[b, u, k]"
    )


def test_the_axes_of_an_ellipsis_are_named_from_the_widest() -> None:
    equation = parse("...k,k...->...", [(2, 3, 4), (4, 3)])
    assert equation.operands == (("...0", "...1", "k"), ("k", "...1"))
    assert equation.output == ("...0", "...1")
    assert parse("...k->...").operands == (("...", "k"),)
    assert loop(equation, [(2, 3, 4), (4, 1)]).endswith("out[axis_0, axis_1] += x1[axis_0, axis_1, k] * x2[k, 0]")


@pytest.mark.parametrize(
    ("equation", "last"),
    [
        ("sk,uk->su", "                out[s, u] += x1[s, k] * x2[u, k]"),
        ("sk->ks", "        out[k, s] = x1[s, k]"),
        ("ss,->", "    out += x1[s, s] * x2"),
        (",->", "out += x1 * x2"),
        ("ss,s->s", "    out[s] = x1[s, s] * x2[s]"),
    ],
)
def test_without_shapes_the_loop_reads_the_sizes_off_the_operands(equation: str, last: str) -> None:
    source = loop(equation)
    assert source.splitlines()[-1].strip() == last.strip()
    assert not any(digit in source.replace("x1", "").replace("x2", "") for digit in "3456789")
    operands = [torch.arange(float(2 ** len(x))).reshape((2,) * len(x)) for x in parse(equation).operands]
    assert torch.equal(run(source, operands), torch.einsum(equation, *operands))


@pytest.mark.parametrize("n_letters", [20, 21, 52])
def test_more_letters_than_python_nests(n_letters: int) -> None:
    letters = string.ascii_letters[:n_letters]
    shape = tuple(2 if i in (0, 7, n_letters - 1) else 1 for i in range(n_letters))
    operands = [torch.arange(8.0).reshape(shape), torch.tensor(3.0)]
    equation = f"{letters},->{letters[::-1][:-5]}"
    source = loop(equation, [shape, ()])
    assert ("itertools" in source) == (n_letters > 20)
    assert torch.equal(run(source, operands), torch.einsum(equation, *operands))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n_terms", [1, 50, 20_000])
def test_torch_is_within_the_tolerance(dtype: torch.dtype, n_terms: int) -> None:
    for seed, lowest in enumerate((0.0, 0.0, -0.4, -0.4)):
        generator = torch.Generator().manual_seed(seed)
        shapes = [(3, n_terms), (1, n_terms), (3, n_terms)]
        operands = [(torch.rand(shape, generator=generator) + lowest).to(dtype) for shape in shapes]
        found = element("ik,jk,ik->ij", operands, (2, 0))
        cell = torch.einsum("ik,jk,ik->ij", *operands)[2, 0].item()
        assert abs(cell - found.total) <= found.tolerance
        # The tolerance is of the size of what rounding can do, no wider.
        part = max(1e-6, 3 * torch.finfo(dtype).eps + (dtype != torch.float64) * n_terms * 2**-24)
        assert found.tolerance == pytest.approx(part * found.products.abs().sum().item())


def test_whole_numbers_and_truth_values_are_summed_too() -> None:
    counts = torch.tensor([[2**40, 1], [3, 4]])
    assert element("ij,j->i", [counts, torch.tensor([2**10 + 1, 1])], (0,)).total == 2**40 * (2**10 + 1) + 1
    assert element("i->", [torch.tensor([True, True, False])], ()).total == 2


def test_gradients_flow_and_an_element_needs_none() -> None:
    x = torch.ones(2, 3, dtype=torch.float16, requires_grad=True)
    out = einsum("ij->i", x)
    assert out.dtype == torch.float16
    out.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0] * 3] * 2
    assert not element("ij->i", [x], (1,)).products.requires_grad


def run(source: str, operands: list[Tensor]) -> Tensor:
    """What the text of a loop leaves in `out`."""
    names = {f"x{number}": x for number, x in enumerate(operands, 1)}
    exec(source, names)  # noqa: S102  # the text of our own loop: that it runs is what is tested
    return names["out"]
