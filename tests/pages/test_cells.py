"""A click, or the keyboard, opens one cell: its sentence, arithmetic and program, all with the cell's number."""

import contextlib
import io
from typing import Any

import pytest

from attnviz.experiment import STEPS, View
from attnviz.figures.text import number
from attnviz.links import from_query
from tests.pages.session import Session

TEXT = "the cat the <s>\n我 $x$"
QUERY = {"text": TEXT, "tokenizer": "spaces", "n_heads": "4", "n_kv_heads": "2", "d_k": "3", "d_v": "5", "h": "3"}
# A click on row 1, column 2 of each panel, and the cell that it opens.
CLICKS: dict[str, dict[str, Any]] = {
    "query": {"step": "query", "s": 1, "feature": 2},
    "key": {"step": "key", "u": 1, "feature": 2},
    "value": {"step": "value", "u": 1, "feature": 2},
    "key_t": {"step": "key", "u": 2, "feature": 1},
    "scores": {"step": "scores", "s": 1, "u": 2},
    "masked": {"step": "masked", "s": 1, "u": 2},
    "weights": {"step": "weights", "s": 1, "u": 2},
    "row_sums": {"step": "weights", "s": 1},
    "output": {"step": "output", "s": 1, "feature": 2},
}


def cell_of(session: Session) -> float:
    """The number of the cell that is looked at, from the tensor."""
    view, trace = session.view, session.experiment.run().trace
    assert trace is not None
    head = view.h // (trace.query.shape[1] // getattr(trace, view.step).shape[1])
    row = view.u if view.step in ("key", "value") else view.s
    column = view.u if view.step in ("scores", "scaled", "masked", "weights") else view.feature
    return float(getattr(trace, view.step)[view.b, head, row, column])


def rows(table: Any) -> list[list[str]]:
    """The cells of a table, row by row."""
    return [[str(cell) for cell in row] for row in table.to_numpy()]


def programs(session: Session) -> list[str]:
    session.open("program")
    return [code.value for code in session.at.code if code.value.startswith("import torch")]


def run(program: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "cell.py", "exec"), {})  # noqa: S102  # what a reader would run
    return printed.getvalue().strip()


@pytest.mark.parametrize("panel", CLICKS)
def test_a_click_opens_the_cell(panel: str) -> None:
    lang = "zh" if panel in ("scores", "value", "row_sums") else "en"
    session = Session(lang=lang, **QUERY).click(panel, 1, 2)
    assert session.sound()
    expected = View(lang=lang, h=3, **CLICKS[panel])
    assert session.view == expected == session.linked[1]
    value, words = cell_of(session), session.words()
    assert number(value, 2 if expected.step == "weights" else 4) in words
    (program,) = programs(session)
    digits = len(run(program).partition(".")[2])
    assert run(program) == number(value, digits).replace("−", "-")
    assert any(number(value, digits) in row for table in session.tables() for row in rows(table))


def test_x_and_the_weights_are_given_so_a_click_on_them_opens_nothing() -> None:
    for panel in ("x", "w_q", "w_k", "w_v", "no such panel"):
        session = Session().click(panel, 1, 2)
        assert session.sound()
        assert session.view == View()


@pytest.mark.parametrize("step", STEPS)
def test_the_keyboard_reaches_every_cell_and_names_the_tokens(step: str) -> None:
    session = Session(text="the cat the <s>", tokenizer="spaces")
    session.set("step", step)
    assert session.view.step == step
    first = "u" if step in ("key", "value") else "s"
    second = "u" if step in ("scores", "scaled", "masked", "weights") else "feature"
    session.set(f"at:{first}", 4).set(f"at:{second}", 2)
    assert (getattr(session.view, first), getattr(session.view, second)) == (3, 1)  # on screen, counted from 1
    assert r"\<s\>" in session.widget(f"at:{first}").label
    assert session.bridge["selected"]["row"] == 3 and session.bridge["selected"]["col"] == 1
    assert number(cell_of(session), 2 if step == "weights" else 4) in session.words()


