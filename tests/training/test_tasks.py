"""The tasks: answers right by definition, written out slowly, and the maps of a perfect solution."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.training.recipe import TASKS, Recipe
from attnviz.training.tasks import PERIODS, batch, causal, decode, encode, held_out, perfect, question, split, stream

TEXT = "the cat sat on the mat, and the dog sat on the cat; nobody minded. " * 8
DRAWN = ["repeat", "reverse", "sort", "copy"]
SEEDS = st.integers(0, 2**31 - 1)


def recipe_of(task: str, **given: object) -> Recipe:
    return Recipe(task, text=TEXT, **given)


def drawn(task: str, seed: int, count: int = 8):
    return batch(recipe_of(task), count, torch.Generator().manual_seed(seed))


def answer(recipe: Recipe, sequence: list[int], s: int) -> int | None:
    """The answer at place s by the definition of the task; None where there is none."""
    if recipe.task == "reverse":
        return sequence[len(sequence) - 1 - s]
    if recipe.task == "sort":
        return sorted(sequence)[s]
    if recipe.task == "copy":
        return sequence[s - recipe.offset] if s >= recipe.offset else None
    return None


@given(st.sampled_from(["reverse", "sort", "copy"]), SEEDS, st.integers(1, 5))
def test_answers_are_right_by_definition(task: str, seed: int, offset: int) -> None:
    recipe = recipe_of(task, offset=offset)
    tokens, targets, counted = batch(recipe, 4, torch.Generator().manual_seed(seed))
    assert tokens.shape == targets.shape == counted.shape == (4, 10)
    for row, asked, counts in zip(tokens.tolist(), targets.tolist(), counted.tolist(), strict=True):
        expected = [answer(recipe, row, s) for s in range(10)]
        assert counts == [one is not None for one in expected]
        assert all(one == two for one, two in zip(asked, expected, strict=True) if two is not None)


@given(SEEDS)
def test_a_repeated_sequence_goes_on_as_it_did_before(seed: int) -> None:
    tokens, targets, counted = drawn("repeat", seed)
    assert tokens.shape == (8, 24)
    for row, asked, counts in zip(tokens.tolist(), targets.tolist(), counted.tolist(), strict=True):
        for s, symbol in enumerate(row):
            before = [at for at in range(s) if row[at] == symbol]
            assert counts[s] == bool(before)
            for at in before:  # whichever was meant: no symbol comes twice in a period
                assert asked[s] == row[at + 1]
        assert asked[:-1] == row[1:] and any(counts)


def test_the_periods_and_their_beginnings_vary() -> None:
    periods, starts = set(), set()
    for row in drawn("repeat", 0, count=400).tokens.tolist():
        second = next(s for s, symbol in enumerate(row) if symbol in row[:s])
        starts.add(row.index(row[second]))
        periods.add(second - row.index(row[second]))
    assert periods == set(range(PERIODS[0], PERIODS[1] + 1))
    assert {0, 1, 5, 10, 15} <= starts


@pytest.mark.parametrize("task", TASKS)
def test_the_question_of_a_given_sequence_is_that_of_a_drawn_one(task: str) -> None:
    made = drawn(task, 3)
    asked = question(recipe_of(task), made.tokens)
    known = made.counted & asked.counted
    assert torch.equal(asked.targets[known], made.targets[known])
    unknown = made.counted & ~asked.counted  # what comes after the end
    assert not unknown[:, :-1].any() and unknown.any() == (task in ("repeat", "text"))


@pytest.mark.parametrize("task", DRAWN)
def test_no_held_out_sequence_is_ever_trained_on(task: str) -> None:
    recipe = recipe_of(task)
    generator = stream(recipe, "training")
    seen = {tuple(row) for _ in range(300) for row in batch(recipe, 64, generator).tokens.tolist()}
    held = {tuple(row) for row in held_out(recipe, 64).tokens.tolist()}
    assert len(seen) > 19_000 and len(held) == 64
    assert not seen & held


def test_the_last_tenth_of_a_text_is_never_trained_on() -> None:
    text = "".join(chr(0x4E00 + i % 450) + chr(0x3042 + i % 60) for i in range(225)) + "0123456789" * 5
    recipe = Recipe("text", text=text)  # 500 characters, of which the digits are the last tenth
    digits = set(encode(recipe, list("0123456789")).tolist())
    made = batch(recipe, 500, torch.Generator().manual_seed(0))
    assert not digits & set(made.tokens.flatten().tolist()) and not digits & set(made.targets.flatten().tolist())
    held = held_out(recipe, 100)
    assert set(held.tokens.flatten().tolist()) == digits
    assert torch.equal(held.tokens[:, 1:], held.targets[:, :-1]) and held.counted.all()


@pytest.mark.parametrize("task", TASKS)
def test_held_out_sequences_are_always_the_same_and_differ_from_seed_to_seed(task: str) -> None:
    recipe, other = recipe_of(task), recipe_of(task, seed=1)
    assert torch.equal(held_out(recipe, 8).tokens, held_out(recipe, 8).tokens)
    assert not torch.equal(held_out(recipe, 8).tokens, held_out(other, 8).tokens)


def solved(recipe: Recipe, tokens: Tensor, at: Tensor) -> list[str]:
    """What a head answers that reads by the map `at` (s, u) and says what it reads: the symbol, "" for a row of 0."""
    values = torch.nn.functional.one_hot(tokens, len(recipe.vocabulary)).float()
    read = at @ values  # (s, v)
    return [recipe.vocabulary[int(row.argmax())] if row.any() else "" for row in read]


@pytest.mark.parametrize("task", DRAWN)
def test_who_reads_by_the_perfect_map_is_right_everywhere(task: str) -> None:
    recipe = recipe_of(task)
    for tokens in drawn(task, 5).tokens:
        maps = perfect(recipe, tokens)
        answers = solved(recipe, tokens, maps["induction" if task == "repeat" else task])
        _, targets, counted = question(recipe, tokens[None])
        expected = decode(recipe, targets[0])
        for s, counts in enumerate(counted[0].tolist()):
            assert answers[s] == expected[s] if counts else answers[s] == "" or s == len(tokens) - 1


@pytest.mark.parametrize("task", TASKS)
def test_each_row_of_a_perfect_map_sums_to_1_or_is_0(task: str) -> None:
    recipe = recipe_of(task)
    maps = perfect(recipe, drawn(task, 6).tokens[0])
    names = {"repeat": {"previous", "induction"}, "text": set()}
    assert set(maps) == names.get(task, {task})
    for one in maps.values():
        sums = one.sum(-1)
        assert ((sums - 1).abs() < 1e-6).logical_or(sums == 0).all() and sums.any()
        assert not causal(recipe) or not one.triu(1).any()


def test_perfect_maps_of_small_sequences() -> None:
    assert perfect(Recipe("reverse"), torch.tensor([4, 5, 6]))["reverse"].tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert perfect(Recipe("copy", offset=2), torch.tensor([4, 5, 6]))["copy"].tolist() == [[0] * 3, [0] * 3, [1, 0, 0]]
    assert perfect(Recipe("sort"), torch.tensor([7, 1, 7]))["sort"].tolist() == [
        [0, 1, 0],
        [0.5, 0, 0.5],
        [0.5, 0, 0.5],
    ]
    assert perfect(Recipe(), torch.tensor([4, 5, 4]))["previous"].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    with pytest.raises(ValueError, match=r"tokens: expected shape \(s,\), got \(1, 3\)"):
        perfect(Recipe(), torch.tensor([[4, 5, 4]]))


@given(st.sampled_from(TASKS), SEEDS)
def test_symbols_come_back_as_they_went(task: str, seed: int) -> None:
    recipe = recipe_of(task)
    tokens = drawn(task, seed, count=1).tokens[0]
    symbols = decode(recipe, tokens)
    assert torch.equal(encode(recipe, symbols), tokens)
    assert split(recipe, "".join(symbols)) == symbols


def test_what_a_reader_types_is_split_into_symbols() -> None:
    assert split(Recipe(), " The cat\n the CAT ") == list("thecatthecat")
    assert split(Recipe("sort"), "3 1 4") == ["3", "1", "4"]
    assert split(recipe_of("text"), "a  b") == ["a", " ", " ", "b"]


@pytest.mark.parametrize(
    ("task", "symbols", "words"),
    [
        ("repeat", "ab!", "symbols: expected a to z, got '!'"),
        ("sort", "12a", "symbols: expected a digit from 0 to 9, got 'a'"),
        ("text", "xyz", "symbols: expected a character of the text, got 'x'"),
        ("reverse", "a" * 11, "symbols: expected 1 to 10 of them, got 11"),
        ("repeat", "", "symbols: expected 1 to 24 of them, got 0"),
    ],
)
def test_symbols_that_do_not_fit_are_named(task: str, symbols: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        encode(recipe_of(task), list(symbols))
    assert str(caught.value) == words


def test_numbers_that_are_no_symbols_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^tokens: expected numbers from 0 to 9, got 10$"):
        decode(Recipe("sort"), torch.tensor([3, 10]))
    with pytest.raises(ValueError, match=r"^count: expected a whole number of at least 1, got 0$"):
        batch(Recipe(), 0, torch.Generator())


def test_a_map_that_is_perfect_is_what_attention_can_give() -> None:
    """Scores that are high where the map is, and a softmax, give the map: no row asks for more than 1."""
    one = perfect(Recipe("sort"), torch.tensor([7, 1, 7]))["sort"]
    weights = attention(one * 100, torch.eye(3), torch.eye(3), scale=1.0).weights
    assert torch.allclose(weights, one, atol=1e-6)
