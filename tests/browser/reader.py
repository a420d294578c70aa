"""A reader of the app: what a person does on its pages and what they then see.

Everything is found by what is stable: the classes that Streamlit makes of widget keys, roles and accessible names,
and Plotly's own drawing. Where a cell stands is measured on the picture that is drawn, not asked of the app.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from playwright.sync_api import Locator, Page, expect

from attnviz.experiment import Experiment, View
from attnviz.links import from_query
from tests.browser.harness import wait_idle

BLOCKS = ("projections", "scores", "output")
PANELS = {
    "projections": ("x", "w_q", "w_k", "w_v", "query", "key", "value"),
    "scores": ("query", "key_t", "scores", "masked", "weights", "row_sums"),
    "output": ("weights", "value", "output"),
}
PAGES = {"explore": "/", "projections": "/projections", "scores": "/scores", "output": "/output"}
ALL_PANELS = [(block, name) for block in BLOCKS for name in PANELS[block]]


class Box(NamedTuple):
    """A rectangle in the window, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float
    colour: str = ""


class Frame(NamedTuple):
    """The cells of a panel as they are drawn, in CSS pixels."""

    rows: int
    columns: int
    x: float
    y: float
    width: float
    height: float

    def cells(self, r0: int, c0: int, r1: int, c1: int) -> Box:
        """The box of the cells from (r0, c0) to (r1, c1), both included."""
        w, h = self.width / self.columns, self.height / self.rows
        return Box(self.x + c0 * w, self.y + r0 * h, (c1 - c0 + 1) * w, (r1 - r0 + 1) * h)


class Printed(NamedTuple):
    """A text of a figure: what it says, how high its letters are, their colour and where they stand."""

    text: str
    size: float  # px, as computed
    colour: str
    x: float
    y: float


_VALUES = """(gd, name) => gd._fullData.find(t => t.type === "heatmap" && t.name === name)
    .z.map(row => Array.from(row))"""
# Where each panel's picture is drawn: {name: [rows, columns, x, y, width, height]}.
_FRAMES = """gd => Object.fromEntries(gd._fullData.filter(t => t.type === "heatmap").reverse().map(t => {
    const picture = gd.querySelector(`.overplot .${t.xaxis}${t.yaxis} .heatmaplayer image`);
    const box = picture.getBoundingClientRect();
    return [t.name, [t.z.length, t.z[0].length, box.x, box.y, box.width, box.height]];
}))"""
_PRINTED = """(root, selector) => [...root.querySelectorAll(selector)].map(t => {
    const style = getComputedStyle(t), box = t.getBoundingClientRect();
    return [t.textContent, parseFloat(style.fontSize), style.fill, box.x + box.width / 2, box.y + box.height / 2];
})"""
_TICKS = """(gd, [name, letter]) => {
    const trace = gd._fullData.find(t => t.type === "heatmap" && t.name === name), axis = trace[letter + "axis"];
    return [...gd.querySelectorAll(`.${axis}tick text`)].map(t => t.textContent);
}"""
_SCROLL = """(gd, [x, y]) => {
    document.querySelector('[data-testid="stMain"]').scrollBy(0, y - innerHeight * 0.3);
    gd.closest('[class*="st-key-block-"]').scrollBy(x - innerWidth * 0.5, 0);
}"""


