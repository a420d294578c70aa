"""A small table: plain words that stay words, and numbers that stand below each other."""

from xml.etree import ElementTree

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.ui import small_table
from tests.hostile import HOSTILE

SCRIPT = """
import streamlit as st
from attnviz.ui import small_table
small_table.show(st.session_state["columns"], **st.session_state["given"])
"""


def table(columns: dict[str, list[str]], **given: object) -> list[list[ElementTree.Element]]:
    """Draw a table and return its cells, row by row, the heads first."""
    at = AppTest.from_string(SCRIPT)
    at.session_state["columns"], at.session_state["given"] = columns, given
    at.run()
    assert [e.value for e in at.exception] == []
    (drawn,) = at.get("html")
    return [list(row) for row in ElementTree.fromstring(drawn.proto.body).iter("tr")]


def words(cell: ElementTree.Element) -> str:
    return "".join(cell.itertext())


def test_heads_stand_over_their_cells_in_the_order_given() -> None:
    heads, first, second = table({"": ["a", ""], "n": ["1", "−2,000.5"]})
    assert [cell.tag for cell in heads] == ["th", "th"] and {cell.get("scope") for cell in heads} == {"col"}
    assert not [cell for row in (first, second) for cell in row if len(cell)]  # neither code nor bold unless asked
    assert [[words(cell) for cell in row] for row in (first, second)] == [["a", "1"], ["", "−2,000.5"]]


@pytest.mark.parametrize("text", [*HOSTILE, "<b>x</b>", "`x`", "**x**", "$x$", "&amp;"])
def test_what_is_typed_is_words_and_no_markup(text: str) -> None:
    heads, row = table({text: [text], "n": [text]}, chosen=0)
    for cell in (heads[0], *row):
        assert {inner.tag for inner in cell.iter()} <= {"th", "td", "b"}
        assert words(cell).strip() == words(heads[0]).strip()
    if text.isascii() and text.isprintable() and " " not in text:
        assert words(heads[0]) == text


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        (["1", "−0.5000", "12,345", "NaN", "∞", "−∞", "−1.0000e+30", ""], True),
        (["1", "sum"], False),
        (["", ""], False),
        (["1 cat", "2 sat"], False),
        (["4, 5"], False),
    ],
)
def test_a_column_of_numbers_is_aligned_at_the_right(cells: list[str], right: bool) -> None:
    assert [cell.get("class") == "attnviz-number" for (cell,) in table({"n": cells})] == [right] * (len(cells) + 1)


def test_one_row_may_be_chosen_and_one_column_be_code() -> None:
    heads, first, second = table({"way": ["a", "b"], "torch": ["X @ W", "x<y"]}, code="torch", chosen=1)
    assert [cell.find("code") is not None for cell in (*heads, *first)] == [False, False, False, True]
    assert [[inner.tag for inner in cell.iter()] for cell in second] == [["td", "b"], ["td", "b", "code"]]
    assert words(second[1]) == "x<y"


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        small_table.show({"a": ["1"], "b": []})
