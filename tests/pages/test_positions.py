"""Positions on Explore: what was rotated or costs its distance is explained, edited and copied as what it is."""

import contextlib
import io

import numpy as np
import pytest

from attnviz.figures.text import number
from tests.pages.session import Session


@pytest.mark.parametrize("positions", ["rope_half", "rope_interleaved"])
@pytest.mark.parametrize("panel", ["query", "key", "key_t"])
def test_a_click_on_what_was_rotated_opens_its_arithmetic_and_its_program(positions: str, panel: str) -> None:
    session = Session(positions=positions, n_heads="4", n_kv_heads="2", h="3", edits="k~0.1.5_2.5").click(panel, 1, 2)
    view, trace = session.view, session.experiment.run().trace
    assert trace is not None and session.sound()
    row = view.s if panel == "query" else view.u
    tensor = trace.query[0, 3] if panel == "query" else trace.key[0, 1]
    value = float(tensor[row, view.feature])
    assert number(value, 4) in session.words() and "RoPE turned features" in session.words()
    session.open("program")
    (program,) = [code.value for code in session.at.code if code.value.startswith("import torch")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "cell.py", "exec"), {})  # noqa: S102  # what a reader would run
    assert printed.getvalue().strip() == number(value, 4).replace("−", "-") and "rotation" in program


def test_a_typed_number_is_edited_before_it_is_rotated() -> None:
    session = Session(positions="rope_half").open("editor").set("edited_matrix", "query")
    run = session.experiment.run()
    assert run.projected_query is not None and "before RoPE rotates them" in session.words()
    (grid,) = [e for e in session.at.dataframe if e.proto.id.partition("-grid.")[1]]
    assert grid.value.to_numpy()[2, 1] == f"{float(run.projected_query[0, 0, 2, 1]):.4f}"
    session.type(2, "k=2", "7.5").click("query", 2, 1)
    assert session.experiment.q == (((0, 2, 1), 7.5),)
    assert "You typed 7.5000 here, which was then rotated." in session.words()
    trace = session.experiment.run().trace
    assert trace is not None and number(float(trace.query[0, 0, 2, 1]), 4) in session.words()


def test_an_odd_d_k_is_said_on_every_page_and_stands_in_the_link() -> None:
    session = Session(d_k="3", positions="rope_interleaved")
    assert session.sound() and len(session.said()) == 1 and "d_k = 3 is odd: nothing is rotated" in session.said()[0]
    assert session.linked[0].positions == "rope_interleaved"
    assert session.set("d_k", 4).said() == []


def test_alibi_is_named_where_it_is_added() -> None:
    session = Session(positions="alibi", mask="causal", n_heads="4").click("masked", 3, 1)
    titles = [a["text"] for a in session.figures["scores"]["layout"]["annotations"]]
    assert any("+ ALiBi + mask" in title for title in titles)
    assert "ALiBi added −0.5000 for the distance." in session.words()  # 2 tokens at 2^-2
    for page in ("scores", "output", "projections"):
        assert Session(page, positions="alibi", mask="causal").sound()
    for section in ("scale", "softmax", "masks"):
        assert Session("scores", section=section, positions="alibi", mask="causal").sound()


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_the_labs_of_the_scores_begin_with_what_alibi_adds(mask: str) -> None:
    query = {"positions": "alibi", "mask": mask, "n_heads": "8", "s": "4"}
    session = Session("scores", section="scale", **query)
    trace = session.experiment.run().trace
    assert trace is not None
    weights = trace.weights[0, 0]
    (table,) = [t for t in session.tables() if "largest weight" in t.columns]
    assert number(float(weights[4].max()), 4) in table["largest weight"].tolist()
    masks = Session("scores", section="masks", hidden_value="-inf", **(query | {"mask": "causal"}))
    causal = masks.experiment.run().trace
    assert causal is not None and np.allclose(masks.maps()["weights"], causal.weights[0, 0].numpy(), atol=1e-6)
