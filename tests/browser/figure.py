"""The figures of the board as they are drawn: numbers, cells, outlines, prints and labels.

Where a cell stands is measured on the picture that is drawn, not asked of the app.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from playwright.sync_api import Locator, Page

from tests.browser.harness import wait_idle

QUIET = 200  # ms; the live text box sends after 120
BLOCKS = ("projections", "scores", "output")
PANELS = {
    "projections": ("x", "w_q", "w_k", "w_v", "query", "key", "value"),
    "scores": ("query", "key_t", "scores", "masked", "weights", "row_sums"),
    "output": ("weights", "value", "output"),
}
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
    """A text of a figure: what it says, how high its letters are, their colour and where they stand, in CSS pixels."""

    text: str
    size: float  # px, as computed
    colour: str
    x: float  # of its middle
    y: float
    width: float


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
    return [t.textContent, parseFloat(style.fontSize), style.fill, box.x + box.width / 2, box.y + box.height / 2,
        box.width];
})"""
_TICKS = """(gd, [name, letter]) => {
    const trace = gd._fullData.find(t => t.type === "heatmap" && t.name === name), axis = trace[letter + "axis"];
    return [...gd.querySelectorAll(`.${axis}tick text`)].map(t => t.textContent);
}"""
# Whether Plotly has seen the pointer over a cell of a panel, and has told all who listen.
_HOVERED = """([block, name, row, column]) => {
    const gd = document.querySelector(`.st-key-block-${block} .js-plotly-plot`);
    const panel = gd._fullData.find(t => t.type === "heatmap" && t.name === name);
    return (gd._hoverdata ?? []).some(p => p.fullData.xaxis === panel.xaxis && p.fullData.yaxis === panel.yaxis
        && p.pointNumber[0] === row && p.pointNumber[1] === column);
}"""
_SCROLL = """(gd, [x, y]) => {
    document.querySelector('[data-testid="stMain"]').scrollBy(0, y - innerHeight * 0.3);
    gd.closest('[class*="st-key-block-"]').scrollBy(x - innerWidth * 0.5, 0);
}"""


class Board:
    """The charts of a page, and a pointer over them."""

    page: Page

    def rest(self) -> Self:
        """Wait until the app has answered all that was done."""
        wait_idle(self.page, quiet=QUIET)
        return self

    def block(self, block: str) -> Locator:
        return self.page.locator(f".st-key-block-{block}")

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

    def hover(self, block: str, name: str, row: int, col: int) -> Self:
        self.page.mouse.move(*self.point(block, name, row, col))
        self.page.wait_for_function(_HOVERED, arg=[block, name, row, col])
        return self

    def click(self, block: str, name: str, row: int, col: int) -> Self:
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
