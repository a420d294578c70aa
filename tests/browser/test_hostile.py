"""Nobody gets in by what they type or link to, and nobody sees what another reader typed."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import NewPage, OpenApp
from tests.browser.harness import Server
from tests.hostile import HOSTILE, LINKS, MARKUP, SCRIPTS

APP = (Path(__file__).parents[2] / "app.py").read_text(encoding="utf-8")
PAGES = ("", *re.findall(r'url_path="([a-z]+)"', APP))
# What a page of attnviz never has: each is a door for what a token brings.
DOORS = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    const links = [...main.querySelectorAll('[href]')].map(each => each.getAttribute('href'));
    return {
        pwned: window.__pwned ?? null,
        elements: [...main.querySelectorAll('script, iframe, object, embed, img, link, form[action]')]
            .map(each => each.outerHTML.slice(0, 200)),
        styles: [...document.querySelectorAll('style')].filter(each => each.textContent.includes('evil')).length,
        handlers: [...main.querySelectorAll('*')].flatMap(each => [...each.attributes])
            .filter(each => each.name.startsWith('on')).map(each => each.name + '=' + each.value),
        links: links.filter(each => /^\\s*(javascript|data|vbscript):|evil/i.test(each)),
    };
}"""
SHUT: dict[str, Any] = {"pwned": None, "elements": [], "styles": 0, "handlers": [], "links": []}


def query(text: str) -> str:
    """A link that carries a hostile text, and a payload in every other text that a lab takes."""
    payload = SCRIPTS[2] + MARKUP[6] + LINKS[3]
    others = ("context", "sequence", "pair", "labels", "learn", "equation", "sizes", "at", "lit", "order", "silenced")
    return urlencode({"text": text, "tokenizer": "spaces", "mask": payload, **dict.fromkeys(others, payload)})


def point_at_charts(page: Page) -> None:
    """Put the pointer on charts, so that they say what is there."""
    for drag in page.locator(".js-plotly-plot .nsewdrag").all()[:3]:
        drag.hover(force=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "explore")
def test_nothing_that_is_typed_is_run_or_loaded(open_app: OpenApp, page: str) -> None:
    # The fixture fails on a console error, such as a breach of the page's policy, and on a foreign request.
    reader = open_app(f"/{page}?{query(' '.join(HOSTILE))}")
    if not page:
        reader.unfold("tables")
    point_at_charts(reader.page)
    assert reader.page.evaluate(DOORS) == SHUT


def test_every_page_is_asked_about() -> None:
    assert len(PAGES) == APP.count("st.Page(") and "trained" in PAGES


def test_doors_that_stand_open_are_found(new_page: NewPage) -> None:
    page = new_page(None)
    page.set_content("<div data-testid=stMain></div>")
    for payload in (SCRIPTS[2], SCRIPTS[5], SCRIPTS[6]):
        page.evaluate("text => { document.querySelector('div').innerHTML += text; }", payload)
    page.wait_for_function("() => window.__pwned === 1")
    found = page.evaluate(DOORS)
    assert found["pwned"] == 1 and found["handlers"] and found["links"] and len(found["elements"]) >= 2


def test_a_page_runs_no_script_but_its_own_and_stands_in_no_foreign_frame(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    answer = page.goto(server.url)
    sent = answer.headers if answer else {}
    assert sent["x-content-type-options"] == "nosniff" and sent["x-frame-options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self';" in sent["content-security-policy"]
    page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.__pwned = 1';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.__pwned=1>');
    }""")
    with page.expect_event("console", lambda message: "Content Security Policy" in message.text):
        page.evaluate("fetch('http://localhost:9/').catch(() => {})")
    assert page.evaluate("window.__pwned") is None
    page.close()


def test_two_readers_see_nothing_of_each_other(open_app: OpenApp) -> None:
    first, second = open_app(fresh=True), open_app()
    first.write("alpha secret words").choose("mask", "causal")
    second.write("beta other words")
    for reader, own, other in ((first, "alpha secret words", "beta"), (second, "beta other words", "alpha")):
        assert reader.state()[0].text == own and reader.line.input_value() == own
        assert other not in reader.page.content()
    assert second.state()[0].mask == "none"
