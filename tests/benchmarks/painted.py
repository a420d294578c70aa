"""A page that keeps its own clock: from an event in the browser to the frame in which its answer is painted.

The same script is put into the app and into its floors. "Painted" is a frame's end: a condition is looked at once a
frame, before the frame is drawn, and the clock stops when the frame in which it first held has been drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.harness import Watch, wait_idle

# Where things stand on a page: the one table that follows the pages.
BLOCKS = ("projections", "scores", "output")
KEYS = tuple(f"block-{block}" for block in BLOCKS)  # of the containers of their charts
SELECTORS = {
    "text": ".st-key-text_line input",
    "block": ".st-key-block-{}",  # the container of one chart
    "chart": ".js-plotly-plot",
    "image": ".heatmaplayer image",  # Plotly draws each heatmap as one
    "path": ".barlayer path, .scatterlayer path.js-line",
    "outlines": ".attnviz-linked",
    "table": ':is([data-testid="stTable"], .attnviz-table)',
    "title": "h1",
    "scroller": '[data-testid="stMain"]',
}
WINDOW = {"width": 1440, "height": 900}
LINKED = "() => Number(document.documentElement.dataset.attnvizLinked || 0)"

CLOCK = """
(() => {
  const bench = window.bench = { at: SELECTORS, blocks: KEYS, sent: [], received: [] };

  // When the page sends to its server and hears from it: what is left is the browser's own.
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", () => bench.received.push(performance.now()));
    }
    send(data) { bench.sent.push(performance.now()); super.send(data); }
  };

  // What the charts show: the pictures of all their heatmaps, their bars and lines. Only complete charts count.
  bench.charts = (names = bench.blocks) => names.map((name) => {
    const chart = document.querySelector(".st-key-" + name);
    const images = chart ? chart.querySelectorAll(bench.at.image) : [];
    const pictures = [...images].map((i) => i.getAttribute("href") || i.getAttribute("xlink:href"));
    const drawn = chart ? [...chart.querySelectorAll(bench.at.path)].map((p) => p.getAttribute("d")) : [];
    return pictures.every(Boolean) ? [...pictures, ...drawn] : [];
  });
  bench.allAnew = (before) => {
    const now = bench.charts();
    return now.every((c, i) => c.length === before[i].length && c.length && c.join() !== before[i].join());
  };
  bench.tables = () => [...document.querySelectorAll(bench.at.table)].map((t) => t.innerText).join("\\n");

  // Asked for while a frame begins, and before all else that waits: it is called when that frame has been drawn, not
  // after what the page does next.
  bench.endOfFrame = (f) => scheduler.postTask(() => f(performance.now()), { priority: "user-blocking" });
  bench.whenPainted = (holds) => new Promise((done) => {
    const look = () => holds() ? bench.endOfFrame(done) : requestAnimationFrame(look);
    requestAnimationFrame(look);
  });
  // From the next event of this kind to the frame that shows what `holds` looks for.
  bench.arm = (event, holds) => {
    bench.painted = new Promise((done) => window.addEventListener(event, () => {
      bench.start = performance.now();
      bench.whenPainted(holds).then((now) => { bench.end = now; done(true); });
    }, { capture: true, once: true }));
  };
  bench.times = () => {
    const later = (times) => times.filter((t) => t > bench.start);
    return {
      sent: later(bench.sent)[0] - bench.start,
      python: later(bench.received).at(-1) - later(bench.sent)[0],
      painted: bench.end - bench.start,
    };
  };
})();
""".replace("KEYS", json.dumps(KEYS)).replace("SELECTORS", json.dumps(SELECTORS))

LOST = """limit => Promise.race([window.bench.painted, new Promise((_, no) => setTimeout(
    () => no(new Error("nothing new was painted within " + limit + " ms")), limit))])"""


@contextmanager
def opened(
    browser: Browser, address: str, watch: Watch, charts: Sequence[str] = KEYS, script: str = ""
) -> Iterator[Page]:
    """Open a page in a context of its own, with the clock in it, once it is at rest; `charts` are those it watches.

    `script` is put into the page too.
    """
    with browser.new_context(viewport=WINDOW, color_scheme="light", locale="en-US") as context:
        context.add_init_script(CLOCK)
        context.add_init_script(f"bench.blocks = {json.dumps(list(charts))}")
        if script:
            context.add_init_script(script)
        page = context.new_page()
        watch.follow(page)
        page.goto(address)
        wait_idle(page, quiet=600)
        yield page


def painted(page: Page, seconds: float = 20) -> dict[str, float]:
    """Return the times from the event that bench.arm() waited for, in ms, once all is painted and at rest."""
    page.evaluate(LOST, seconds * 1000)
    wait_idle(page)
    times: dict[str, Any] = page.evaluate("() => window.bench.times()")
    return times | {"browser": times["painted"] - times["sent"] - times["python"]}


def report(watch: Watch) -> None:
    """Print what the pages did and must not do; a measurement of a broken page is worth nothing."""
    for problem in dict.fromkeys(watch.problems):
        print(f"! {problem}")
