"""The page of a long text: the window that is drawn, each number of it of the whole text, and no other token."""

import math

import numpy as np
import pytest
import torch

from attnviz import long
from attnviz.experiment import STEPS, Experiment, View
from attnviz.export.html import page
from attnviz.export.program import About
from attnviz.figures.colours import theme
from attnviz.limits import LONG_TOKENS, TOKENS_SHOWN
from attnviz.run import without_trace
from attnviz.ui.compute import Computed
from attnviz.ui.written import writer
from tests.export.test_html import BLOCKS, home, numbers

N, B, H = 600, 0, 1
VIEW = View(b=B, h=H, s=410, u=395, step="weights", from_s=400, from_u=390)


def text(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


def made(experiment: Experiment, view: View) -> str:
    run = long.of(without_trace(experiment), experiment, view.b, view.h)
    write = writer(Computed(experiment, run, view, None, 0))
    about = About("title", "http://h/?text=x", "1")
    return page(about, experiment, run, view, BLOCKS, STEPS, write, theme("light"), file="f")


def charts(found: dict) -> dict:
    return {t["name"]: numbers(t["z"]) for c in found["charts"] for t in c["figure"]["data"] if "z" in t}


def test_its_numbers_are_those_of_a_run_over_all_tokens() -> None:
    experiment = Experiment(text(N), n_heads=2, mask="causal", positions="alibi")
    trace = experiment.run().trace
    assert trace is not None
    found = home(made(experiment, VIEW))
    drawn, rows, columns = charts(found), slice(400, 424), slice(390, 414)
    expected = {
        "weights": trace.weights[B, H, rows, columns],
        "scores": trace.scores[B, H, rows, columns],
        "output": trace.output[B, H, rows],
        "query": trace.query[B, H, rows],
    }
    for name, values in expected.items():
        torch.testing.assert_close(torch.tensor(drawn[name]), values, rtol=1e-5, atol=1e-6)
    cells = found["cells"]
    assert {key for key in cells if key.startswith("weights:")} == {
        f"weights:{s}:{u}" for s in range(400, 424) for u in range(390, 414)
    }
    symbol, said = cells["weights:410:395"]["equals"].split(" = ")
    assert symbol == "a₁,₄₁₁,₃₉₆" and math.isclose(float(said), float(trace.weights[B, H, 410, 395]), abs_tol=1e-5)
    assert found["chosen"] == {"step": "weights", "row": 410, "col": 395}


def test_a_cell_of_the_output_lists_its_largest_terms_and_the_rest() -> None:
    experiment = Experiment(text(N), n_heads=2)
    trace = experiment.run().trace
    assert trace is not None
    cell = home(made(experiment, VIEW))["cells"]["output:402:1"]
    assert len(cell["heads"]) < 20
    assert math.isclose(
        float(cell["equals"].split("= ")[1].replace("−", "-")), float(trace.output[B, H, 402, 1]), abs_tol=1e-4
    )


def test_a_cell_opens_with_the_very_number_that_is_drawn() -> None:
    found = home(made(Experiment(text(N), n_heads=2, mask="causal"), VIEW))
    drawn, cells = charts(found), found["cells"]
    for name, start in {"scores": 390, "weights": 390, "output": 0}.items():
        for (i, j), value in np.ndenumerate(drawn[name]):
            said = cells[f"{name}:{400 + i}:{start + j}"]["equals"].split(" = ")[1].replace("−", "-")
            decimals = len(said.partition(".")[2])
            assert float(said) == float(f"{float(value):.{decimals}f}"), (name, i, j)


def test_it_says_which_tokens_it_shows_and_holds_no_other() -> None:
    experiment = Experiment(text(N), n_heads=2)
    file = made(experiment, VIEW)
    assert (
        "Head 2 of sequence 1: query tokens 401 to 424 and key tokens 391 to 414 of 600. Every number is of the" in file
    )
    words = home(file)["spec"]["tokens"]
    assert sorted(map(int, words)) == list(range(390, 424)) and words["390"] == "w390"


@pytest.mark.parametrize("n", [N, LONG_TOKENS])
def test_it_is_no_larger_for_a_longer_text(n: int) -> None:
    file = made(Experiment(text(n), n_heads=2, mask="causal"), VIEW)
    assert len(file) < 8_000_000
    assert f"w{n - 1}" not in file.split("const home")[1]
    assert len(charts(home(file))["weights"]) == TOKENS_SHOWN
