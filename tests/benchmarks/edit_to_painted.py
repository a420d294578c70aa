"""From a key in the text box to the painted board, at 12 tokens, d_model 16 and 4 heads, in a real browser.

    python -m tests.benchmarks.edit_to_painted

The floor is a bare script with the same live text box that draws the app's own figures, made beforehand; every other
key gives it the other set, so that each edit changes all three charts. The clock runs from the input event, the box's
own pause included, to the end of the frame in which all three boards are new.
"""

from __future__ import annotations

import asyncio
import string
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.figures import WORDS, app_figures, link, running_floor
from tests.benchmarks.measure import parser, print_sides
from tests.benchmarks.painted import ROWS, SELECTORS, opened, painted, report
from tests.browser.harness import Watch, launch_browser, running_app

GOAL = 1.3


def edit(page: Page, letter: str) -> dict[str, float]:
    """Type a letter over the last one: the tokens stay 12, the last one is new."""
    page.bring_to_front()
    box = page.locator(SELECTORS["text"])
    box.press("End")
    box.press("Shift+ArrowLeft")
    page.evaluate("() => { const was = bench.charts(); bench.arm('input', () => bench.allAnew(was)); }")
    page.keyboard.press(letter)
    return painted(page)


def main() -> None:
    """Measure both sides in turn and print the table."""
    given = parser(__doc__ or "", 30).parse_args()
    texts = [WORDS[:-1] + letter for letter in "bc"]  # of ord(letter) % 2 == 0 and 1
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder) / "app.log") as app:
        figures = asyncio.run(app_figures(app.url, link(), texts))
        with running_floor("edit", figures, Path(folder)) as floor, sync_playwright() as playwright:
            browser = launch_browser(playwright)
            with (
                opened(browser, f"{app.url}/?{link(texts[0])}", watch) as ours,
                opened(browser, floor.url, watch) as bare,
            ):
                sides: list[list[dict[str, float]]] = [[], []]
                for i in range(given.warm + given.n):
                    letter = string.ascii_lowercase[(i + 2) % 26]
                    for page, taken in zip((ours, bare), sides, strict=True):
                        taken.append(edit(page, letter))
            browser.close()
    print(f"edit to painted: {WORDS!r}, d_model 16, 4 heads; live={figures['live']!r}; {given.n} edits a side, in turn")
    print_sides(sides[0][given.warm :], sides[1][given.warm :], ROWS, GOAL)
    report(watch)


if __name__ == "__main__":
    main()
