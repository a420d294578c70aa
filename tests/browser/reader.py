"""A reader of the app: what a person does on its pages and what they then see.

Everything is found by what is stable: the classes that Streamlit makes of widget keys, roles and accessible names.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Self

from playwright.sync_api import Locator, Page, expect

from attnviz.experiment import Experiment, View
from attnviz.links import from_query
from tests.browser.figure import Board

PAGES = {"explore": "/", "projections": "/projections", "scores": "/scores", "output": "/output"}


class Reader(Board):
    """One page of the app and the hands and eyes of the person before it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, address: str) -> Self:
        self.page.goto(address)
        return self.rest()

    def link(self) -> str:
        return self.page.url

    def state(self) -> tuple[Experiment, View]:
        """What the address bar says: the experiment and the view."""
        return from_query(self.page.url)

    def until(self, holds: Callable[[], bool], seconds: float = 30) -> Self:
        """Wait until something holds that is sent late, as what is typed into the grid, and then for the rest."""
        deadline = time.monotonic() + seconds
        while not holds() and time.monotonic() < deadline:
            self.page.wait_for_timeout(50)
        return self.rest()

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

    def write(self, text: str) -> Self:
        """Put a text into the live box, at once, as a paste does."""
        self.line.fill(text)
        return self.rest()

    def choose(self, key: str, words: str) -> Self:
        """Take one of the options that stand side by side."""
        self.keyed(key).get_by_role("radio", name=words, exact=True).click()
        return self.rest()

    def chosen(self, key: str) -> str:
        return self.keyed(key).get_by_role("radio", checked=True).inner_text()

    def set_number(self, key: str, value: float) -> Self:
        self.keyed(key).locator("input").fill(str(value))
        self.keyed(key).locator("input").press("Enter")
        return self.rest()

    def number(self, key: str) -> float:
        return float(self.keyed(key).locator("input").input_value())

    def flip(self, key: str) -> Self:
        """Flip a switch."""
        self.keyed(key).locator("label").first.click()
        return self.rest()

    def settings(self) -> Self:
        """Open, or close, what waits behind "More settings"."""
        self.button(re.compile("More settings|更多设置")).click()
        return self.rest()

    def take_preset(self, code: str) -> Self:
        self.button(re.compile("Examples|示例")).click()
        self.keyed(f"preset.{code}").locator("button").click()
        self.rest()
        if self.keyed(f"preset.{code}").locator("button").is_visible():
            self.page.keyboard.press("Escape")
        return self.rest()

    def unfold(self, key: str) -> Self:
        """Open an expander."""
        self.keyed(key).locator("summary").click()
        return self.rest()

    def go(self, words: str) -> Self:
        """Go to another page by its name in the navigation."""
        self.page.get_by_role("link", name=words, exact=True).first.click()
        expect(self.page.get_by_role("heading", name=words, exact=True, level=1)).to_be_visible()
        return self.rest()
