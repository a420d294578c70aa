"""Edit any number: the board follows, undo and reset take it back, and what is no number changes nothing."""

from typing import Any

import numpy as np
import pytest

from attnviz.experiment import Experiment
from tests.figures import reading
from tests.pages.session import Session
from tests.pages.test_pages import check_numbers

CAT = Experiment("the cat sat on the mat")


def test_a_typed_number_is_computed_with_at_once() -> None:
    session = Session().open("editor").type(1, "m=3", -4.5)
    expected = CAT.with_cell("x", (0, 1, 2), -4.5)
    assert session.sound() and session.said() == []
    assert session.experiment == expected == session.linked[0]
    check_numbers(session, expected)
    assert reading.edited(session.figures["projections"], "x") == {(1, 2)}


@pytest.mark.parametrize(
    ("matrix", "column", "field", "index"),
    [
        ("x", "m=1", "x", (1, 1, 0)),
        ("w_q", "k=2", "w_q", (1, 7)),
        ("w_k", "k=2", "w_k", (1, 4)),
        ("w_v", "d=5", "w_v", (1, 9)),
        ("query", "k=3", "q", (1, 1, 8)),
        ("key", "k=1", "k", (1, 1, 3)),
        ("value", "d=1", "v", (1, 1, 5)),
    ],
)
def test_every_matrix_is_edited_for_the_chosen_sequence_and_head(
    matrix: str, column: str, field: str, index: tuple[int, ...]
) -> None:
    query = {"text": "a b\nc d", "n_heads": "4", "n_kv_heads": "2", "d_k": "3", "d_v": "5", "b": "1", "h": "2"}
    session = Session(**query).open("editor").set("edited_matrix", matrix)
    before = session.experiment
    session.type(1, column, 2.5)
    assert session.experiment == before.with_cell(field, index, 2.5)
    check_numbers(session)
    assert session.numbers()[matrix][1, int(column[2:]) - 1] == 2.5


def test_several_edits_one_after_the_other_all_stay() -> None:
    session = Session().open("editor")
    expected = CAT
    for row, column in ((0, 0), (3, 2), (0, 0), (5, 7)):
        value = row + column / 8 + len(expected.edits.get("x", ()))
        session.type(row, f"m={column + 1}", value)
        expected = expected.with_cell("x", (0, row, column), value)
        assert session.experiment == expected
    session.set("edited_matrix", "w_q").type(0, "k=1", 3)
    expected = expected.with_cell("w_q", (0, 0), 3)
    assert session.experiment == expected
    check_numbers(session, expected)


def test_undo_goes_back_step_by_step_and_reset_all_at_once() -> None:
    session = Session().open("editor")
    assert session.at.button(key="undo").disabled and session.at.button(key="reset").disabled
    session.type(0, "m=1", 1).type(1, "m=1", 2)
    one, two = CAT.with_cell("x", (0, 0, 0), 1), CAT.with_cell("x", (0, 0, 0), 1).with_cell("x", (0, 1, 0), 2)
    assert session.experiment == two
    session.press("undo")
    assert session.experiment == one
    check_numbers(session, one)
    session.press("undo")
    assert session.experiment == CAT
    assert session.at.button(key="undo").disabled
    session.type(2, "m=2", 3).type(3, "m=2", 4).press("reset")
    assert session.experiment == CAT
    session.press("undo")  # a reset can be taken back too
    assert len(session.experiment.edits["x"]) == 2
    assert session.sound()
    check_numbers(session)


def test_undo_keeps_what_else_was_changed_since() -> None:
    session = Session().open("editor").type(0, "m=1", 1).set("mask", "causal").set("text_line", "the dog")
    session.press("undo")
    assert session.experiment == Experiment("the dog", mask="causal")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e39, "text", None])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_no_finite_number_is_refused_with_one_sentence(value: Any, lang: str) -> None:
    session = Session(lang=lang, edits="x~0.0.0_2").open("editor")
    before = session.numbers()
    session.type(1, "m=1", value)
    assert session.sound()
    assert len(session.said()) == 1
    assert session.experiment == CAT.with_cell("x", (0, 0, 0), 2)
    assert all(np.array_equal(numbers, before[name], equal_nan=True) for name, numbers in session.numbers().items())
    session.type(1, "m=1", 7)  # and the editor works on
    assert session.said() == []
    assert session.experiment == CAT.with_cell("x", (0, 0, 0), 2).with_cell("x", (0, 1, 0), 7)


def test_the_difference_is_now_minus_unedited() -> None:
    session = Session(edits="v~0.2.1_5~x~0.0.0_1", mask="causal").open("editor")
    session.set("difference", True)
    assert session.view.difference and session.linked[1].difference
    now, base = (reading.expected(e.run(), 0, 0) for e in (session.experiment, session.experiment.unedited()))
    for name, drawn in session.numbers().items():
        difference = np.where(now[name] == base[name], 0, (now[name] - base[name]).nan_to_num(0, 0, 0))
        np.testing.assert_array_equal(drawn, difference, err_msg=name)
    session.set("difference", False)
    check_numbers(session)
    session.set("difference", True).press("reset")
    assert session.sound()
    check_numbers(session, Experiment("the cat sat on the mat", mask="causal"))


def test_what_lies_upstream_of_a_typed_query_is_marked() -> None:
    session = Session(edits="q~0.2.1_5")
    titles = reading.titles(session.figures["projections"])
    assert any("WQ" in title and "overridden" in title for title in titles)
    assert not any("WK" in title and "overridden" in title for title in titles)


def test_edits_outside_the_present_matrices_wait() -> None:
    session = Session(edits="x~0.5.7_3").open("editor").set("text_line", "the cat")
    assert session.sound()
    assert any("1" in c.value and "outside" in c.value for c in session.at.caption)
    check_numbers(session, Experiment("the cat"))
    session.set("text_line", CAT.text)
    check_numbers(session, CAT.with_cell("x", (0, 5, 7), 3))


def test_edits_survive_a_change_of_page_and_of_language() -> None:
    session = Session().open("editor").type(0, "m=1", 1.5)
    expected = CAT.with_cell("x", (0, 0, 0), 1.5)
    for page in ("scores", "output", "projections", "explore"):
        session.go(page)
        assert session.sound()
        assert session.experiment == expected == session.linked[0]
        check_numbers(session, expected)
    session.set("language", "zh")
    assert session.experiment == expected
    session.open("editor").press("undo")
    assert session.experiment == CAT


def test_the_editor_of_a_page_offers_the_matrices_that_the_page_shows() -> None:
    for page, matrices in (("scores", 1), ("output", 1), ("projections", 7), ("explore", 7)):
        session = Session(page).open("editor")
        assert session.sound()
        assert len(session.widget("edited_matrix").options) == matrices


def test_the_editor_is_not_fed_its_own_edits() -> None:
    # Fed a changed table, Streamlit's editor would forget what is typed in it.
    session = Session().open("editor")
    first = [e.proto.id for e in session.at.dataframe]
    session.type(0, "m=1", 1).type(1, "m=1", 2)
    assert [e.proto.id for e in session.at.dataframe] == first
    session.press("undo")
    assert [e.proto.id for e in session.at.dataframe] != first  # it must show what undo brought back


def test_nan_in_a_link_is_left_out_and_said() -> None:
    session = Session(edits="x~0.0.0_nan~0.0.1_2")
    assert session.sound()
    assert session.experiment == CAT.with_cell("x", (0, 0, 1), 2)
    assert len(session.said()) == 1 and "nan" in session.said()[0]
