"""A view as a notebook: it runs, from torch alone, and prints the numbers on screen."""

import re

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from attnviz.experiment import Experiment, View
from attnviz.export.notebook import notebook
from attnviz.export.program import About


def test_it_runs_and_prints_the_weights_and_the_output(tmp_path) -> None:
    experiment = Experiment("the cat 猫 sat\na b", n_heads=2, mask="causal", positions="rope_half")
    run = experiment.run()
    assert run.trace is not None
    text = notebook(About("the cat", "http://h/?text=x", "1"), experiment, run, View(b=1, h=1))
    ran = NotebookClient(nbformat.reads(text, as_version=4), timeout=120, resources={"metadata": {"path": tmp_path}})
    printed = ran.execute().cells[-1].outputs[0].text
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d+", printed)]
    expected = torch.cat([run.trace.weights[1, 1].flatten(), run.trace.output[1, 1].flatten()])
    torch.testing.assert_close(torch.tensor(numbers), expected, rtol=0, atol=5.1e-5)


@pytest.mark.parametrize("title", ["<img src=x onerror=alert(1)>", "# a *b* `c` [d](e) $f$", "a\nb"])
def test_a_title_is_data(title: str) -> None:
    experiment = Experiment("a")
    source = nbformat.reads(notebook(About(title, "", "1"), experiment, experiment.run(), View()), 4).cells[0].source
    assert source.startswith("# ")
    assert "<" not in source
    assert "[d](" not in source
    assert len(source.splitlines()) == 3


def test_the_same_view_gives_the_same_file() -> None:
    experiment = Experiment("a b")
    made = [notebook(About("t", "l", "1"), experiment, experiment.run(), View()) for _ in range(2)]
    assert made[0] == made[1]
