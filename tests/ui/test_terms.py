"""A cell written out: the table's own numbers add up to the cell, to the printed digits."""

import re

import pytest

from attnviz import locale
from attnviz.experiment import STEPS, View
from attnviz.export.python import agreed_digits
from attnviz.figures.text import number
from attnviz.ui.terms import symbol, terms
from tests.ui.cells import EXPERIMENTS, explained, shape, some, view_of

CELLS = [(name, step) for name in EXPERIMENTS for step in STEPS]


def value(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def typed(cell: float, total: float, tolerance: float) -> bool:
    """A typed query, key or value: what is written out is the projection that it replaced."""
    return abs(cell - total) > tolerance


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n not in ("infinite",)])
def test_the_total_of_the_table_is_the_cell_to_the_printed_digits(name: str) -> None:
    for run, view, cell in some(name, 12):
        if typed(cell.cell, cell.total, cell.tolerance):
            cell = cell._replace(cell=cell.total)
        digits = agreed_digits(cell)
        assert number(cell.cell, digits) == number(cell.total, digits), (view, cell.cell, cell.total)
        table = terms(run, view, cell, digits)
        last = list(table.values())[-1]
        if view.step == "weights":
            place = list(table)[1 + cell.index[-1]]
            assert table[place][-1] == number(cell.cell, digits)
            assert last[-1] in ("1.0000", "0.0000")  # the shares sum to 1, or there are none
        else:
            assert last[-1] == number(cell.cell, digits), view


@pytest.mark.parametrize("name", ["cat", "grouped", "prefix", "edited", "halves", "pairs", "alibi"])
def test_every_factor_product_and_share_is_printed_and_they_agree(name: str) -> None:
    for run, view, cell in some(name, 6, seed=1):
        assert run.trace is not None
        table = terms(run, view, cell, 4)
        columns = [cells for head, cells in table.items()]
        assert len({len(cells) for cells in columns}) == 1  # a whole table
        if view.step in ("scaled", "masked"):
            left, right, result = (value(cells[0]) for cells in columns)
            expected = left * right if view.step == "scaled" else left + right
            assert result == pytest.approx(expected, abs=2e-3) or (result == expected)
            continue
        printed = [[value(text) for text in cells] for cells in columns[1:-1]]
        assert len(printed) == len(cell.products)
        for i, (first, second, third) in enumerate(printed):
            factors = [float(factor[i]) for factor in cell.factors.values()]
            assert first == pytest.approx(factors[0], abs=6e-5) or first == factors[0]
            assert second == pytest.approx(factors[1], abs=6e-5)
            if view.step != "weights":
                assert third == pytest.approx(float(cell.products[i]), abs=6e-5)
        if view.step == "weights":
            row = run.trace.weights[view.b, view.h, view.s].tolist()
            assert [share for *_, share in printed] == pytest.approx(row, abs=6e-5)
            assert value(columns[-1][1]) == pytest.approx(sum(e for _, e, _ in printed), abs=1e-3)
        else:
            assert sum(third for *_, third in printed) == pytest.approx(cell.cell, abs=1e-3)


def test_a_rotated_cell_is_two_products_of_the_features_that_turned() -> None:
    run = EXPERIMENTS["halves"].run()
    for feature, heads, signs in ((1, ["k=2", "k=5"], "cos, −sin"), (4, ["k=5", "k=2"], "cos, sin")):
        view = View(step="query", s=2, feature=feature)
        table = terms(run, view, explained(run, view), 4)
        assert list(table)[1:-1] == heads
        assert next(iter(table.values())) == ["before rotation", signs, "product"]


def test_what_alibi_adds_has_its_name() -> None:
    for name, added in (("distance", "+ ALiBi"), ("alibi", "+ ALiBi + mask"), ("grouped", "+ mask")):
        run = EXPERIMENTS[name].run()
        view = View(step="masked", s=1, u=0)
        assert added in terms(run, view, explained(run, view), 4)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_column_names_its_token_and_repeated_tokens_stay_apart(lang: str) -> None:
    locale.use(lang)
    run = EXPERIMENTS["cat"].run()
    for step in ("weights", "output"):
        view = view_of(step, 0, 0, 1, 0)
        heads = list(terms(run, view, explained(run, view), 4))
        assert heads[1:-1] == ["1 the", "2 cat", "3 sat", "4 on", "5 the", "6 mat"]
    view = view_of("query", 0, 0, 1, 0)
    heads = list(terms(run, view, explained(run, view), 4))
    assert heads[1:-1] == [f"m={i}" for i in range(1, 9)]


def test_the_table_speaks_in_the_letters_of_the_reader() -> None:
    run = EXPERIMENTS["cat"].run()
    view = View(step="output", letters="bij")
    table = terms(run, view, explained(run, view), 4)
    first = next(iter(table.values()))
    assert first[:2] == ["a_bij", "V_bjd"]
    assert next(iter(table)) == "j"


def test_a_row_that_may_attend_nowhere_has_shares_of_0() -> None:
    # In the second sequence only its first key is no padding, and with left = right = 0 a token sees itself alone.
    run = EXPERIMENTS["nowhere"].run()
    view = view_of("weights", 1, 0, 3, 0)
    table = terms(run, view, explained(run, view), 4)
    assert [cells[-1] for cells in list(table.values())[1:]] == ["0.0000"] * 6
    assert [cells[0] for cells in list(table.values())[1:-1]] == ["−∞"] * 5


@pytest.mark.parametrize("step", STEPS)
def test_infinite_and_undefined_cells_are_written_out(step: str) -> None:
    run = EXPERIMENTS["infinite"].run()
    _, _, rows, columns = shape(run, step)
    for row in range(rows):
        for column in range(columns):
            view = view_of(step, 0, 0, row, column)
            cell = explained(run, view)
            table = terms(run, view, cell, agreed_digits(cell))
            assert all(re.fullmatch(r"[-−0-9.∞a-zA-Z]*", t) for cells in list(table.values())[1:] for t in cells)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_step_has_a_name_on_the_control(lang: str) -> None:
    locale.use(lang)
    assert len({symbol(step) for step in STEPS}) == len(STEPS)
