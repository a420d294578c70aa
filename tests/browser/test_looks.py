"""How it looks: every page, in both languages and themes, on a wide screen and on a phone."""

from typing import Any

import pytest
from playwright.sync_api import expect

from attnviz.experiment import Experiment
from attnviz.figures.titles import plain_symbol
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock
from tests.browser.figure import BLOCKS, PANELS
from tests.browser.grid import Grid
from tests.browser.look import brightness, faint, sideways
from tests.browser.reader import PAGES, Reader

TITLES = {
    "en": ("Explore", "Projections", "Scores to weights", "Weights to output"),
    "zh": ("探索", "投影", "从分数到权重", "从权重到输出"),
}
ON_PAGE = {"explore": BLOCKS, "projections": BLOCKS[:1], "scores": BLOCKS[1:2], "output": BLOCKS[2:]}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_is_legible_and_still_on_a_wide_screen_and_on_a_phone(
    open_app: OpenApp, lang: str, theme: Any
) -> None:
    reader = open_app(f"/?lang={lang}&mask=causal&n_heads=2", color_scheme=theme)
    for (page, path), title in zip(PAGES.items(), TITLES[lang], strict=True):
        for width in (1440, 360):
            where = (page, lang, theme, width)
            reader.page.set_viewport_size({"width": width, "height": 1000})
            if width == 1440 and page != "explore":
                reader.open(f"{path}?lang={lang}&mask=causal&n_heads=2")
            reader.rest()
            expect(reader.page.get_by_role("heading", name=title, exact=True, level=1)).to_be_visible()
            assert sideways(reader) == [], where
            for block in ON_PAGE[page]:
                small = [p for p in reader.printed(block, "text") if p.size < 10 and p.text.strip()]
                assert reader.printed(block) and not small, (where, small)
                alt = reader.block(block).get_by_role("figure").get_attribute("aria-label") or ""
                named = [name for name in PANELS[block] if f"{plain_symbol(name)}" in alt]
                assert named == list(PANELS[block]), (where, alt)
            if width == 1440:
                assert [text for block in ON_PAGE[page] for text in faint(reader, block)] == [], where
    assert (brightness(reader) < 100) == (theme == "dark")


def test_on_a_phone_the_blocks_stand_below_one_another(open_app: OpenApp) -> None:
    reader = open_app(viewport=(360, 740))
    boxes = [reader.block(block).bounding_box() for block in BLOCKS]
    tops = [(box["y"], box["y"] + box["height"], box["x"], box["width"]) for box in boxes if box]
    assert len(tops) == 3 and tops[0][1] <= tops[1][0] and tops[1][1] <= tops[2][0]
    assert all(x >= 0 and x + width <= 360 for _, _, x, width in tops)
    scrolls = reader.block("scores").evaluate("box => box.scrollWidth > box.clientWidth")
    assert scrolls  # the wide matrix inside its own box


def test_the_theme_switched_in_the_menu_reaches_the_figures(open_app: OpenApp) -> None:
    reader = open_app("/?mask=causal", fresh=True)
    for theme in ("Dark", "Light"):
        reader.page.locator('[data-testid="stMainMenu"] button').click()
        reader.page.get_by_test_id(f"stMainMenuItem-theme-{theme}").click()
        reader.page.keyboard.press("Escape")
        reader.rest()
        assert (brightness(reader) < 100) == (theme == "Dark")
        assert [text for block in BLOCKS for text in faint(reader, block)] == [], theme
    expected.shows(reader, Experiment("the cat sat on the mat", mask="causal"))


def test_the_language_is_switched_on_screen_and_the_browsers_is_the_default(open_app: OpenApp) -> None:
    reader = open_app(locale="zh-CN")
    expect(reader.page.get_by_role("heading", name="探索", level=1)).to_be_visible()
    assert "lang=" not in reader.link() and "序列" in Dock(reader).sentence()
    reader.choose("mask", "因果").choose("language", "English")
    expect(reader.page.get_by_role("heading", name="Explore", level=1)).to_be_visible()
    assert reader.link().endswith("/?mask=causal&lang=en") and reader.chosen("mask") == "causal"
    assert "In sequence 1" in Dock(reader).sentence()
    reader.go("Projections").choose("language", "中文")
    expect(reader.page.get_by_role("heading", name="投影", level=1)).to_be_visible()
    assert reader.state()[0].mask == "causal" and reader.chosen("mask") == "因果"
    names = [words for words in reader.page.get_by_role("link").all_inner_texts() if words != "Skip to main content"]
    assert names == list(TITLES["zh"])  # what is left in English is Streamlit's own


def test_every_panel_has_a_table_of_the_same_numbers(open_app: OpenApp) -> None:
    reader = open_app("/?text=the+cat+the+cat&d_model=5&d_k=3&mask=causal&n_heads=2&h=1").unfold("tables")
    run = reader.state()[0].run()
    names = list(dict.fromkeys(name for block in BLOCKS for name in PANELS[block] if name != "key_t"))
    for name in names:
        _open_table(reader, plain_symbol(name))
        grid = Grid(reader.keyed("tables").locator('[data-testid="stDataFrame"]:visible'))
        right = expected.tensor(run, name, h=1)
        rows = grid.rows()
        assert len(rows) == len(right), name
        for row, values in zip(rows, right.tolist(), strict=True):
            shown = [float(cell.replace("-∞", "-inf").replace("−", "-")) if cell else float("-inf") for cell in row[1:]]
            assert shown == values, (name, row, values)
        if name in ("weights", "scores"):
            assert [row[0] for row in rows] == ["1 the", "2 cat", "3 the", "4 cat"]
            assert grid.head()[1:] == ["1 the", "2 cat", "3 the", "4 cat"]


def _open_table(reader: Reader, symbol: str) -> None:
    reader.keyed("tables").get_by_role("tab", name=symbol, exact=True).click()
    reader.rest()
