"""Every head at once, 12 layers of 12, from typing the text to the painted overview; and other tools beside it.

    python -m tests.benchmarks.overview [--peers PYTHON --scripts FOLDER]

The page is the app's own, with a model whose numbers are drawn (drawn.py). A text of another length is pasted into its
box: the clock starts when the text is sent to the server, after the box's pause, and stops at the end of the frame in
which the map of all heads is new; the model, the pooling, the statistics and the rest of the page are in it. Others
(peers.py) get the same weights: theirs is the time of their call in Python, and from opening the page it made to the
frame in which all that it draws stands there. They take turns with ours, length by length; after a failure a tool is
not tried at greater lengths.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks import drawn
from tests.benchmarks.measure import spread
from tests.benchmarks.painted import SELECTORS, opened, painted, report
from tests.benchmarks.peers import add_arguments, compare, given, save
from tests.browser.harness import Watch, launch_browser, running_app

LENGTHS = (64, 128, 256, 512)
GOALS = {64: 0.7, 256: 1.0, 512: 1.0}  # seconds
CHARTS = ("maps-tiles",)
BYTES = """(() => { window.arrived = 0;
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", (message) => { window.arrived += message.data.byteLength || 0; });
    }
  }; })()"""


def words(n: int, turn: int) -> str:
    """Return a text of n tokens, another one in each turn."""
    return " ".join(["abcdefghijklmnopqrstuvwxyz"[turn % 26], *(f"t{i % 37}" for i in range(n - 1))])


def paste(page: Page, text: str, seconds: float = 60) -> dict[str, float]:
    """Put a text into the page's box and wait until all heads are painted anew."""
    page.bring_to_front()
    page.evaluate(
        """() => {
            const was = bench.charts();
            window.arrived = 0;
            bench.arm("input", () => bench.allAnew(was));
        }"""
    )
    page.locator(SELECTORS["text"]).fill(text)
    times = painted(page, seconds)
    return times | {"bytes": page.evaluate("() => window.arrived"), "asked": times["painted"] - times["sent"]}


def ours(page: Page, n: int, n_measured: int) -> None:
    """Print our line of one length."""
    taken = [paste(page, words(n, turn)) for turn in range(n_measured + 1)][1:]
    asked = spread([one["asked"] / 1000 for one in taken], 2)
    typed = spread([one["painted"] / 1000 for one in taken], 2)
    goal = f"; goal {GOALS[n]:g}" if n in GOALS else ""
    size = max(one["bytes"] for one in taken) / 1e6
    print(
        f"{n:4} attnviz        {asked:>20} s to painted, {typed} with the box's pause, {size:.2f} MB{goal}", flush=True
    )


def main() -> None:
    """Measure each length, ours and theirs in turn."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", type=int, default=5, help="measurements of ours at each length (default 5)")
    arguments.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="of the texts, in tokens")
    add_arguments(arguments)
    asked = arguments.parse_args()
    watch, failed = Watch(), dict[str, str]()
    with (
        tempfile.TemporaryDirectory() as name,
        running_app(Path(name) / "app.log", module="tests.benchmarks.drawn") as app,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        address = f"{app.url}/trained?model={drawn.CODE}&text=a+b+c"
        with opened(browser, address, watch, CHARTS, BYTES) as page:
            for n in asked.lengths:
                ours(page, n, asked.n)
                file = save(drawn.weights(words(n, 0)), Path(name))
                compare(browser, file, (drawn.LAYERS, drawn.HEADS, n), given(asked), failed)
        browser.close()
    report(watch)


if __name__ == "__main__":
    main()
