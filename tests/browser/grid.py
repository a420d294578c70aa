"""The data editor and the tables: Streamlit draws them on a canvas, with the numbers beside it for screen readers."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page

HEADER, ROW, COLUMN = 35, 35, 76  # CSS pixels; the editor sets the width of its columns
SETTLE = 150  # ms in which the grid takes notice of a scroll, a click and a key


class Grid:
    """One grid of numbers on a page."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.canvas = root.locator('canvas[data-testid="data-grid-canvas"]')

    @property
    def page(self) -> Page:
        return self.root.page

    def head(self) -> list[str]:
        return self.canvas.locator('[role="columnheader"]').all_text_contents()

    def rows(self) -> list[list[str]]:
        """The cells that are in sight, each row's name first."""
        self.root.evaluate("grid => grid.scrollIntoView({ block: 'center' })")
        rows = self.canvas.locator('[role="row"]')
        self.canvas.locator('[role="gridcell"]').first.wait_for(state="attached")  # it is painted in time
        cells = rows.evaluate_all(
            "all => all.map(r => [...r.querySelectorAll('[role=gridcell]')].map(c => c.textContent))"
        )
        return [row for row in cells if row]

    def select(self, row: int, col: int) -> None:
        """Click a cell, both counted from 0 after the row's name."""
        columns = len(self.head()) - 1
        self._click(lambda width: width - (columns - col - 0.5) * COLUMN, row)

    def select_name(self, row: int) -> None:
        """Click the name of a row."""
        self._click(lambda _width: 10, row)

    def _click(self, x: Callable[[float], float], row: int) -> None:
        self.root.evaluate("grid => grid.scrollIntoView({ block: 'center' })")
        self.page.wait_for_timeout(SETTLE)
        box = self.canvas.bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + x(box["width"]), box["y"] + HEADER + (row + 0.5) * ROW)
        self.page.wait_for_timeout(SETTLE)

    def put(self, row: int, col: int, text: str) -> None:
        """Click a cell, type over it and press Enter."""
        box = self.page.locator("input.gdg-input, textarea.gdg-input")
        for _ in range(4):  # while the page still moves, a click may miss
            self.select(row, col)
            self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(SETTLE)
            if box.is_visible():
                break
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)
        self.page.wait_for_timeout(SETTLE)
        self.page.keyboard.press("Enter")
        box.wait_for(state="detached")

    def clear(self, row: int, col: int) -> None:
        """Click a cell and empty it."""
        self.select(row, col)
        self.page.keyboard.press("Delete")