class Reader:
    """One page of the app and the hands and eyes of the person before it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def rest(self) -> Reader:
        """Wait until the app has answered all that was done."""
        wait_idle(self.page)
        return self

    def open(self, address: str) -> Reader:
        self.page.goto(address)
        return self.rest()

    def link(self) -> str:
        return self.page.url

    def state(self) -> tuple[Experiment, View]:
        """What the address bar says: the experiment and the view."""
        return from_query(self.page.url)

    def keyed(self, key: str) -> Locator:
        """The widget of a key, in whichever language."""
        name = re.sub(r"[^a-zA-Z0-9_-]", "-", key)
        return self.page.locator(f".st-key-{name}, .st-key-{name}-en, .st-key-{name}-zh")

    def button(self, words: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=words, exact=isinstance(words, str))

    def said(self) -> list[str]:
        """The sentences of all notices on the page."""
        return self.page.locator('[data-testid="stAlert"]').all_inner_texts()

    # ---- the controls ----

    @property
    def line(self) -> Locator:
        return self.page.locator(".st-key-text_line input")

    @property
    def area(self) -> Locator:
        return self.page.locator(".st-key-text_area textarea")

    def write(self, text: str) -> Reader:
        """Put a text into the live box, at once, as a paste does."""
        self.line.fill(text)
        return self.rest()

    def choose(self, key: str, words: str) -> Reader:
        """Take one of the options that stand side by side."""
        self.keyed(key).get_by_role("radio", name=words, exact=True).click()
        return self.rest()

    def chosen(self, key: str) -> str:
        return self.keyed(key).get_by_role("radio", checked=True).inner_text()

    def set_number(self, key: str, value: float) -> Reader:
        self.keyed(key).locator("input").fill(str(value))
        self.keyed(key).locator("input").press("Enter")
        return self.rest()

    def number(self, key: str) -> float:
        return float(self.keyed(key).locator("input").input_value())

    def flip(self, key: str) -> Reader:
        """Flip a switch."""
        self.keyed(key).locator("label").first.click()
        return self.rest()

    def settings(self) -> Reader:
        """Open, or close, what waits behind "More settings"."""
        self.button(re.compile("More settings|更多设置")).click()
        return self.rest()

    def take_preset(self, code: str) -> Reader:
        self.button(re.compile("Examples|示例")).click()
        self.keyed(f"preset.{code}").locator("button").click()
        self.rest()
        if self.keyed(f"preset.{code}").locator("button").is_visible():
            self.page.keyboard.press("Escape")
        return self.rest()

    def unfold(self, key: str) -> Reader:
        """Open an expander."""
        self.keyed(key).locator("summary").click()
        return self.rest()

    def go(self, words: str) -> Reader:
        """Go to another page by its name in the navigation."""
        self.page.get_by_role("link", name=words, exact=True).first.click()
        expect(self.page.get_by_role("heading", name=words, exact=True, level=1)).to_be_visible()
        return self.rest()

    # ---- the board ----

    def block(self, block: str) -> Locator:
        return self.keyed(f"block-{block}")

    def chart(self, block: str) -> Locator:
        return self.block(block).locator(".js-plotly-plot")

    def values(self, block: str, name: str) -> list[list[float]]:
        """The numbers of a panel as the chart holds them; what is not finite is NaN."""
        values: list[list[float]] = self.chart(block).evaluate(_VALUES, name)
        return values

    def frames(self, block: str) -> dict[str, Frame]:
        """Where the cells of each panel of a block are drawn in the window."""
        return {name: Frame(*one) for name, one in self.chart(block).evaluate(_FRAMES).items()}

    def cell(self, block: str, name: str, row: int, col: int) -> Box:
        """Where a drawn cell stands in the window."""
        return self.frames(block)[name].cells(row, col, row, col)

    def point(self, block: str, name: str, row: int, col: int) -> tuple[float, float]:
        """The middle of a cell, brought into sight first."""
        for _ in range(2):  # the second measures what the first has scrolled
            box = self.cell(block, name, row, col)
            x, y = box.x + box.width / 2, box.y + box.height / 2
            at = "([x, y]) => !!document.elementFromPoint(x, y)?.closest('.js-plotly-plot')"
            if self.page.evaluate(at, [x, y]):
                return x, y
            self.chart(block).evaluate(_SCROLL, [x, y])
        raise AssertionError(f"cell ({row}, {col}) of {name} lies under something else, at ({x:.0f}, {y:.0f})")

    def hover(self, block: str, name: str, row: int, col: int) -> Reader:
        self.page.mouse.move(*self.point(block, name, row, col))
        self.page.wait_for_timeout(120)  # Plotly looks at most every 50 ms
        return self

    def click(self, block: str, name: str, row: int, col: int) -> Reader:
        self.page.mouse.click(*self.point(block, name, row, col))
        return self.rest()

    def outlines(self, block: str) -> list[Box]:
        """The outlines that the linked hover draws over a block."""
        found = (
            self.block(block)
            .locator(".attnviz-linked rect")
            .evaluate_all(
                "all => all.map(r => { const b = r.getBoundingClientRect();"
                " return [b.x, b.y, b.width, b.height, getComputedStyle(r).stroke]; })"
            )
        )
        return [Box(*one) for one in found]

    def tooltip(self) -> str:
        return self.page.locator(".attnviz-tip:visible").inner_text()

    def printed(self, block: str, selector: str = ".heatmap-label text, .textpoint text") -> list[Printed]:
        """The texts of a block's figure, those in its cells unless another selector is given."""
        return [Printed(*one) for one in self.chart(block).evaluate(_PRINTED, selector)]

    def digits(self, block: str, name: str) -> dict[tuple[int, int], str]:
        """What is printed in the cells of a panel: (row, column) -> text."""
        frame = self.frames(block)[name]
        w, h = frame.width / frame.columns, frame.height / frame.rows
        places = [((p.y - frame.y) // h, (p.x - frame.x) // w, p.text) for p in self.printed(block)]
        return {(int(r), int(c)): t for r, c, t in places if 0 <= r < frame.rows and 0 <= c < frame.columns}

    def ticks(self, block: str, name: str, letter: str) -> list[str]:
        """The labels along one axis, "x" or "y", of a panel."""
        labels: list[str] = self.chart(block).evaluate(_TICKS, [name, letter])
        return labels
