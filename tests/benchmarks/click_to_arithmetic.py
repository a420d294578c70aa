"""From a click on a weight to its painted arithmetic, written out as a table, in a real browser.

    python -m tests.benchmarks.click_to_arithmetic

The floor is a bare script with the same three charts, the smallest component that reports a click, and a fragment that
prints one table as large. Each click takes another row of a, so that the table is another one. The clock runs from
the press of the button to the end of the frame that shows the new table.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.cells import cell_point
from tests.benchmarks.figures import WORDS, app_figures, link, running_floor
from tests.benchmarks.measure import parser, print_sides
from tests.benchmarks.painted import SELECTORS, opened, painted, report
from tests.browser.harness import Watch, launch_browser, running_app, wait_idle

GOAL = 1.3
ROWS = {
    "sent": "the click to the message sent",
    "python": "sent to the run's last answer",
    "browser": "the rest, in the browser",
    "painted": "the click to painted",
}
N = len(WORDS.split())
TABLE = """at => [...document.querySelectorAll(at + " tr")].map((row) => [...row.children].map((c) => c.innerText))"""


def click(page: Page, cell: tuple[int, int]) -> dict[str, float]:
    """Click a cell of a, and check that the table that was painted first is the one that stays."""
    page.bring_to_front()
    point = cell_point(page, "scores", "weights", cell, (N, N))
    page.mouse.move(*point)
    page.wait_for_timeout(150)  # Plotly clicks what it has noticed under the pointer
    page.evaluate(
        """() => {
            const was = bench.tables();
            bench.arm("mousedown", () => bench.tables() !== was && (bench.seen = bench.tables()) !== "");
        }"""
    )
    page.mouse.down()
    page.mouse.up()
    times = painted(page)
    return times | {"early": float(page.evaluate("() => bench.seen !== bench.tables()"))}


def first_table(page: Page) -> dict[str, list[str]]:
    """Return the arithmetic of one weight as the app writes it: header -> cells."""
    page.mouse.click(*cell_point(page, "scores", "weights", (0, 0), (N, N)))
    page.wait_for_selector(SELECTORS["table"])
    wait_idle(page)
    head, *rows = page.evaluate(TABLE, SELECTORS["table"])
    return {name or " ": [row[i] for row in rows] for i, name in enumerate(head)}


def main() -> None:
    """Measure both sides in turn and print the table."""
    given = parser(__doc__ or "", 40).parse_args()
    draw, watch = random.Random(0), Watch()
    sides: list[list[dict[str, float]]] = [[], []]
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder) / "app.log") as app:
        figures = asyncio.run(app_figures(app.url, link(), [WORDS]))
        with sync_playwright() as playwright:
            browser = launch_browser(playwright)
            with opened(browser, f"{app.url}/?{link()}", watch) as ours:
                table = first_table(ours)
                with (
                    running_floor("click", figures | {"table": table}, Path(folder)) as floor,
                    opened(browser, floor.url, watch) as bare,
                ):
                    for i in range(given.warm + given.n):
                        cell = ((i + 1) % N, draw.randrange(N))
                        for page, taken in zip((ours, bare), sides, strict=True):
                            taken.append(click(page, cell))
            browser.close()
    rows, columns = len(next(iter(table.values()))), len(table)
    size = f"a table of {rows} x {columns}"
    print(f"click to arithmetic: {WORDS!r}, d_model 16, 4 heads; {size}; {given.n} clicks a side, in turn")
    print_sides(sides[0][given.warm :], sides[1][given.warm :], ROWS, GOAL)
    if n_early := sum(times["early"] for side in sides for times in side):
        print(f"! {n_early:g} tables changed again after they were painted")
    report(watch)


if __name__ == "__main__":
    main()
