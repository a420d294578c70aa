"""Edited cells: what is taken, what is refused and in which words, and their text in a link."""

import math
import struct
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.edit_text import read_edits, write_edits, write_number
from attnviz.edits import EDITS, LETTERS, can_exist, check_cells, check_matrix, is_cells, to_float32
from attnviz.experiment import Experiment

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
MOST = {"b": 8, "s": 32_768, "u": 32_768, "m": 64, "h*k": 512, "h*d": 512}


@st.composite
def any_edits(draw: st.DrawFn, max_cells: int = 12) -> dict[str, Any]:
    """Cells of any of the fields, at any index that can exist."""
    edits = {}
    for name in draw(st.sets(st.sampled_from(EDITS), max_size=3)):
        index = st.tuples(*(st.integers(0, MOST[axis] - 1) for axis in LETTERS[name]))
        edits[name] = tuple(draw(st.dictionaries(index, floats, min_size=1, max_size=max_cells)).items())
    return edits


@given(floats)
def test_a_number_is_written_short_and_read_back_exactly(value: float) -> None:
    text = write_number(value)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)  # bit for bit, -0 too
    assert len(text) <= 15


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-99, max_value=99))
def test_what_was_typed_is_what_is_written(typed: Any) -> None:
    written = write_number(to_float32(float(typed)) or 0.0)
    assert float(written) == float(typed)


@given(any_edits())
def test_edits_come_back_from_their_text(edits: dict[str, Any]) -> None:
    kept = Experiment("a", **edits).edits
    assert read_edits(write_edits(kept)) == (kept, [])


@given(st.text(max_size=60) | st.text("wqkvx_~.0123-e nai", max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    edits, refused = read_edits(text)
    Experiment("a", **edits)
    assert all(code in ("unknown", "malformed", "not_finite", "out_of_range") for code, _ in refused)


def test_a_row_is_written_as_a_run() -> None:
    cells = check_matrix("w_k", [[1, 0.5, -1], [0, 0, 0]], (2, 3))
    assert write_edits({"w_k": cells}) == "w_k~0.0_1_0.5_-1~1.0_0_0_0"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("w_q~0.0_nan", "not_finite"),
        ("w_q~0.0_-INF", "not_finite"),
        ("w_q~0.0_1e999", "not_finite"),
        ("w_q~0.0_1e39", "not_finite"),  # a float64, no float32
        ("w_q~0.0_", "malformed"),
        ("w_q~0.0_0x1", "malformed"),
        ("w_q~0.0_١", "malformed"),
        ("w_q~-1.0_1", "malformed"),
        ("w_q~0..0_1", "malformed"),
        ("w_q~0_1", "out_of_range"),
        ("w_q~0.0.0_1", "out_of_range"),
        ("w_q~64.0_1", "out_of_range"),
        ("w_q~0.511_1_1", "out_of_range"),
        ("w_q~0.999999_1", "malformed"),
        ("text~0.0_1", "unknown"),
        ("0.0_1", ""),
        ("", "unknown"),
    ],
)
def test_a_bad_item_has_its_code_and_the_good_ones_stay(text: str, code: str) -> None:
    edits, refused = read_edits(text + "~x~0.0.1_5")
    assert edits["x"] == (((0, 0, 1), 5.0),)
    assert [code for code, _ in refused] == ([code] if code else [])


def test_cells_are_sorted_rounded_and_kept_once() -> None:
    cells = (((1, 0), 2.0), ((0, 1), 0.1), ((1, 0), 3.0))
    assert check_cells("w_q", cells) == (((0, 1), to_float32(0.1)), ((1, 0), 3.0))
    assert check_cells("w_q", ()) is None


@pytest.mark.parametrize("matrix", [[[1, 2], [3, 4]], ((1, 2), (3, 4)), torch.tensor([[1.0, 2], [3, 4]])])
def test_a_matrix_may_be_lists_tuples_or_a_tensor(matrix: Any) -> None:
    assert not is_cells(matrix)
    assert check_matrix("w_q", matrix, (2, 2)) == (((0, 0), 1.0), ((0, 1), 2.0), ((1, 0), 3.0), ((1, 1), 4.0))


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        (
            "x",
            [[1, 2]],
            r"^x must have shape \(b=1, s=2, m=3\) or, for sequence 0, \(s=2, m=3\), not shape \(1, 2\)$",
        ),
        ("w_q", [[1]], r"^w_q must have shape \(m=3, h\*k=2\), not shape \(1, 1\)$"),
        ("w_v", torch.zeros(3, 3), r"^w_v must have shape \(m=3, h\*d=2\), not shape \(3, 3\)$"),
        ("w_q", [[1, 2], [3], [4, 5]], r"^w_q must have 2 numbers at \(1,\), as elsewhere, not \[3\]$"),
        (
            "w_q",
            [[1, 2], [3, [4]], [4, 5]],
            r"^w_q at \(1, 1\) must be a number that float32 can hold, not \[4\]$",
        ),
        ("w_q", [], r"^w_q must have shape .*, not shape \(0,\)$"),
        ("w_q", "abc", r"^w_q must have shape .*, not 'abc'$"),
        ("w_q", 3, r"^w_q must have shape .*, not 3$"),
        ("w_q", {"a": 1}, r"^w_q must have shape .*, not \{'a': 1\}$"),
        ("w_q", [[math.nan, 0], [0, 0], [0, 0]], r"^w_q at \(0, 0\) must be a number that .*, not nan$"),
        ("w_q", (((0, 0), math.inf),), r"^w_q at \(0, 0\) must be a number that .*, not inf$"),
        ("w_q", (((0, 0), 1e39),), r"^w_q at \(0, 0\) must be a number that .*, not 1e\+39$"),
        ("w_q", (((0, 0), 10**5000),), r"^w_q at \(0, 0\) must be a number that .*, not a int$"),
        ("w_q", (((0, 0), "1"),), r"^w_q at \(0, 0\) must be a number that .*, not '1'$"),
        ("w_q", (((0, 0), True),), r"^w_q at \(0, 0\) must be a number that .*, not True$"),
        (
            "w_q",
            (((0, -1), 1),),
            r"^an index of w_q must be whole numbers from 0, m < 64, h\*k < 512, not \(0, -1\)$",
        ),
        ("w_q", (((0,), 1),), r"^an index of w_q must be .*, not \(0,\)$"),
        ("w_q", (((0, 1.0), 1),), r"^an index of w_q must be .*, not \(0, 1.0\)$"),
        ("x", (((8, 0, 0), 1),), r"^an index of x must be .* b < 8, s < 32768, m < 64, not \(8, 0, 0\)$"),
    ],
)
def test_what_is_refused_is_named(name: str, edit: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Experiment("a b", d_model=3, d_k=2, d_v=2, **{name: edit})


def test_the_largest_index_can_exist_and_no_larger() -> None:
    for name, letters in LETTERS.items():
        largest = tuple(MOST[axis] - 1 for axis in letters)
        assert can_exist(name, largest)
        assert not any(can_exist(name, (*largest[:i], largest[i] + 1, *largest[i + 1 :])) for i in range(len(largest)))
