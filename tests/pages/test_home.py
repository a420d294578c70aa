"""Take it home: of a short text a page and all numbers, of a long one a head, and the rows that are on screen."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load
from streamlit.testing.v1 import AppTest

from attnviz.experiment import Experiment
from attnviz.limits import LONG_TOKENS
from attnviz.ui import home
from tests.export.test_long_program import ran
from tests.pages.session import Session

WORDS = " ".join(f"w{i * 7 % 97}" for i in range(600))
ENDINGS = ["html", "py", "ipynb", "safetensors"]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What makes each file that the page offers, by its ending."""
    found: dict[str, Any] = {}

    def keep(kind: str, taken: home.Taken, make: Callable[[home.Taken], Any], name: str = "") -> None:
        found[f"{name}.{kind}".lstrip(".")] = lambda: make(taken)

    monkeypatch.setattr(home, "_offer", keep)
    return found


SAID = {
    "en-US": "The page holds what is drawn: query tokens 401 to 424 and key tokens 391 to 414, with the arithmetic of "
    "their cells. The program, the notebook and the tensors hold head 2 of sequence 1: its vectors whole, and scores "
    "and weights of the same query tokens with all 600 keys.",
    "zh-CN": "序列 1 的 head 2：全部向量，以及同样这些 query 词元对全部 600 个 key 的分数和权重。",
}


@pytest.mark.parametrize("locale", SAID)
def test_of_a_long_text_the_files_hold_what_is_on_screen(locale: str, offered: dict[str, Any]) -> None:
    where: dict[str, Any] = {"from_s": "400", "from_u": "390", "h": "1"}
    session = Session(locale=locale, text=WORDS, n_heads="2", mask="causal", positions="alibi", **where)
    session.open("home")
    assert session.sound() and SAID[locale] in session.words()
    assert list(offered) == [*ENDINGS, "output.csv"]
    trace = Experiment(WORDS, n_heads=2, mask="causal", positions="alibi").run().trace
    assert trace is not None
    weights, output = trace.weights[0, 1, 400:424], trace.output[0, 1, 400:424]
    found, _printed = ran(offered["py"]())
    tensors = load(offered["safetensors"]())
    for mine, its in ((found["a"], weights), (found["O"], output), (tensors["weights"], weights)):
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-6)
    assert "Q[rows]" in offered["ipynb"]()
    table = pd.read_csv(io.StringIO(offered["output.csv"]()), skiprows=3, index_col=0)
    np.testing.assert_allclose(table, output.numpy(), rtol=1e-5, atol=1e-6)
    assert table.index[0].startswith("401 ")
    session.set("matrix", "weights")
    table = pd.read_csv(io.StringIO(offered["weights.csv"]()), skiprows=3, index_col=0)
    np.testing.assert_allclose(table, weights[:, 390:414].numpy(), rtol=1e-5, atol=1e-6)


def test_of_a_short_text_all_is_held(offered: dict[str, Any]) -> None:
    session = Session().open("home")
    assert session.sound() and list(offered) == [*ENDINGS, "output.csv"]
    assert "Each file carries the link to this view." in session.words() and "what is drawn:" not in session.words()


def test_a_link_that_lacks_the_text_is_said_to(offered: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # The map of so many tokens takes its time on another thread, which these do not wait for.
    monkeypatch.setattr("attnviz.ui.long.map.show", lambda *_given, **_options: None)
    session = Session("scores").set("text_line", "a b " * (LONG_TOKENS // 2)).open("home")
    assert session.sound()
    assert "Each file carries the link to this view, without what is too long for a link." in session.words()
    assert f"all {LONG_TOKENS:,} keys" in session.words()


def test_what_is_not_held_is_not_offered() -> None:
    def page() -> None:
        from attnviz.experiment import Experiment, View
        from attnviz.run import without_trace
        from attnviz.ui import home
        from attnviz.ui.compute import Computed

        experiment = Experiment("a b")
        home.show(Computed(experiment, without_trace(experiment), View(), None, 0), ("scores",), ("scores",))

    at = AppTest.from_function(page)
    at.session_state["home"] = True
    at.run()
    assert [each.value for each in at.exception] == [] and not at.get("download_button")
    assert "is not held whole" in at.caption[0].value
