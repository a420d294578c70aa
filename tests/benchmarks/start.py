"""From a new process to the title and the first painted board; and what `import attnviz` brings.

    python -m tests.benchmarks.start

The clock starts before `streamlit run` is called, and the page is opened, in a fresh context, as soon as the server
answers. The floor is a bare page that imports torch and draws one of the app's own charts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.figures import FLOORS, app_figures, running_floor
from tests.benchmarks.measure import parser, print_sides, spread
from tests.benchmarks.painted import CLOCK, KEYS, WINDOW, report
from tests.browser.harness import ROOT, Server, Watch, launch_browser, running_app

GOAL = 1.3
HEAVY = ("streamlit", "torch", "plotly", "pandas", "numpy", "babel", "regex")
ROWS = {
    "served": "spawned to the server answering",
    "title": "spawned to the title painted",
    "between": "the title to the first board",
    "board": "spawned to the first board painted",
}
# On the wall's clock, which the browser and this process share.
WATCH = """(blocks => {
  const wall = () => performance.timeOrigin + performance.now();
  window.first = {};
  bench.whenPainted(() => document.querySelector(bench.at.title)?.innerText).then(() => { first.title = wall(); });
  bench.whenPainted(() => bench.charts(blocks).every((c) => c.length)).then(() => { first.board = wall(); });
})"""
IMPORT = """import sys, time
start = time.perf_counter(); import attnviz; took = time.perf_counter() - start
print(took * 1000, *(name for name in sys.argv[1:] if name in sys.modules))"""


def import_alone() -> tuple[float, list[str]]:
    """Import attnviz in a fresh interpreter: the ms it takes, and which heavy packages it loads."""
    command = [sys.executable, "-c", IMPORT, *HEAVY]
    took, *loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return float(took), loaded


def first_paint(browser: Browser, running: Any, blocks: tuple[str, ...], watch: Watch) -> dict[str, float]:
    """Start a server, open its page, and return when the title and the charts of `blocks` were painted, in ms."""
    spawned = 1000 * time.time()
    server: Server
    with running as server:
        served = 1000 * time.time()
        with browser.new_context(viewport=WINDOW, color_scheme="light", locale="en-US") as context:
            context.add_init_script(CLOCK)
            context.add_init_script(f"{WATCH}({list(blocks)})")
            page = context.new_page()
            watch.follow(page)
            page.goto(server.url, wait_until="commit")
            page.wait_for_function("() => first.title && first.board", timeout=60_000, polling=100)
            first = page.evaluate("() => first")
    times = {"served": served, "title": first["title"], "board": first["board"]}
    return {name: at - spawned for name, at in times.items()} | {"between": first["board"] - first["title"]}


def main() -> None:
    """Measure both sides in turn, each in a process of its own, and print the tables."""
    given = parser(__doc__ or "", 5).parse_args()
    warm, watch = min(given.warm, 1), Watch()  # once, so that files are read and compiled
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_app(folder / "app.log") as app:
            figures = asyncio.run(app_figures(app.url, "", []))
        with sync_playwright() as playwright:
            browser = launch_browser(playwright)
            for _ in range(warm + given.n):
                ours.append(first_paint(browser, running_app(folder / "app.log"), KEYS, watch))
                bare.append(first_paint(browser, running_floor("start", figures, folder), ("scores",), watch))
            browser.close()
    alone = [import_alone() for _ in range(given.n)]
    loaded = sorted({package for _, packages in alone for package in packages})
    brings = ", ".join(loaded) or "none"
    print(f"import attnviz: {spread([ms for ms, _ in alone])} ms; of {', '.join(HEAVY)} it brings {brings}")
    print(f"a new process to the first painted board; floor {FLOORS.name}/start.py; {given.n} starts a side, in turn")
    print_sides(ours[warm:], bare[warm:], ROWS, GOAL)
    report(watch)


if __name__ == "__main__":
    main()
