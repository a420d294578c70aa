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

# What a screen reader and the Tab key would go through in another order than the eye, or without a name: [kind, where].
ORDER = """() => {
    const found = [], main = document.querySelector('[data-testid="stMain"]');
    const dock = document.querySelector('[data-testid="stBottom"]');
    const all = (what, where = document) => [...where.querySelectorAll(what)];
    const seen = each => each.checkVisibility({visibilityProperty: true}) && each.getBoundingClientRect().width > 0;
    const at = each => each.outerHTML.slice(0, 160);
    const level = each => Number(each.ariaLevel || each.tagName[1]);
    const heads = all('h1, h2, h3, h4, h5, h6, [role="heading"]').filter(seen);
    if (heads.filter(each => level(each) === 1).length !== 1) found.push(['h1', heads.map(at).join()]);
    heads.forEach((each, i) => {
        if (level(each) > (i ? level(heads[i - 1]) : 0) + 1) found.push(['level', at(each)]);
    });
    for (const each of all('[tabindex]')) if (each.tabIndex > 0) found.push(['tabindex', at(each)]);
    const stops = all('a[href], button, input, select, textarea, summary, [tabindex]', main)
        .filter(each => each.tabIndex >= 0 && !each.disabled && seen(each) && !dock?.contains(each));
    stops.slice(1).forEach((next, i) => {
        const [a, b] = [stops[i], next].map(each => each.getBoundingClientRect());
        // The next of columns that stand side by side begins again at their top.
        const beside = b.left >= a.right && all('[data-testid="stHorizontalBlock"]')
            .some(each => each.contains(stops[i]) && each.contains(next));
        if (b.bottom < a.top && !beside) found.push(['focus', at(stops[i]) + ' -> ' + at(next)]);
    });
    for (const chart of all('.js-plotly-plot', main)) {
        if (!chart.closest('[role="figure"], [role="img"]')?.ariaLabel) found.push(['chart', at(chart)]);
        if (dock && !(chart.compareDocumentPosition(dock) & Node.DOCUMENT_POSITION_FOLLOWING)) found.push(['dock', '']);
    }
    return found;
}"""
LANGUAGE = "() => document.documentElement.lang"


def violations(page: Page) -> list[Any]:
    """What axe-core finds that is serious or critical."""
    page.evaluate(AXE)
    found: list[Any] = page.evaluate(RUN)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path or "explore")
def test_axe_finds_nothing_serious_and_the_order_is_that_of_the_eye(open_app: OpenApp, path: str) -> None:
    reader = open_app(f"/{path}?mask=causal&n_heads=2&example=scale")
    assert violations(reader.page) == []
    assert reader.page.evaluate(ORDER) == [] and reader.page.evaluate(LANGUAGE) == "en"
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


def test_an_order_that_makes_no_sense_is_found(new_page: NewPage) -> None:
    page = new_page(None)
    row = '<div data-testid=stHorizontalBlock style="display:flex">{}</div>'
    columns = row.format("<div><br><br><button>a</button></div><div><button>b</button></div>")
    good = f"<h1>x</h1><h2>y</h2>{columns}<div role=figure aria-label=z><div class=js-plotly-plot></div></div>"
    bad = {
        "h1": f"{good}<h1>x</h1>",
        "level": f"{good}<h4>x</h4>",
        "tabindex": f"{good}<a href=# tabindex=2>x</a>",
        "focus": f"{good}<button style='position:absolute;top:0;left:90%'>x</button>",
        "chart": f"{good}<div class=js-plotly-plot></div>",
        "dock": f"<div data-testid=stBottom></div>{good}",
    }
    for kind, body in [("", good), ("level", f"<h2>x</h2>{good}"), *bad.items()]:
        page.set_content(f"<main data-testid=stMain>{body}</main>")
        assert [found for found, _where in page.evaluate(ORDER)] == ([kind] if kind else [])


def test_in_chinese_the_page_says_so_until_the_language_is_switched(open_app: OpenApp) -> None:
    reader = open_app("/tensors?example=scale&lang=zh")
    assert reader.page.evaluate(ORDER) == [] and reader.page.evaluate(LANGUAGE) == "zh-CN"
    (title,) = reader.page.locator("h2:has(strong)").all()  # a part's, as large as the words around it
    assert title.evaluate("each => getComputedStyle(each).fontSize") == "16px"
    reader.choose("language", "English")
    assert reader.page.evaluate(LANGUAGE) == "en"


def test_without_a_mouse_a_picture_is_saved_and_the_board_taken_home(open_app: OpenApp) -> None:
    page = open_app("/").page
    page.locator(".attnviz-pictures > button").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "attnviz-explore-projections.png"
    page.keyboard.press("Escape")
    assert page.locator(".attnviz-menu").is_hidden()
    page.locator(".st-key-home summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Notebook").focus()
    with page.expect_download() as taken:
        page.keyboard.press("Enter")
    assert taken.value.suggested_filename == "attnviz.ipynb"
