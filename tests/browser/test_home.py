"""Taken home: the page works offline and opens cells, the pictures have what the chart has."""

import re
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

from playwright.sync_api import Browser, Page, expect

from attnviz.experiment import Experiment
from tests.browser.conftest import OpenApp
from tests.hostile import HOSTILE, SCRIPTS

TEXT = f"我 喜欢 {SCRIPTS[1]} the the"


def take(page: Page, words: str, folder: Path) -> Path:
    """Press a button that saves a file, and return where it is."""
    with page.expect_download() as saved:
        page.get_by_role("button", name=words, exact=True).first.click()
    path = folder / saved.value.suggested_filename
    saved.value.save_as(path)
    return path


def test_the_page_hovers_and_opens_cells_without_any_server(
    open_app: OpenApp, browser: Browser, tmp_path: Path
) -> None:
    query = urlencode({"text": TEXT, "tokenizer": "spaces", "mask": "causal", "lang": "zh"})
    reader = open_app(f"/?{query}")
    reader.page.locator(".st-key-home summary").click()
    path = take(reader.page, "可离线使用的网页（HTML）", tmp_path)

    page = browser.new_page(viewport={"width": 1400, "height": 900})
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    weights = Experiment(TEXT, tokenizer="spaces", mask="causal").run().trace.weights[0, 0]  # type: ignore[union-attr]

    page.get_by_role("spinbutton", name="行").fill("4")
    page.get_by_role("spinbutton", name="列").fill("2")
    page.keyboard.press("Enter")
    expect(page.locator(".equals")).to_have_text(f"a₁,₄,₂ = {float(weights[3, 1]):.4f}")

    # The middle of the cell of query 5 and key 1 in the panel of the weights, from Plotly's own axes.
    where = page.evaluate("""() => {
        const gd = document.querySelectorAll('.js-plotly-plot')[1];
        const trace = gd._fullData.find(each => each.name === 'weights'), box = gd.getBoundingClientRect();
        const X = gd._fullLayout['xaxis' + trace.xaxis.slice(1)], Y = gd._fullLayout['yaxis' + trace.yaxis.slice(1)];
        gd.scrollIntoView({block: 'start'});
        const now = gd.getBoundingClientRect();
        return [now.left + X._offset + X.d2p(0), now.top + Y._offset + Y.d2p(4)];
    }""")
    page.mouse.move(*where)
    expect(page.locator(".attnviz-tip")).to_contain_text(f"{float(weights[4, 0]):.6g}"[:7])
    page.mouse.click(*where)
    expect(page.locator(".equals")).to_have_text(f"a₁,₅,₁ = {float(weights[4, 0]):.4f}")
    assert page.evaluate("() => window.__pwned ?? null") is None
    assert page.locator("a").get_attribute("href") == reader.link() or reader.link() in page.content()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert problems == []
    page.close()


def test_a_picture_has_the_labels_the_title_and_the_link(open_app: OpenApp, tmp_path: Path) -> None:
    reader = open_app("/?text=the+%E7%8C%AB+the&lang=zh")
    page = reader.page
    page.locator(".attnviz-pictures > button").click()
    svg = ElementTree.parse(take(page, "SVG 2", tmp_path)).getroot()
    words = [text for node in svg.iter("{http://www.w3.org/2000/svg}text") if (text := "".join(node.itertext()))]
    assert "猫" in words and words.count("the") >= 4  # repeated, and not merged
    assert words[-2] == "attnviz · 探索"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?text=the.*  ·  attnviz [\d.]+", words[-1])
    png = take(page, "PNG 2", tmp_path).read_bytes()
    size = [int.from_bytes(png[at : at + 4]) for at in (16, 20)]
    assert png.startswith(b"\x89PNG") and size == [round(2 * float(svg.get(side, 0))) for side in ("width", "height")]


# What a page from a file has of its own: two scripts, the link of the view, and nothing that loads or runs more.
FOREIGN = """() => ({
    scripts: document.querySelectorAll('script').length,
    loads: [...document.querySelectorAll('iframe, object, embed, img, link, [src], [action]')].map(e => e.outerHTML),
    handlers: [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on')),
    links: [...document.querySelectorAll('[href]')].map(each => each.getAttribute('href')),
    pwned: window.__pwned ?? null,
})"""
FILES = {
    "Page that works offline (HTML)": "attnviz.html",
    "Program in Python (torch alone)": "attnviz.py",
    "Notebook": "attnviz.ipynb",
    "All tensors (safetensors)": "attnviz.safetensors",
    "Table (CSV)": "attnviz.output.csv",
}


def test_a_hostile_text_names_no_file_and_its_page_runs_and_asks_nothing(
    open_app: OpenApp, browser: Browser, tmp_path: Path
) -> None:
    reader = open_app(f"/?{urlencode({'text': ' '.join(HOSTILE), 'tokenizer': 'spaces'})}").unfold("home")
    assert [take(reader.page, words, tmp_path).name for words in FILES] == list(FILES.values())
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "attnviz.html").as_uri())
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    for drag in page.locator(".nsewdrag").all()[:4]:
        drag.hover(force=True)
    page.get_by_role("spinbutton", name="Row").fill("3")
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_contain_text("<img/src='x'")
    found = page.evaluate(FOREIGN)
    own = {"scripts": 2, "loads": [], "handlers": [], "links": [reader.link()], "pwned": None}
    assert found == own and asked == [(tmp_path / "attnviz.html").as_uri()]
    page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", SCRIPTS[2])
    assert page.evaluate(FOREIGN) != own  # what stands open is found
    page.close()


def test_a_cell_that_is_chosen_while_files_are_offered_is_in_their_link(open_app: OpenApp, tmp_path: Path) -> None:
    reader = open_app("/").unfold("home")
    reader.click("scores", "weights", 4, 2)
    view = reader.state()[1]
    assert (view.step, view.s, view.u) == ("weights", 4, 2)
    taken = take(reader.page, "Program in Python (torch alone)", tmp_path).read_text(encoding="utf-8")
    assert f"# {reader.link()}" in taken.splitlines()
