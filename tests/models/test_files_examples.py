"""The examples are what they are called, and their files hold the same numbers."""

import pytest
import torch

from attnviz.core.diagnosis import diagnose, diagnose_weights
from attnviz.fields import CHOICES
from attnviz.models.files import read_file
from attnviz.models.files_examples import EXAMPLES, example, to_npz, to_safetensors

CAUSES = {
    "right": [],
    "scale": ["scale_missing"],
    "axis": ["softmax_over_queries"],
    "swapped": ["kv_swapped"],
    "late": ["causal_off_by_one"],
    "sigmoid": [],
}


@pytest.mark.parametrize("code", CAUSES)
def test_an_example_is_diagnosed_as_what_it_is(code: str) -> None:
    arrays = {each.role: each.tensor for each in example(code).arrays}
    inputs = [arrays.pop(name) for name in ("query", "key", "value")]
    found = diagnose(*inputs, **arrays)
    assert [finding.cause for finding in found.findings] == CAUSES[code]
    assert found.correct == (code == "right") and bool(found.unexplained) == (code == "sigmoid")


def test_the_example_of_maps_alone_shows_no_mistake() -> None:
    (maps,) = example("maps").arrays
    assert diagnose_weights(maps.tensor).correct


@pytest.mark.parametrize("code", EXAMPLES)
def test_its_files_hold_its_numbers(code: str) -> None:
    made = example(code)
    for file, data in (("a.npz", to_npz(made)), ("a.safetensors", to_safetensors(made))):
        read = read_file(file, data)
        found = {each.name: each for each in read.arrays}
        assert set(found) == {each.name for each in made.arrays}
        assert all(torch.equal(found[each.name].tensor, each.tensor) for each in made.arrays)
        assert all(found[each.name].role == each.role for each in made.arrays)
        assert read.tokens == (made.tokens if file == "a.npz" else None)
    assert to_npz(made) == to_npz(example(code))


def test_a_link_can_name_each_and_no_other() -> None:
    assert CHOICES["example"] == ("none", *EXAMPLES)
    with pytest.raises(ValueError, match="code: expected one of right, scale"):
        example("none")
