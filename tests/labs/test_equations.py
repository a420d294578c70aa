"""Any einsum on the reader's own numbers: whose tensors it takes, how far its letters run, and what it comes to."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.einsum import EquationError, element
from attnviz.experiment import Experiment
from attnviz.labs.equation_sizes import MAX_STEPS, SizesError, read_sizes, write_sizes
from attnviz.labs.equations import (
    MAX_RUN,
    Problem,
    check,
    difference,
    loop_of,
    own_tensors,
    pose,
    read_index,
    result,
    run_loop,
    source,
    tidy,
)

READER = Experiment("the cat sat on the mat\na dog ran", d_model=7, d_k=5, d_v=3, n_heads=4, n_kv_heads=2)
RUN = READER.run()
AT = {"b": 1, "h": 2}
GOLDEN = [[1.5, -0.3, -2.2], [0.6, -1.1, -1.4], [0.4, 0.8, -0.7]]  # the first operand of 3 by 3, seed 0
STARTS = (
    "bsm,mk->bsk bsk,buk->bsu bsu,bud->bsd bhsk,bhuk->bhsu bik,bjk->bij btm,mk->btk bsu->bs ii->i ij->ji ij-> i,j->ij"
)


def posed(equation: str, sizes: str = "", **options: Any) -> Problem:
    assert RUN.trace is not None
    return pose(equation, sizes, own_tensors(RUN.x, RUN.w_q, RUN.w_k, RUN.w_v, RUN.trace), AT, **options)


def theirs(name: str, letters: str) -> torch.Tensor:
    """The reader's tensor by another way than the lab's: head 3 reads the second of two key-value heads."""
    trace = RUN.trace
    assert trace is not None
    k, d = READER.d_k, READER.d_v
    heads = {
        "W_Q": RUN.w_q[:, 2 * k : 3 * k],
        "W_K": RUN.w_k[:, k:],
        "W_V": RUN.w_v[:, d:],
        "Q": trace.query[:, 2],
        "K": trace.key[:, 1],
        "V": trace.value[:, 1],
        "a": trace.weights[:, 2],
        "O": trace.output[:, 2],
    }
    whole = {
        "Q": trace.query,
        "K": trace.key[:, [0, 0, 1, 1]],
        "V": trace.value[:, [0, 0, 1, 1]],
        "a": trace.weights,
    }
    x = RUN.x if name == "X" else whole[name] if "h" in letters else heads[name]
    return x if "b" in letters or name.startswith("W") else x[1]


@pytest.mark.parametrize(
    ("equation", "names", "design"),
    [
        ("bsm,mk->bsk", "X W_Q", "bsm,mk->bsk"),
        ("bum,mk->buk", "X W_K", "bum,mk->buk"),
        ("bum,md->bud", "X W_V", "bum,md->bud"),
        ("bsk,buk->bsu", "Q K", "bsk,buk->bsu"),
        ("bsu,bud->bsd", "a V", "bsu,bud->bsd"),
        ("bhsk,bhuk->bhsu", "Q K", "bhsk,bhuk->bhsu"),
        ("bhsu,bhud->bhsd", "a V", "bhsu,bhud->bhsd"),
        ("sk,uk->su", "Q K", "sk,uk->su"),
        # as people meet them: by position
        ("bik,bjk->bij", "Q K", "bsk,buk->bsu"),
        ("btm,mk->btk", "X W_Q", "bsm,mk->bsk"),
        ("bij,bjd->bid", "a V", "bsu,bud->bsd"),
        ("bts,bsd->btd", "a V", "bsu,bud->bsd"),
        ("bhqd,bhkd->bhqk", "Q K", "bhsk,bhuk->bhsu"),
        ("ik,jk->ij", "Q K", "sk,uk->su"),
        ("abk,ack->abc", "Q K", "bsk,buk->bsu"),
    ],
)
def test_the_sums_of_attention_take_the_readers_own_tensors(equation: str, names: str, design: str) -> None:
    problem = posed(equation)
    assert problem.own == tuple(names.split()) and problem.known == design
    subscripts = design.partition("->")[0].split(",")
    operands = [theirs(name, letters) for name, letters in zip(problem.own, subscripts, strict=True)]
    for found, expected in zip(problem.operands, operands, strict=True):
        assert torch.equal(found, expected)
    assert torch.equal(result(problem), torch.einsum(design, *operands))
    assert torch.equal(result(problem), torch.einsum(equation, *operands))


@pytest.mark.parametrize(
    ("equation", "own"),
    [
        ("bsk,bku->bsu", ("Q", "K")),  # not a and V, whose pattern it has
        ("bsu->bs", ("a",)),
        ("sk,ku->su", ("Q", "K")),
        ("kbs->s", ("Q",)),
        ("bsk,k->bs", ("Q", "")),
        ("bsd->s", ("O",)),
        ("ij,jk->ik", ("", "")),  # any product
        ("ss->s", ("",)),
        ("...k,jk->...j", ("", "")),
    ],
)
def test_other_equations_take_what_their_letters_spell(equation: str, own: tuple[str, ...]) -> None:
    problem = posed(equation)
    assert problem.own == own and problem.known == ""
    for letters, name, x in zip(problem.equation.operands, problem.own, problem.operands, strict=True):
        if name:
            order = sorted(letters, key="bhsumkd".index)
            expected = theirs(name, "".join(letters))
            assert torch.equal(x, expected.permute([order.index(letter) for letter in letters]))


def test_rows_of_the_weights_sum_to_1() -> None:
    sums = result(posed("bsu->bs"))
    assert torch.allclose(sums, torch.ones_like(sums))


def test_letters_mean_what_the_reader_chose() -> None:
    ours = {"i": "s", "j": "u"}
    assert posed("bjm,mk->bjk", letters=ours).own == ("X", "W_K")
    assert posed("bjm,mk->bjk").own == ("X", "W_Q")
    assert posed("bij->bi", letters=ours).own == ("a",) and posed("bij->bi").own == ("",)
    assert posed("ts->t", letters={"t": "s", "s": "u"}).own == ("a",)


def test_letters_take_the_readers_sizes_and_others_three() -> None:
    assert posed("bhsumkd,xyz").sizes == {
        "b": 2,
        "h": 4,
        "s": 6,
        "u": 6,
        "m": 7,
        "k": 5,
        "d": 3,
        "x": 3,
        "y": 3,
        "z": 3,
    }
    assert posed("...x").sizes == {"...0": 2, "x": 3}
    assert posed("...x", "...=2x5, x=4").sizes == {"...0": 2, "...1": 5, "x": 4}


def test_sizes_that_were_typed_cut_the_readers_tensors_or_draw_others() -> None:
    whole, cut = posed("bik,bjk->bij"), posed("bik,bjk->bij", "i=2, z=9")
    assert cut.cut == {"i": 6} and cut.own == ("Q", "K")
    assert torch.equal(cut.operands[0], whole.operands[0][:, :2]) and torch.equal(cut.operands[1], whole.operands[1])
    drawn = posed("bik,bjk->bij", "i=7")
    assert drawn.own == ("", "K") and drawn.cut == {} and drawn.operands[0].shape == (2, 7, 5)
    assert drawn.names == ("A", "K") and drawn.output == "out" and drawn.known == ""


def test_drawn_numbers_are_the_same_on_every_machine_and_others_for_another_seed() -> None:
    (x,) = posed("ij").operands
    assert torch.equal(x, torch.tensor(GOLDEN, dtype=torch.float32))
    assert torch.equal(x, posed("ij->ji").operands[0])
    assert not torch.equal(x, posed("ij", seed=1).operands[0])
    assert not torch.equal(*posed("ij,ij").operands)


@pytest.mark.parametrize("equation", [*STARTS.split(), "...ij,...jk->...ik", "->", "i,i,i->", "iij->j"])
def test_the_loop_that_is_shown_runs_and_agrees_with_torch(equation: str) -> None:
    problem = posed(equation)
    found = result(problem)
    assert torch.equal(found, torch.einsum(equation, *problem.operands))
    assert torch.allclose(run_loop(problem), found, atol=1e-5)
    checked = check(problem, found, (0,) * found.ndim)
    assert checked.difference < 1e-5
    assert (checked.elements == ()) == (problem.steps <= MAX_RUN)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("equation", [*STARTS.split(), "...ij,...jk->...ik", "->", "i,i,i->", "iij->j"])
def test_the_loop_makes_of_arrays_what_it_makes_of_tensors(equation: str, dtype: torch.dtype) -> None:
    problem = posed(equation)
    loop, operands = loop_of(problem)
    names: dict[str, Any] = {}
    exec(loop.code, names)  # noqa: S102  # as a program that is taken home runs it
    for scale in (1, 2e38):  # with which numbers leave what most of these dtypes hold
        given = [x.to(dtype) * scale for x in operands]
        torch.testing.assert_close(loop(*given), names["loop"](*given), rtol=0, atol=0, equal_nan=True)


def test_of_a_long_loop_a_few_elements_are_checked() -> None:
    problem = posed("ij,jk->ik", "i=40, j=300, k=30")
    found = result(problem)
    checked = check(problem, found, (3, 4))
    assert checked.elements[:3] == ((3, 4), (0, 0), (39, 29)) and checked.difference < 1e-4
    assert abs(found[checked.elements[3]]) == found.abs().max()
    assert check(problem, found + 1, (3, 4)).difference == pytest.approx(1, abs=1e-3)
    assert len(check(posed("ij->", "i=1000, j=1000"), torch.zeros(()), ()).elements) == 1


def test_the_check_can_fail() -> None:
    problem = posed("bsk,buk->bsu", "b=1")
    assert check(problem, result(problem) + 0.5, (0, 0, 0)).difference == pytest.approx(0.5, abs=1e-4)
    assert difference(torch.tensor([torch.inf]), torch.tensor([0.0])) == torch.inf
    assert difference(torch.tensor([torch.nan, torch.inf]), torch.tensor([torch.nan, torch.inf])) == 0


def test_a_letter_missing_on_the_right_is_summed_not_dropped_nor_averaged() -> None:
    problem = posed("bsk,buk->bsu")
    found, (q, k) = result(problem), problem.operands
    products = q[:, :, None] * k[:, None]  # (b, s, u, k)
    assert torch.allclose(found, products.sum(-1), atol=1e-5)
    assert not torch.allclose(found, products[..., 0]) and not torch.allclose(found, products.mean(-1))
    terms = element(problem.equation, problem.operands, (0, 1, 2), max_terms=problem.terms)
    assert len(terms.products) == problem.terms == READER.d_k
    assert terms.total == pytest.approx(float(found[0, 1, 2]), abs=1e-5)


LETTERS = st.text("bhsumkdxyzXQKaVA", max_size=4)


@given(operands=st.lists(LETTERS, min_size=1, max_size=3), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_equation_is_what_torch_makes_of_it(operands: list[str], data: st.DataObject) -> None:
    letters = sorted(set("".join(operands)))
    right = data.draw(st.permutations(letters)) if letters else []
    kept = "".join(right[: data.draw(st.integers(0, len(right)))])
    sizes = ", ".join(f"{letter}={data.draw(st.integers(1, 3))}" for letter in letters)
    problem = posed(f"{','.join(operands)}->{kept}", sizes)
    found = result(problem)
    assert torch.equal(found, torch.einsum(f"{','.join(operands)}->{kept}", *problem.operands))
    assert problem.steps == int(torch.tensor(list(problem.sizes.values())).prod())
    assert not set(problem.names) & set(letters) and problem.output not in {*letters, *problem.names}
    compile(source(problem), "<loop>", "exec")
    if problem.steps <= 200:
        assert torch.allclose(run_loop(problem), found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("equation", "sizes", "code", "facts"),
    [
        ("ij", "boo, i=2", "form", {"got": "boo"}),
        ("ij", "i=2 j", "form", {"got": "j"}),
        ("ij", "i=99999999", "form", {"got": "i=99999999"}),
        ("ij", "i=0", "zero", {"letter": "i"}),
        ("ij", "i=2x3", "single", {"letter": "i"}),
        ("i" * 30, "i=1", "axes", {"operand": 1, "got": 30, "most": 20}),
        ("ij", "i=2000, j=2000", "large", {"got": 4_000_000, "letters": "i=1000", "instead": "i=1000, j=2000"}),
        ("i" * 20 + "->i", "", "large", {"got": 3**20, "letters": "i=1"}),  # 3 steps, but what an operand
    ],
)
def test_sizes_that_cannot_be_taken_are_named(equation: str, sizes: str, code: str, facts: dict[str, Any]) -> None:
    with pytest.raises(SizesError) as error:
        posed(equation, sizes)
    assert error.value.code == code and facts.items() <= error.value.facts.items()
    if code == "large":
        assert posed(equation, str(error.value.facts["instead"])).steps <= MAX_STEPS


def test_sizes_are_read_as_they_are_written() -> None:
    assert read_sizes("i = 2，j：4; k=5 ...=2×3") == {"i": (2,), "j": (4,), "k": (5,), "...": (2, 3)}
    assert read_sizes(write_sizes({"i": (2,), "...": (2, 3)})) == {"i": (2,), "...": (2, 3)}
    assert read_sizes(" ") == {}


def test_an_equation_is_found_in_what_is_pasted_and_a_bad_one_named() -> None:
    assert posed('S = torch.einsum("bik,bjk->bij", Q, K)').equation.text == "bik,bjk->bij"
    assert tidy("`ij → ji`") == "ij -> ji" and tidy("…ij，…jk") == "...ij,...jk"
    with pytest.raises(EquationError) as error:
        posed("bsm,mk->bsz")
    assert (error.value.code, error.value.facts["letter"]) == ("unknown", "z")


@given(st.text("0123456789 ,x", max_size=12), st.lists(st.integers(1, 9), max_size=4))
def test_an_index_is_within_the_result_whatever_is_asked(text: str, shape: list[int]) -> None:
    index, there = read_index(text, shape)
    assert len(index) == len(shape) and all(0 <= i < n for i, n in zip(index, shape, strict=True))
    if there and text.strip():
        assert [i + 1 for i in index] == [int(n) for n in text.replace(",", " ").split()]
