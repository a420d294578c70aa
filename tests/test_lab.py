"""The settings of the labs, and a drawn mask as text: what they take, and what they say of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.drawing import read_drawing, write_drawing
from attnviz.experiment import Experiment
from attnviz.fields import CHOICES
from attnviz.lab import Lab
from attnviz.limits import DRAWN, LIMITS, TEXTS


def test_every_field_has_its_limits_or_choices_and_a_default_within() -> None:
    for field in Lab.__dataclass_fields__.values():
        kinds = [field.name in LIMITS, field.name in CHOICES, field.name in TEXTS, isinstance(field.default, bool)]
        assert sum(kinds) == (field.name != "reveal"), field.name
        if field.name in LIMITS:
            assert field.default == LIMITS[field.name].default


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"axis": "b"}, "axis must be one of u, s, not 'b'"),
        ({"draws": 5}, "draws must be a whole number from 10 to 2000, not 5"),
        ({"training": 1}, "training must be True or False, not 1"),
        ({"reveal": (0,)}, "reveal must hold whole numbers from 1 to 31, not (0,)"),
        ({"reveal": (True,)}, "reveal must hold whole numbers from 1 to 31, not (True,)"),
        ({"reveal": "3"}, "reveal must hold whole numbers from 1 to 31, not '3'"),
        ({"at": 3}, "at must be a text of at most 100 characters, not 3"),
        ({"at": "1" * 101}, f"at must be a text of at most 100 characters, not '{'1' * 58}…"),
    ],
)
def test_a_setting_that_cannot_be_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        Lab(**fields)
    assert str(error.value) == message


@given(st.integers(1, 12), st.data())
def test_a_drawing_is_read_as_it_was_written(n: int, data: st.DataObject) -> None:
    row = st.tuples(*[st.booleans()] * n)
    rows = data.draw(st.tuples(*[row] * n))
    text = write_drawing(rows)
    assert text.isascii() and len(text) <= 4 + n * n / 6 + 2
    assert read_drawing(text) == rows
    assert read_drawing(write_drawing([list(row) for row in rows])) == rows


@pytest.mark.parametrize(
    "text", ["", "2", "2.", "0.", "65.AA", "2.sAA", "2.s!", "-1.sA", "٢.sA", "2.ＳＡ", "9999999.sA"]
)
def test_what_is_no_drawing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"drawn must be a size from 1 to {DRAWN}, a dot and the cells in base64"):
        read_drawing(text)
    if text:
        with pytest.raises(ValueError, match="drawn must be"):
            Experiment("a b", drawn=text)


@pytest.mark.parametrize("rows", [[], [[True], [False]], [[True] * 65] * 65])
def test_what_is_no_square_is_not_written(rows: list[list[bool]]) -> None:
    with pytest.raises(ValueError, match="rows must be a square of 1 to 64 rows"):
        write_drawing(rows)


def test_a_drawn_mask_hides_what_was_drawn_and_leaves_later_tokens_alone() -> None:
    drawn = write_drawing([[True, False], [True, True]])
    mask = Experiment("a b c", mask="drawn", drawn=drawn).run().mask
    assert mask is not None
    assert mask[0, 0].tolist() == [[True, False, True], [True, True, True], [True, True, True]]
    short = Experiment("a", mask="drawn", drawn=drawn).run().mask
    assert short is not None and short.tolist() == [[[[True]]]]
    assert Experiment("a b", mask="drawn").run().mask is None
    batch = Experiment("a b c\nd", mask="drawn", drawn=drawn).run().mask
    assert batch is not None and batch[1, 0].tolist() == [[True, False, False]] + [[True, False, False]] * 2
