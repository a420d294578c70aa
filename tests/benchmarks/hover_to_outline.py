"""From the pointer on a cell to the outlines of its row and column, at 12 tokens, over all three blocks.

    python -m tests.benchmarks.hover_to_outline

The clock starts when the page is handed the real mouse's move. It is read when the outlines stand in the document, and
again at the end of the frame that shows them. No round trip to Python is part of it; that none is made is checked.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.cells import some_points
from tests.benchmarks.figures import WORDS, link
from tests.benchmarks.measure import parser, quantile
from tests.benchmarks.painted import BLOCKS, LINKED, SELECTORS, opened, report
from tests.browser.harness import Watch, launch_browser, running_app

GOAL = 16.0
# Outlines are drawn anew with each hover; beside them a block may hold that of the chosen cell.
ARM = """chart => {
  const layer = () => document.querySelector(chart + " " + bench.at.outlines);
  const was = layer() ? layer().innerHTML : "";
  const drawn = () => { const now = layer(); return now && now.childElementCount > 1 && now.innerHTML !== was; };
  bench.hover = new Promise((done) => window.addEventListener("mousemove", () => {
    const start = performance.now(), sent = bench.sent.length;
    let stood = 0;
    const observer = new MutationObserver(() => { if (!stood && drawn()) stood = performance.now(); });
    observer.observe(document.body, { childList: true, subtree: true });
    bench.whenPainted(() => stood > 0).then((end) => {
      observer.disconnect();
      done({ outlined: stood - start, painted: end - start, sent: bench.sent.length - sent });
    });
    setTimeout(() => { observer.disconnect(); done(null); }, 1000);
  }, { capture: true, once: true }));
}"""


def hover(page: Page, chart: str, point: tuple[float, float]) -> dict[str, float] | None:
    """Move the mouse to a point of a chart, a selector; None when nothing was outlined within a second."""
    page.evaluate(ARM, chart)
    page.mouse.move(*point)
    times: dict[str, float] | None = page.evaluate("() => bench.hover")
    page.wait_for_timeout(70)  # Plotly looks at the pointer at most every 50 ms
    return times


def main() -> None:
    """Measure each block and print the table."""
    given = parser(__doc__ or "", 60).parse_args()
    draw, watch = random.Random(0), Watch()
    taken: dict[str, list[dict[str, float]]] = {}
    n_missed = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "app.log") as app,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        with opened(browser, f"{app.url}/?{link()}", watch) as page:
            page.wait_for_function(f"() => ({LINKED})() > 0")
            for block in BLOCKS:
                points = some_points(page, block, given.warm + given.n, draw)
                found = [hover(page, SELECTORS["block"].format(block), point) for point in points][given.warm :]
                taken[block] = [times for times in found if times]
                n_missed += len(found) - len(taken[block])
        browser.close()
    print(f"hover to outline: {WORDS!r}, d_model 16, 4 heads; {given.n} cells a block")
    print(f"{'ms':12}  {'in the document':>16}  {'p95':>6}  {'frame painted':>14}  {'p95':>6}  goal {GOAL:g}")
    taken["all"] = [times for block in BLOCKS for times in taken[block]]
    for block, samples in taken.items():
        outlined, shown = [t["outlined"] for t in samples], [t["painted"] for t in samples]
        print(
            f"{block:12}  {statistics.median(outlined):16.1f}  {quantile(outlined, 0.95):6.1f}"
            f"  {statistics.median(shown):14.1f}  {quantile(shown, 0.95):6.1f}"
        )
    print(f"cells that outlined nothing: {n_missed}; messages to Python: {sum(t['sent'] for t in taken['all']):g}")
    report(watch)


if __name__ == "__main__":
    main()
