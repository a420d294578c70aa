"""What is in the way: a table's buttons over others, names broken into letters, a page that moves sideways."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock

LINES = """cells => cells.map(cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].filter(r => r.width).map(r => Math.round(r.bottom / 8))).size;
})"""


def test_the_buttons_of_the_table_in_the_dock_lie_over_no_other(open_app: OpenApp) -> None:
    reader = open_app("/?text=" + "+".join(f"w{i}" for i in range(34)))
    dock = Dock(reader)
    dock.root.get_by_text("Write it out").click()
    reader.rest()
    dock.root.get_by_test_id("stDataFrame").hover()
    buttons = dock.root.get_by_test_id("stElementToolbarButton").first
    expect(buttons).to_be_visible()
    above, below = reader.keyed("choose").get_by_role("button").first.bounding_box(), buttons.bounding_box()
    assert above and below and above["y"] + above["height"] <= below["y"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_on_a_phone_the_names_of_the_terms_stand_in_one_line_and_stay_in_sight(open_app: OpenApp, lang: str) -> None:
    reader = open_app(f"/?lang={lang}&step=weights", viewport=(390, 844))
    dock = Dock(reader)
    dock.root.locator(".st-key-written_out label").click()
    reader.rest()
    names = dock.root.locator(".attnviz-table tr > :first-child")
    assert names.count() == 4 and names.evaluate_all(LINES) == [1, 1, 1, 1]
    left = [box["x"] for box in (name.bounding_box() for name in names.all()) if box]
    dock.root.locator(".attnviz-table tr > :last-child").last.scroll_into_view_if_needed()
    assert [box["x"] for box in (name.bounding_box() for name in names.all()) if box] == left


@pytest.mark.parametrize("section", ["softmax", "masks"])
def test_on_a_phone_a_lab_does_not_move_sideways(open_app: OpenApp, section: str) -> None:
    reader = open_app(f"/scores?section={section}", viewport=(390, 844))
    assert reader.page.get_by_test_id("stMain").evaluate("main => main.scrollWidth") <= 390