def test_a_click_sets_the_inputs_of_the_keyboard() -> None:
    session = Session().click("scores", 4, 1)
    assert (session.widget("at:s").value, session.widget("at:u").value) == (5, 2)
    session.set("at:s", 1)
    assert (session.view.s, session.view.u) == (0, 1)
    session.click("output", 2, 3)
    assert (session.widget("at:s").value, session.widget("at:feature").value) == (3, 4)


def test_an_emptied_input_leaves_the_cell_where_it_is() -> None:
    session = Session().click("scores", 4, 3)
    session.set("at:s", None)
    assert session.sound()
    assert (session.view.s, session.view.u) == (4, 3)


def test_a_weight_is_read_aloud() -> None:
    session = Session().click("weights", 1, 0)
    share = number(cell_of(session), 2)
    assert f"In sequence 1, “cat” gives {share} of its attention to “the”₁." in session.words()


def test_written_out_has_the_whole_row_of_exponentials() -> None:
    session = Session().click("weights", 1, 4)
    (table,) = [t for t in session.tables() if len(t.columns) == 8]
    read = {row[0]: row[1:] for row in rows(table)}
    weights = session.experiment.run().trace
    assert weights is not None
    shares = [number(float(w), 4) for w in weights.weights[0, 0, 1]]
    assert read["share"][:-1] == shares and read["share"][-1] == "1.0000"
    assert list(table.columns)[1:7] == [
        f"{i} {token}" for i, token in enumerate(["the", "cat", "sat", "on", "the", "mat"], 1)
    ]


def test_a_cell_of_a_long_text_scrolls_instead_of_a_plain_table() -> None:
    session = Session(text="w " * 30, d_model="4").click("weights", 2, 3)
    assert session.sound()
    assert any(len(frame.value.columns) == 32 for frame in session.at.dataframe)


def test_the_window_counts_in_a_click() -> None:
    # The browser reports the row and column of the whole matrix, not those of the window.
    session = Session(text=" ".join(f"w{i}" for i in range(40)), from_s="10").click("scores", 12, 30)
    assert (session.view.s, session.view.u) == (12, 30)
    starts = {p["name"]: p["start"] for chart in session.bridge["charts"] for p in chart["panels"]}
    assert starts["scores"] == [10, 0] and starts["query"] == [10, 0] and starts["key_t"] == [0, 0]


def test_a_cell_that_was_typed_says_what_the_projection_would_give() -> None:
    session = Session(edits="q~0.1.2_9.25").click("query", 1, 2)
    plain = session.experiment.unedited().run().trace
    assert plain is not None
    words = session.words()
    assert "9.2500" in words and number(float(plain.query[0, 0, 1, 2]), 4) in words
    (program,) = programs(session)
    assert run(program) == number(float(plain.query[0, 0, 1, 2]), 4).replace("−", "-")


@pytest.mark.parametrize(
    "query",
    [
        {"edits": "x~0.0.0_3e38~0.0.1_-3e38~0.1.0_1e38~w_q~0.0_9~1.0_9"},
        {"edits": "x~0.0.0_12345.67~w_q~0.0_-98765.4", "scale": "none"},
        {"text": "a b c\nd", "mask": "window", "window_left": "0", "b": "1", "s": "2"},
        {"text": "a", "d_model": "1", "d_k": "1", "d_v": "1"},
    ],
    ids=["overflow", "large", "nowhere", "one"],
)
def test_no_cell_breaks_the_page(query: dict[str, str]) -> None:
    session = Session(**query).set("written_out", True)
    s = int(query.get("s", 0))
    for panel in CLICKS:
        for row, column in ((s, 0), (0, 0)):
            session.click(panel, row, column)
            assert session.sound(), panel
            if panel != "row_sums":
                assert session.view == from_query(session.link)[1]


def test_a_row_that_may_attend_nowhere_says_so() -> None:
    session = Session(text="a b c\nd", mask="window", window_left="0", b="1").click("weights", 2, 1)
    assert "may attend nowhere" in session.words()
    (program,) = programs(session)
    assert run(program) == "0.0000"
