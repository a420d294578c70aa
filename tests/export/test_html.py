"""The page that is taken home: its numbers are the tensors', its cells those of torch, and nothing ends its script."""

import base64
import json
import re

import numpy as np
import pytest

from attnviz.experiment import STEPS, Experiment, View
from attnviz.export import html_cells
from attnviz.export.html import Block, page
from attnviz.export.program import About
from attnviz.figures.colours import theme
from attnviz.ui.compute import Computed
from attnviz.ui.written import writer
from tests.ui.cells import EXPERIMENTS

BLOCKS = [Block("projections", "one"), Block("scores", "two"), Block("output", "three")]


def made(experiment: Experiment, view: View | None = None, about: About | None = None) -> str:
    run = experiment.run()
    view = view or View()
    write = writer(Computed(experiment, run, view, None, 0))
    about = about or About("title", "http://h/?text=x", "1")
    return page(about, experiment, run, view, BLOCKS, STEPS, write, theme("light"), file="f")


def home(text: str) -> dict:
    """What the page's script was given."""
    found = re.search(r"const home = (.*);$", text, re.MULTILINE)
    assert found
    given: dict = json.loads(found[1])
    return given


def numbers(z: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(z["bdata"]), np.dtype(z["dtype"])).reshape(
        [int(n) for n in z["shape"].split(",")]
    )


def test_its_charts_are_the_tensors() -> None:
    experiment = EXPERIMENTS["grouped"]
    trace = experiment.run().trace
    assert trace is not None
    found = home(made(experiment, View(b=1, h=3)))
    drawn = {
        t["name"]: numbers(t["z"])
        for c in found["charts"]
        for t in c["figure"]["data"]
        if t["name"] in ("weights", "output")
    }
    assert (drawn["weights"] == trace.weights[1, 3].numpy()).all()
    assert (drawn["output"] == trace.output[1, 3].numpy()).all()


def test_every_cell_is_written_out() -> None:
    experiment = Experiment("the cat sat", mask="causal")
    cells = home(made(experiment))["cells"]
    sizes = {"query": 12, "key": 12, "value": 12, "scores": 9, "scaled": 9, "masked": 9, "weights": 9, "output": 12}
    assert len(cells) == sum(sizes.values())
    cell = cells["weights:1:0"]
    assert cell["words"].startswith("In sequence 1, “cat” gives ")
    assert cell["heads"][-1] == "sum"
    weight = float(experiment.run().trace.weights[0, 0, 1, 0])  # type: ignore[union-attr]
    assert cell["equals"] == f"a₁,₂,₁ = {weight:.4f}"


def test_above_its_size_the_last_steps_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_cells, "EXPORT_BYTES", 2000)
    cells = home(made(Experiment("the cat sat")))["cells"]
    assert cells
    assert {key.split(":")[0] for key in cells} == {"output"}


@pytest.mark.parametrize("token", ["</script><script>alert(1)</script>", "<!--", "]]>", "&lt;", "\u2028"])
def test_a_token_does_not_end_the_script(token: str) -> None:
    text = made(Experiment("x y").with_cell("x", (0, 0, 0), 1.0), about=About(token, f"javascript:{token}", "1"))
    body = text[text.index("const home") :]
    assert body.count("</script>") == 1
    assert "<!--" not in body.split(";\n", 1)[0]
    assert "javascript:" not in text.split("<script>", 1)[0]


def test_nothing_in_it_asks_a_server() -> None:
    head = made(Experiment("a")).split("<script>", 1)[0]
    assert "default-src 'none'" in head
    assert "src=" not in head.replace("default-src", "").replace("script-src", "")


def test_without_a_trace_it_says_so() -> None:
    experiment = Experiment("a")
    run = experiment.run()._replace(trace=None)
    write = writer(Computed(experiment, run, View(), None, 0))
    with pytest.raises(ValueError, match=r"run\.trace must be a trace, or run\.long a head of a long text"):
        page(About("t", "l", "1"), experiment, run, View(), BLOCKS, STEPS, write, theme("light"), file="f")
