"""A recipe: its sizes, and what it refuses."""

import subprocess
import sys
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.limits import LIMITS, TRAINING_SYMBOLS, TRAINING_TEXT
from attnviz.training.model import initial, shapes
from attnviz.training.recipe import POSITIONS, TASKS, Recipe

TEXT = "the cat sat on the mat. " * 20
SIZES = [(heads, width) for heads in (1, 2, 4, 8) for width in (8, 16, 32, 64)]


@given(st.sampled_from(TASKS), st.integers(1, 4), st.sampled_from(SIZES), st.sampled_from(POSITIONS))
def test_the_parameters_are_counted_as_they_are_drawn(task: str, layers: int, size: tuple[int, int], positions: str):
    heads, width = size
    if positions == "rope_half" and width == heads:
        positions = "none"  # one feature a head cannot turn
    recipe = Recipe(task, layers, heads, width, positions, text=TEXT)
    drawn = dict(initial(recipe).items())
    assert recipe.n_parameters == sum(weight.numel() for weight in drawn.values())
    assert {name: tuple(weight.shape) for name, weight in drawn.items()} == shapes(recipe)


def test_the_defaults_of_the_numbers_are_those_of_the_limits() -> None:
    defaults = {field.name: field.default for field in fields(Recipe)}
    for name in ("layers", "heads", "width", "learning_rate", "steps", "offset", "seed"):
        assert defaults[name] == LIMITS[name].default


@pytest.mark.parametrize("name", ["layers", "heads", "width", "learning_rate", "steps", "offset", "seed"])
def test_a_number_outside_its_limits_is_refused_by_its_name(name: str) -> None:
    limit = LIMITS[name]
    for outside in (limit.low - 1, limit.high + 1, "1", None, True, float("nan")):
        with pytest.raises(ValueError, match=rf"^{name} must be a .* from {limit.low} to {limit.high}, not "):
            Recipe(**{name: outside})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": "add"}, "task must be one of repeat, reverse, sort, copy, text, not 'add'"),
        ({"positions": "rope"}, "positions must be one of none, learned, sinusoidal, rope_half, alibi, not 'rope'"),
        ({"heads": 3}, "heads must divide width=32, 3 does not"),
        (
            {"heads": 8, "width": 8, "positions": "rope_half"},
            "heads must leave each head an even number of features for rope_half, not 1",
        ),
        ({"text": 5}, "text must be a string, not 5"),
        ({"task": "text", "text": "a"}, "text must have 100 to 20000 characters to learn from, not 1"),
        ({"task": "text", "text": "a" * 20_001}, "text must have 100 to 20000 characters to learn from, not 20001"),
        ({"task": "text", "text": "a" * 200}, "text must have 2 to 512 different characters, not 1"),
        (
            {"task": "text", "text": "".join(map(chr, range(0x4E00, 0x4E00 + 513)))},
            "text must have 2 to 512 different characters, not 513",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(given: dict, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        Recipe(**given)
    assert str(caught.value) == words


def test_a_text_gives_symbols_and_lengths_that_its_held_out_part_can_fill() -> None:
    shortest = Recipe("text", text="ab" * (int(TRAINING_TEXT.low) // 2))
    assert shortest.seq_len == 9 and shortest.vocabulary == ("a", "b")
    assert Recipe("text", text=TEXT * 5).seq_len == 32
    most = "".join(map(chr, range(0x4E00, 0x4E00 + TRAINING_SYMBOLS)))
    assert len(Recipe("text", text=most).vocabulary) == TRAINING_SYMBOLS


def test_a_text_is_kept_for_its_task_only_and_without_what_no_file_can_hold() -> None:
    assert Recipe("sort", text=TEXT).text == "" and Recipe("sort", text=TEXT) == Recipe("sort")
    assert "\ud800" not in Recipe("text", text=TEXT + "\ud800").text
    assert hash(replace(Recipe(), seed=1)) != hash(Recipe())


def test_a_recipe_is_read_without_torch() -> None:
    program = "import sys, attnviz.training.recipe as r; r.Recipe(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "False"
