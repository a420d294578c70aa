"""Taken home: the page works offline and opens cells, the pictures have what the chart has."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def offline(browser: Browser, path: Path) -> Iterator[Page]:
    """Open a page from a file; it then has asked for nothing else, run nothing that was typed, and failed nowhere."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    yield page
    assert page.evaluate("() => window.__pwned ?? null") is None
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == [] and problems == []
    page.close()


# The middle of a drawn cell of a chart's panel, from Plotly's own axes.
MIDDLE = """([chart, name, i, j]) => {
    const gd = document.querySelectorAll('.js-plotly-plot')[chart];
    const trace = gd._fullData.find(each => each.name === name);
    const X = gd._fullLayout['xaxis' + trace.xaxis.slice(1)], Y = gd._fullLayout['yaxis' + trace.yaxis.slice(1)];
    gd.scrollIntoView({block: 'start'});
    const now = gd.getBoundingClientRect();
    return [now.left + X._offset + X.d2p(j), now.top + Y._offset + Y.d2p(i)];
}"""


def test_the_page_hovers_and_opens_cells_without_any_server(
    open_app: OpenApp, browser: Browser, tmp_path: Path
) -> None:
    query = urlencode({"text": TEXT, "tokenizer": "spaces", "mask": "causal", "lang": "zh"})
    reader = open_app(f"/?{query}")
    reader.page.locator(".st-key-home summary").click()
    path = take(reader.page, "可离线使用的网页（HTML）", tmp_path)

    with offline(browser, path) as page:
        expect(page.locator(".js-plotly-plot")).to_have_count(3)
        weights = Experiment(TEXT, tokenizer="spaces", mask="causal").run().trace.weights[0, 0]  # type: ignore[union-attr]

        page.get_by_role("spinbutton", name="行").fill("4")
        page.get_by_role("spinbutton", name="列").fill("2")
        page.keyboard.press("Enter")
        expect(page.locator(".equals")).to_have_text(f"a₁,₄,₂ = {float(weights[3, 1]):.4f}")

        where = page.evaluate(MIDDLE, [1, "weights", 4, 0])
        page.mouse.move(*where)
        expect(page.locator(".attnviz-tip")).to_contain_text(f"{float(weights[4, 0]):.6g}"[:7])
        page.mouse.click(*where)
        expect(page.locator(".equals")).to_have_text(f"a₁,₅,₁ = {float(weights[4, 0]):.4f}")
        assert page.locator("a").get_attribute("href") == reader.link() or reader.link() in page.content()


def test_the_page_of_a_long_text_opens_a_cell_with_its_largest_terms_and_the_rest(
    open_app: OpenApp, browser: Browser, tmp_path: Path
) -> None:
    text = " ".join(f"w{i * i % 997}" for i in range(600))
    window = {"from_s": 400, "from_u": 380, "s": 410, "u": 390}
    reader = open_app(f"/scores?{urlencode({'text': text, 'mask': 'causal', **window})}").unfold("home")
    path = take(reader.page, "Page that works offline (HTML)", tmp_path)
    trace = Experiment(text, mask="causal").run().trace
    assert trace is not None
    row = trace.masked[0, 0, 402].double()
    shares, s, u = row.softmax(0), 402, 383

    with offline(browser, path) as page:
        expect(page.locator(".part")).to_contain_text("query tokens 401 to 424 and key tokens 381 to 404 of 600")
        where = page.evaluate(MIDDLE, [0, "weights", s - 400, u - 380])
        page.mouse.move(*where)
        tip = page.locator(".attnviz-tip")
        expect(tip).to_contain_text(f"s={s + 1} “w{s * s % 997}”   u={u + 1} “w{u * u % 997}”")
        assert math.isclose(float(tip.inner_text().split()[1]), float(shares[u]), rel_tol=1e-5)
        page.mouse.click(*where)
        expect(page.locator(".equals")).to_contain_text("a₁,₄₀₃,₃₈₄ = ")
        heads, _masked, exponentials, _shares = (
            line.split("\t") for line in page.locator("table").inner_text().split("\n")
        )
        largest = {*map(int, row.topk(8).indices), u}
        assert [int(head.split()[0]) - 1 for head in heads[1:-2]] == sorted(largest)
        assert heads[-2:] == [f"the other {600 - len(largest)}", "sum"]
        *listed, rest, whole = map(float, exponentials[1:])
        exact = (row - row.max()).exp()
        others = exact.sum() - exact[list(largest)].sum()
        for said, value in ((whole, exact.sum()), (rest, others), (listed[sorted(largest).index(u)], exact[u])):
            assert math.isclose(said, float(value), rel_tol=1e-3)


def test_a_picture_has_the_labels_the_title_and_the_link(open_app: OpenApp, tmp_path: Path) -> None:
    reader = open_app("/?text=the+%E7%8C%AB+the&lang=zh")
    page = reader.page
    page.locator(".attnviz-pictures > button").click()
    saved = take(page, "SVG 2", tmp_path)
    assert saved.name == "attnviz-explore-scores.svg"
    svg = ElementTree.parse(saved).getroot()
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
    reader.page.locator(".attnviz-pictures > button").click()
    pictures = [f"{i}  attnviz-explore-{block}" for i, block in enumerate(("projections", "scores", "output"), 1)]
    expect(reader.page.locator(".attnviz-picture b")).to_have_text(pictures)
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
