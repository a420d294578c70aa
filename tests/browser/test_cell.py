"""The cell: a click or the keyboard opens its arithmetic, whose total is the cell, and a program that repeats it."""

import subprocess
import sys

import pytest
from playwright.sync_api import Page

from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock
from tests.browser.figure import ALL_PANELS

GIVEN = ("x", "w_q", "w_k", "w_v")  # nothing is computed for their cells
STEPS = {"key_t": "key", "row_sums": "weights"}
LINK = "/?text=the+cat+sat+on&n_heads=2&h=1&mask=causal"


def test_a_click_on_any_computed_panel_writes_out_the_sum_that_is_the_cell(open_app: OpenApp) -> None:
    reader = open_app(LINK)
    dock, run = Dock(reader), reader.state()[0].run()
    assert run.trace is not None and not dock.is_written_out()
    for block, name in ALL_PANELS:
        if name in GIVEN:
            continue
        reader.click(block, name, 2, 0)
        step = STEPS.get(name, name)
        reader.until(lambda step=step: reader.state()[1].step == step)  # type: ignore[misc]
        view = reader.state()[1]
        assert view.step == step, (block, name)
        row, col = (view.u if step in ("key", "value") else view.s), view.u if step in _PAIRS else view.feature
        assert (row, col) == ((0, 2) if name == "key_t" else (2, 0)), (block, name)
        cell = expected.tensor(run, step, h=1)[row, col].item()
        written = dock.written()
        assert expected.prints(written.value, cell), (name, written)
        if step == "masked":
            assert written.rows[1][1] == "0.0000" and expected.prints(written.rows[1][-1], cell)
        elif step == "weights":
            masked, exponential, share = (row[1:] for row in written.rows[1:4])
            assert masked[3] == "−∞" and exponential[3] == "0.0000" and share[3] == "0.0000"
            assert expected.prints(share[0], cell) and share[-1] == "1.0000"
            largest = float(run.trace.masked[0, 1, 2].max())
            right = (run.trace.masked[0, 1, 2].double() - largest).exp()
            assert all(expected.prints(t, v) for t, v in zip(exponential, [*right.tolist(), right.sum()], strict=True))
        else:
            products = [float(text.replace("−", "-")) for text in written.rows[-1][1:-1]]
            assert expected.prints(written.rows[-1][-1], cell), (name, written)
            assert sum(products) == pytest.approx(cell, abs=6e-5 * len(products))
        printed = reader.digits("scores", "weights")[view.s, view.u]
        if step == "weights":
            assert printed in dock.sentence()


def test_a_click_on_what_is_given_changes_nothing(open_app: OpenApp) -> None:
    reader = open_app(LINK)
    before = reader.link(), Dock(reader).sentence()
    for name in GIVEN:
        reader.click("projections", name, 1, 1)
    assert (reader.link(), Dock(reader).sentence()) == before


def test_a_masked_cell_says_that_it_may_not_be_seen(open_app: OpenApp) -> None:
    reader = open_app(LINK)
    reader.click("scores", "masked", 0, 3)
    dock = Dock(reader)
    assert "“the” may not see “on”" in dock.sentence() and "−∞" in dock.sentence()
    assert dock.written().value == r"-\infty"


def test_the_keyboard_alone_reaches_the_cell_that_a_click_reaches(open_app: OpenApp) -> None:
    by_mouse, by_keys = open_app(LINK), open_app(LINK)
    by_mouse.click("scores", "scores", 3, 1)
    dock = Dock(by_keys)
    dock.open_chooser_by_keyboard()
    dock.choose_matrix_by_keyboard("S")
    dock.type_number("at-s", 4)
    dock.type_number("at-u", 2)
    assert by_keys.state() == by_mouse.state()
    assert dock.sentence() == Dock(by_mouse).sentence() and "“on”" in dock.sentence() and "“cat”" in dock.sentence()
    labels = by_keys.page.locator(".st-key-at-s label, .st-key-at-u label").all_inner_texts()
    assert ["on" in labels[0], "cat" in labels[1]] == [True, True]
    by_keys.page.keyboard.press("Escape")
    by_keys.rest()
    dock.tab_to('[aria-label="Write it out"]')
    by_keys.page.keyboard.press("Space")
    by_keys.rest()
    assert dock.written() == Dock(by_mouse).written()
    outlined = by_keys.outlines("scores")
    assert expected.same_boxes(outlined, [by_keys.cell("scores", "scores", 3, 1)])


def test_the_copied_program_prints_the_cell_when_run_alone(open_app: OpenApp) -> None:
    reader = open_app("/?text=我+喜欢+</s>+🙂&tokenizer=spaces")
    reader.click("output", "output", 2, 1)
    dock = Dock(reader)
    text = dock.copy_program()
    ran = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=300, check=True)
    cell = expected.tensor(reader.state()[0].run(), "output")[2, 1].item()
    assert ran.stdout.strip() == dock.written().value and expected.prints(ran.stdout.strip(), cell)


def test_a_cell_is_clicked_where_it_is_seen_on_a_phone(open_app: OpenApp) -> None:
    reader = open_app(LINK, viewport=(360, 740))
    reader.click("scores", "weights", 3, 2)
    view = reader.state()[1]
    assert (view.step, view.s, view.u) == ("weights", 3, 2)
    assert _in_sight(reader.page, '[data-testid="stBottom"] [data-testid="stMarkdown"]')


def _in_sight(page: Page, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    assert box is not None and page.viewport_size is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]


_PAIRS = ("scores", "scaled", "masked", "weights")
