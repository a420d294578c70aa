"""The panels of a long text are windows of those of the whole run, with the same shapes, edits and words."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz import long
from attnviz.experiment import Experiment, Run, View
from attnviz.figures.board import block_layout, specify
from attnviz.figures.colours import theme
from attnviz.figures.layout import BLOCKS, names
from attnviz.figures.matrices import matrix, shape, unrotated
from attnviz.figures.panels import panels, within
from attnviz.limits import TOKENS_SHOWN
from attnviz.run import without_trace

EVERY = tuple(dict.fromkeys(name for block in BLOCKS for name in names(block)))
EXPERIMENT = Experiment(
    " ".join(f"w{i % 41}" for i in range(90)),
    n_heads=4,
    n_kv_heads=2,
    mask="causal",
    positions="rope_half",
    x=(((0, 70, 2), 3.0), ((0, 3, 1), 4.0)),
    k=(((0, 65, 5), 2.0),),
)


def held(experiment: Experiment, h: int = 2) -> Run:
    return long.of(without_trace(experiment), experiment, 0, h)


@pytest.mark.parametrize("difference", [False, True])
def test_each_panel_is_that_of_the_whole_run(difference: bool) -> None:
    view = View(h=2, from_s=62, from_u=64)
    whole, base = EXPERIMENT.run(), EXPERIMENT.unedited()
    expected = panels(EXPERIMENT, whole, view, EVERY, base.run() if difference else None)
    found = panels(EXPERIMENT, held(EXPERIMENT), view, EVERY, held(base) if difference else None)
    for name in EVERY:
        values, right = found[name].values, expected[name].values
        np.testing.assert_allclose(values, right, rtol=1e-4, atol=1e-6, err_msg=name)
        assert found[name]._replace(values=right) == expected[name], name
        assert shape(held(EXPERIMENT), name, 0, 2) == matrix(whole, name, 0, 2).shape


def test_queries_and_keys_are_there_before_their_rotation() -> None:
    before, expected = unrotated(held(EXPERIMENT)), unrotated(EXPERIMENT.run())
    for name in ("query", "key"):
        np.testing.assert_allclose(matrix(before, name, 0, 2), matrix(expected, name, 0, 2), rtol=1e-4, atol=1e-6)


def test_what_is_computed_by_rows_is_no_whole_matrix() -> None:
    with pytest.raises(ValueError, match=r"^name must be one of x, w_q, .*, key_t of a long text, not 'weights'$"):
        matrix(held(EXPERIMENT), "weights", 0, 2)


def test_a_view_is_moved_inside() -> None:
    far = within(
        View(b=3, h=7, s=9_000, u=9_000, from_s=9_000, from_u=9_000, step="output", feature=50), held(EXPERIMENT)
    )
    assert (far.b, far.h, far.s, far.u, far.feature) == (0, 3, 89, 89, 3)
    assert (far.from_s, far.from_u) == (90 - TOKENS_SHOWN, 90 - TOKENS_SHOWN)


def test_the_colours_of_weights_end_at_the_largest_that_is_shown() -> None:
    experiment = replace(EXPERIMENT, mask="none")
    run, view = held(experiment), View(h=2)
    layout = block_layout(experiment, run, view, "output")
    spec: dict[str, Any] = specify([layout], run, experiment, view, theme("light"))
    bar = spec["layout"]["coloraxis2"]
    weights = run.long.rows(0, TOKENS_SHOWN).weights[:, :TOKENS_SHOWN] if run.long else None
    assert weights is not None and bar["cmin"] == 0 and bar["cmax"] == pytest.approx(float(weights.max()), rel=1e-6)
    assert "largest" in bar["colorbar"]["title"]["text"]
