"""Typing a number: what is no finite number is refused with one sentence, and the cell is the one that was meant."""

import itertools
from typing import Any

import pytest

from attnviz import locale
from attnviz.experiment import EDITS, Experiment
from attnviz.figures.panels import EDITED_BY, edited_cells, matrix
from attnviz.ui.editor import NAMES, cell_index, put

EXPERIMENTS = [
    Experiment("a b c"),
    Experiment("the cat sat\nthe dog\nbirds sing", n_heads=4, n_kv_heads=2, d_model=3, d_k=2, d_v=5),
    Experiment("a b\nc d", n_heads=3, n_kv_heads=1, d_model=2, d_k=3, d_v=1),
    Experiment("a b\nc d", n_heads=2, d_model=2, d_k=1, d_v=2, mask="causal"),
]


def test_the_editor_offers_every_field_that_can_be_edited() -> None:
    assert sorted(EDITED_BY[name] for name in NAMES) == sorted(EDITS)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_cell_that_is_typed_is_the_cell_that_changes(experiment: Experiment, name: str) -> None:
    run = experiment.run()
    assert run.trace is not None
    for b, h in itertools.product(range(len(run.tokens)), range(experiment.n_heads)):
        _rows, columns = matrix(run, name, b, h).shape
        assert columns
        for row, column in {(0, 0), (min(1, run.lengths[b] - 1), columns - 1)}:
            index = cell_index(experiment, name, b, h, row, column)
            edited, refused = put(experiment, name, index, 41.5)
            assert refused == ""
            after = edited.run()
            assert after.unused == ()
            now, before = matrix(after, name, b, h), matrix(run, name, b, h)
            assert now[row, column] == 41.5
            assert (now != before).sum() == 1
            assert edited_cells(edited, after, name, b, h) == ((row, column),)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_two_places_on_screen_are_never_one_cell_but_in_a_group(experiment: Experiment, name: str) -> None:
    run = experiment.run()
    assert run.trace is not None
    seen: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for b, h in itertools.product(range(len(run.tokens)), range(experiment.n_heads)):
        rows, columns = matrix(run, name, b, h).shape
        for row, column in itertools.product(range(rows), range(columns)):
            seen.setdefault(cell_index(experiment, name, b, h, row, column), set()).add((b, h, row, column))
    group = experiment.n_heads // (experiment.n_kv_heads or experiment.n_heads)
    b, h = len(run.tokens), experiment.n_heads
    shared = {"x": h, "w_q": b, "w_k": b * group, "w_v": b * group, "query": 1, "key": group, "value": group}[name]
    assert {len(places) for places in seen.values()} == {shared}
    assert all(len({(row, column) for *_, row, column in places}) == 1 for places in seen.values())


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 1e39, -1e39, "text", "", None, [], {}, 10**400],
    ids=lambda value: repr(value)[:12],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_no_finite_number_is_refused_in_one_sentence(value: Any, lang: str) -> None:
    locale.use(lang)
    before = Experiment("a b").with_cell("x", (0, 0, 0), 2)
    for name in NAMES:
        after, refused = put(before, name, (0, 0) if name.startswith("w") else (0, 0, 0), value)
        assert after is before
        assert refused.count("." if lang == "en" else "。") == 1
        assert "{" not in refused.replace(r"\{", "")  # no placeholder is left; what was typed is repeated, escaped


@pytest.mark.parametrize("value", [0, -1.5, 3.4e38, -3.4e38, 1e-45, 1e-60, "2.5", True, 7])
def test_a_finite_number_is_taken(value: Any) -> None:
    after, refused = put(Experiment("a b"), "x", (0, 1, 0), value)
    assert refused == ""
    assert after.x[0][0] == (0, 1, 0)
    assert after.x[0][1] == pytest.approx(float(value), rel=1e-6, abs=1e-44)
    assert after.run().trace is not None
