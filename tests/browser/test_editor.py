"""Editing: a typed number stays, is marked, is computed with, and can be taken back; what is no number is refused."""

import pytest
import torch

from attnviz.experiment import Experiment
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock
from tests.browser.grid import Grid
from tests.browser.reader import Reader

MARKS = """gd => gd._fullData.filter(t => t.name === "edited").map(t => {
    const panel = gd._fullData.find(h => h.type === "heatmap" && h.xaxis === t.xaxis);
    return [panel.name, Array.from(t.x), Array.from(t.y)];
})"""
REFUSED = "“{}” is no number that a cell of X can hold: the one before it stays."
SMALL = "/?text=the+cat+sat&d_model=4&d_k=3&d_v=2"


@pytest.fixture
def editor(open_app: OpenApp) -> tuple[Reader, Grid]:
    reader = open_app(SMALL).unfold("editor")
    return reader, Grid(reader.keyed("editor").locator('[data-testid="stDataFrame"]'))


def test_two_edits_stay_are_marked_and_can_be_taken_back(editor: tuple[Reader, Grid]) -> None:
    reader, grid = editor
    plain = Experiment("the cat sat", d_model=4, d_k=3, d_v=2)
    one = plain.with_cell("x", (0, 1, 2), 7.5)
    two = one.with_cell("x", (0, 2, 0), -1.25)
    grid.put(1, 2, "7.5")
    reader.until(lambda: reader.state()[0] == one)
    assert reader.state()[0] == one
    grid.put(2, 0, "-1.25")
    reader.until(lambda: reader.state()[0] == two)
    assert reader.state()[0] == two
    assert float(grid.rows()[1][3]) == 7.5 and float(grid.rows()[2][1]) == -1.25
    expected.shows(reader, two)
    marks = {name: {(round(y), round(x)) for x, y in zip(xs, ys, strict=True)} for name, xs, ys in _marks(reader)}
    assert marks == {"x": {(1, 2), (2, 0)}}
    assert reader.chart("projections").locator(".scatterlayer .point").count() == 2
    reader.flip("difference")
    before, after = plain.run(), two.run()
    assert before.trace is not None and after.trace is not None
    for block, name in (("projections", "x"), ("scores", "weights"), ("output", "output")):
        change = expected.tensor(after, name) - expected.tensor(before, name)
        assert torch.equal(torch.tensor(reader.values(block, name)), change)
    assert reader.state()[1].difference
    reader.flip("difference")
    reader.button("Undo").click()
    reader.rest()
    assert reader.state()[0] == one
    expected.shows(reader, one)
    reader.button("Reset all").click()
    reader.rest()
    assert reader.state()[0] == plain
    expected.shows(reader, plain)
    assert grid.rows()[1][3] == f"{plain.run().x[0, 1, 2].item():.4f}"
    reader.button("Undo").click()
    reader.rest()
    assert reader.state()[0] == one  # a reset can be taken back too


def test_edits_typed_without_a_pause_all_stay(editor: tuple[Reader, Grid]) -> None:
    reader, grid = editor
    right = Experiment("the cat sat", d_model=4, d_k=3, d_v=2)
    for row, col, value in ((0, 0, 1.5), (1, 1, 2.5), (2, 3, -3.5), (0, 0, 4.5)):
        grid.put(row, col, str(value))
        right = right.with_cell("x", (0, row, col), value)
    reader.until(lambda: reader.state()[0] == right)
    assert reader.state()[0] == right
    expected.shows(reader, right)


def test_a_typed_query_marks_what_lies_upstream_and_the_dock_says_so(editor: tuple[Reader, Grid]) -> None:
    reader, grid = editor
    reader.choose("edited_matrix", "Q")
    grid.put(0, 1, "3")
    edited = Experiment("the cat sat", d_model=4, d_k=3, d_v=2).with_cell("q", (0, 0, 1), 3.0)
    reader.until(lambda: reader.state()[0] == edited)
    assert reader.state()[0] == edited
    expected.shows(reader, edited)
    titles = {t.text.replace("\u200b", "") for t in reader.printed("projections", ".annotation-text")}
    assert {t.split()[0] for t in titles if "overridden" in t} == {"X", "WQ"}
    assert [name for name, _, _ in _marks(reader)] == ["query"]
    reader.click("projections", "query", 0, 1)
    assert "You typed this number" in Dock(reader).sentence() and "3.0000" in Dock(reader).sentence()


def test_what_is_no_finite_number_is_refused_in_one_sentence(editor: tuple[Reader, Grid]) -> None:
    reader, grid = editor
    grid.put(0, 0, "2.5")
    reader.until(lambda: reader.state()[0].x is not None)
    kept = reader.state()[0]
    for i, typed in enumerate(("nan", "inf", "-inf", "1e39", "1,5", "")):
        if typed:
            grid.put(0, 1, typed)
        else:
            grid.clear(0, 1)
        reader.until(lambda: reader.said() != [])
        assert reader.state()[0] == kept, typed
        assert reader.said() == [REFUSED.format(typed)], typed
        assert grid.rows()[0][2] == f"{kept.run().x[0, 0, 1].item():.4f}", typed
        grid.put(1, 1, str(i + 1))
        changed = kept.with_cell("x", (0, 1, 1), i + 1.0)
        reader.until(lambda changed=changed: reader.state()[0] == changed)  # type: ignore[misc]
        assert reader.said() == [] and reader.state()[0] == changed
        kept = changed
    grid.put(0, 1, "5e2")
    changed = kept.with_cell("x", (0, 0, 1), 500.0)
    reader.until(lambda: reader.state()[0] == changed)
    assert reader.state()[0] == changed


def test_the_name_of_a_row_is_no_number_and_cannot_break_the_page(editor: tuple[Reader, Grid]) -> None:
    reader, grid = editor
    before = reader.link()
    grid.select_name(0)
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_timeout(200)
    reader.page.keyboard.type("zz", delay=30)
    reader.page.keyboard.press("Enter")
    reader.rest()
    assert reader.link() == before
    expected.shows(reader, reader.state()[0])
    assert grid.rows()[0][0] == "1 the"


def test_large_numbers_stay_inside_their_cells(open_app: OpenApp) -> None:
    reader = open_app(SMALL + "&edits=x~0.0.0_123456~0.1.1_-4000000")
    for block, name in (("projections", "x"), ("projections", "query"), ("output", "output")):
        cell = reader.cell(block, name, 0, 0)
        wide = [p for p in reader.printed(block) if p.width > cell.width]
        assert not wide, f"{wide[0].text!r} is {wide[0].width:.0f} px wide in cells of {cell.width:.0f} px"


def _marks(reader: Reader) -> list[tuple[str, list[float], list[float]]]:
    """The marks of typed cells in step 1: (panel, columns, rows)."""
    marks: list[tuple[str, list[float], list[float]]] = reader.chart("projections").evaluate(MARKS)
    return marks
