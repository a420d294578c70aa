"""The newest file's arrays take the roles; older ones lend what is lacking, where they fit."""

import torch

from attnviz.models.files import Named
from attnviz.models.files_roles import guess
from attnviz.ui.tensors.guessed import roles


def lot(file: str, n: int = 5, **shapes: int) -> dict[str, Named]:
    """The arrays of a file by name; of weights (1, n, n), of the others (1, n, width)."""
    arrays = {name: torch.rand(1, n, width) for name, width in shapes.items()}
    return {f"{file}: {name}": Named(f"{file}: {name}", x, guess(name, x)) for name, x in arrays.items()}


def test_each_role_is_the_newest_files_that_has_one() -> None:
    old, new = lot("old", q=4, k=4, v=3, weights=5), lot("new", weights=5, output=3)
    assert roles([old, new]) == {
        "query": "old: q",
        "key": "old: k",
        "value": "old: v",
        "weights": "new: weights",
        "output": "new: output",
    }
    assert set(roles([new, old]).values()) == {*old, "new: output"}


def test_within_a_file_the_first_array_has_the_role() -> None:
    assert roles([lot("a", attn=5, weights=5)]) == {"weights": "a: attn"}


def test_older_files_that_do_not_fit_are_left_out() -> None:
    old, older = lot("old", q=4, k=4, v=3), lot("older", 7, weights=7, mask=7)
    new = lot("new", 6, weights=6)
    assert roles([older, old, new]) == {"weights": "new: weights"}
    assert roles([older, old]) == {"query": "old: q", "key": "old: k", "value": "old: v"}


def test_a_file_that_is_not_whole_without_the_older_ones_keeps_them() -> None:
    assert roles([lot("q", q=4), lot("k", k=4), lot("v", v=3)]) == {"query": "q: q", "key": "k: k", "value": "v: v"}
    assert roles([lot("a", q=4), lot("b", v=4)]) == {"query": "a: q", "value": "b: v"}  # what lacks is said
    assert roles([]) == {} and roles([{}]) == {}


def test_numbers_that_are_none_do_not_bring_an_older_file_back() -> None:
    new = lot("new", q=4, k=4, weights=5)
    new["new: q"].tensor[:] = torch.nan
    assert roles([lot("old", q=4, k=4), new])["query"] == "new: q"
