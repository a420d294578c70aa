"""For everyone: no page shuts out who sees little, hears the page, uses no mouse, magnifies it or bears no motion."""

import re
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPage, OpenApp

APP = (Path(__file__).parents[2] / "app.py").read_text(encoding="utf-8")
PAGES = ("", *re.findall(r'url_path="([a-z]+)"', APP))
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# What is wrong, where, and how axe explains it.
RUN = """() => axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
    .filter(each => ['serious', 'critical'].includes(each.impact))
    .flatMap(each => each.nodes.map(node => [each.id, node.html.slice(0, 200), node.failureSummary])))"""
SIDEWAYS = "() => document.documentElement.scrollWidth > innerWidth + 1"
MOTION = """() => [...document.querySelectorAll('*')].filter(each => {
    const style = getComputedStyle(each);
    return parseFloat(style.animationDuration) > 0.01 || parseFloat(style.transitionDuration) > 0.01;
}).length"""


def violations(page: Page) -> list[Any]:
    """What axe-core finds that is serious or critical."""
    page.evaluate(AXE)
    found: list[Any] = page.evaluate(RUN)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path or "explore")
def test_axe_finds_nothing_serious_in_either_theme(open_app: OpenApp, path: str) -> None:
    reader = open_app(f"/{path}?mask=causal&n_heads=2")
    assert violations(reader.page) == []
    # A chart says what it shows to those who only hear it; its table is one of the page's own tests.
    for figure in reader.page.get_by_role("figure").all():
        assert figure.get_attribute("aria-label")
    reader.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    reader.page.wait_for_function("() => getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    reader.rest()
    assert violations(reader.page) == []
    assert reader.page.evaluate(MOTION) == 0
    reader.page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    # Magnified twice, a window of 1,280 pixels has room for 640.
    reader.page.set_viewport_size({"width": 640, "height": 450})
    reader.rest()
    assert not reader.page.evaluate(SIDEWAYS)


def test_axe_is_heard(new_page: NewPage) -> None:
    page = new_page(None)
    page.set_content("<html lang=en><title>x</title><main><img src='data:,'><button></button></main></html>")
    assert {name for name, *_ in violations(page)} >= {"image-alt", "button-name"}


def test_without_a_mouse_a_picture_is_saved_and_the_board_taken_home(open_app: OpenApp) -> None:
    page = open_app("/").page
    page.locator(".attnviz-pictures > button").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "attnviz-1.png"
    page.keyboard.press("Escape")
    assert page.locator(".attnviz-menu").is_hidden()
    page.locator(".st-key-home summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Notebook").focus()
    with page.expect_download() as taken:
        page.keyboard.press("Enter")
    assert taken.value.suggested_filename == "attnviz.ipynb"
