"""The dock at the bottom of the window, where the chosen cell is read aloud, written out and chosen by keyboard."""

from __future__ import annotations

import re
from typing import NamedTuple

from playwright.sync_api import Locator

from tests.browser.reader import Reader

COPY = re.compile("Copy as Python|Python")


class Written(NamedTuple):
    """A cell written out: its formula, its value as printed (in ASCII), and the rows of its table, names first."""

    formula: str
    value: str
    rows: list[list[str]]


class Dock:
    """What stands at the bottom of a page."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.page = reader, reader.page
        self.root = reader.page.locator('[data-testid="stBottom"]')

    def sentence(self) -> str:
        """What the dock says in words, without the equation that stands behind them when it is written out."""
        return " ".join(self._said().partition("\u2003")[0].split())

    def _said(self) -> str:
        return self.root.locator('[data-testid="stMarkdown"]').first.text_content() or ""

    def is_written_out(self) -> bool:
        return self.root.locator('.attnviz-table, [data-testid="stDataFrame"]').count() > 0

    def written(self) -> Written:
        """Read the arithmetic, which must be open."""
        formulas = self.root.locator('annotation[encoding="application/x-tex"]').all_text_contents()
        rows = self.root.locator(".attnviz-table tr").all()
        cells = [[c.strip() for c in row.locator("th, td").all_inner_texts()] for row in rows]
        value = self._said().rpartition("=")[2].strip().replace("−", "-").replace("∞", r"\infty")
        return Written(formulas[0], value, cells)

    def copy_program(self) -> str:
        """Open "Copy as Python", copy the text with its button, and return what is on the clipboard."""
        self.root.get_by_role("button", name=COPY).click()
        code = self.page.locator('[data-testid="stPopoverBody"] [data-testid="stCode"]')
        code.hover()
        code.locator('[aria-label="Copy to clipboard"]').click()
        text: str = self.page.evaluate("() => navigator.clipboard.readText()")
        self.page.keyboard.press("Escape")
        return text

    # ---- the chooser, by keyboard alone ----

    def open_chooser_by_keyboard(self) -> Locator:
        """Walk with Tab to "Choose a cell", open it with Enter and return what it opens."""
        self.page.evaluate("() => document.activeElement?.blur()")
        for _ in range(80):
            self.page.keyboard.press("Shift+Tab")
            if "Choose a cell" in self.page.evaluate("() => document.activeElement.innerText || ''"):
                self.page.keyboard.press("Enter")
                self.reader.rest()
                return self.page.locator('[data-testid="stPopoverBody"]')
        raise AssertionError("Tab never reached the chooser")

    def tab_to(self, selector: str) -> None:
        """Walk with Tab, in either direction, until what `selector` matches has the focus."""
        for key in ["Tab"] * 15 + ["Shift+Tab"] * 30:
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"Tab never reached {selector}")

    def choose_matrix_by_keyboard(self, words: str) -> None:
        """Walk to the matrices, along them with the arrows, and take one with the space bar."""
        self.tab_to('[data-testid="stPopoverBody"] [role="radio"]')
        for _ in range(10):
            if self.page.evaluate("() => document.activeElement.innerText") == words:
                self.page.keyboard.press("Space")
                self.reader.rest()
                return
            self.page.keyboard.press("ArrowRight")
        raise AssertionError(f"the arrows never reached {words}")

    def type_number(self, key: str, value: int) -> None:
        """Walk to a number box, type over what it holds, and press Enter."""
        self.tab_to(f".st-key-{key} input")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(str(value))
        self.page.keyboard.press("Enter")
        self.reader.rest()
