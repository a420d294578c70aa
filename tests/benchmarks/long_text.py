"""A long text on Explore in a real browser: pasted, zoomed, hovered, its bytes and memory; and other tools beside it.

    python -m tests.benchmarks.long_text [--peers PYTHON --scripts FOLDER] [--lengths 128 4096]

A text of so many tokens is pasted over another as long: the clock starts at the paste and stops at the end of the
frame in which every chart is new, the pooled map among them; the text box's own pause is in it, and told apart. A zoom
is a drag over an eighth of the map, from the button's release to the end of the frame in which the window is sharp;
the pause after which a zoom is sent is in it, and told apart. A hover is from the pointer's move to the outlines.
Bytes are all that a paste, or a zoom, brings to the browser; memory is the tab's after all of it. Others (peers.py) get
the same weights, of one head. They take turns with ours, length by length; a case ends after --seconds, and after a
failure a tool is not tried at greater lengths.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import Error, Page, sync_playwright
from torch import Tensor

from attnviz.experiment import Experiment
from attnviz.limits import POOLED_BYTES, TOKENS
from tests.benchmarks.hover_to_outline import hover
from tests.benchmarks.measure import quantile, spread
from tests.benchmarks.overview import BYTES
from tests.benchmarks.painted import KEYS, SELECTORS, opened, painted, report
from tests.benchmarks.peers import PEERS, add_arguments, compare, given, missing, save
from tests.benchmarks.tabs import renderers, resident
from tests.browser.harness import Watch, launch_browser, running_app, wait_idle

LENGTHS = (128, 512, 1024, 4096)
MAP = "maps-whole"
PAUSE = 150.0  # ms after which a zoom is sent: bridge.js
GOALS = "goals at 4,096: painted 1 s, 0.5 MB; a zoom 200 ms beyond its pause; a hover 16 ms"
# Sharp is another chart, complete: Plotly itself stretches what it has at once.
SHARP = """map => {
    const chart = () => document.querySelector(map + " " + bench.at.chart), was = chart();
    window.arrived = 0;
    bench.arm("mouseup", () => {
        const pictures = chart() && chart() !== was ? [...chart().querySelectorAll(bench.at.image)] : [];
        return pictures.length > 0 && pictures.every(i => i.getAttribute("href") || i.getAttribute("xlink:href"));
    });
}"""


def words(n: int, turn: int) -> str:
    """Return a text of n tokens, another one in each turn."""
    draw = random.Random(1000 * n + turn)
    return " ".join(f"{draw.choice('abcdefghij')}{draw.randrange(400)}" for _ in range(n))


def weights(text: str) -> Tensor:
    """Return what Explore shows of a text, (s, u): one head, causal."""
    run = Experiment(text, mask="causal").run()
    n = run.x.shape[1]
    scores = (run.x[0] @ run.w_q) @ (run.x[0] @ run.w_k).mT * run.scale
    return torch.softmax(scores.masked_fill(~torch.ones(n, n).tril().bool(), -torch.inf), -1)


def paste(page: Page, n: int, turn: int, seconds: float) -> dict[str, float]:
    """Paste a text over another of the same length, and wait until all charts are new."""
    page.bring_to_front()
    page.evaluate(
        """names => {
            bench.blocks = names;
            const was = bench.charts();
            window.arrived = 0;
            bench.arm("input", () => bench.allAnew(was));
        }""",
        [*KEYS, MAP] if n > TOKENS else list(KEYS),
    )
    page.locator(SELECTORS["text"]).fill(words(n, turn))
    times = painted(page, seconds)
    return times | {"asked": times["painted"] - times["sent"], "bytes": page.evaluate("() => window.arrived")}


def first(page: Page, n: int, seconds: float) -> None:
    """Have a text of n tokens on the page, however many it had."""
    page.locator(SELECTORS["text"]).fill(words(n, 0))
    wait_idle(page, quiet=600, timeout=1000 * seconds)


def corner(page: Page) -> tuple[float, float, float]:
    """Return the upper left corner of the map in the window, and its side, in pixels."""
    area = page.locator(f".st-key-{MAP} .nsewdrag").first
    area.evaluate("area => area.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = area.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"]


def zoom(page: Page, at: float, seconds: float) -> dict[str, float]:
    """Drag over an eighth of the map, and go back to the whole."""
    left, top, side = corner(page)
    page.evaluate(SHARP, f".st-key-{MAP}")
    page.mouse.move(left + at * side, top + at * side)
    page.mouse.down()
    page.mouse.move(left + (at + 0.06) * side, top + (at + 0.06) * side)
    page.mouse.move(left + (at + 0.125) * side, top + (at + 0.125) * side)
    page.mouse.up()
    times = painted(page, seconds)
    bytes_ = page.evaluate("() => window.arrived")
    page.locator(".st-key-map_whole button").click()
    wait_idle(page)
    return {"painted": times["painted"], "bytes": bytes_}


def hovers(page: Page, n_measured: int) -> list[float]:
    """Move over cells of the map that are apart; return the ms until each is outlined."""
    left, top, side = corner(page)
    draw = random.Random(0)
    points = [
        (left + draw.uniform(0.02, 0.98) * side, top + draw.uniform(0.02, 0.98) * side) for _ in range(n_measured)
    ]
    found = [hover(page, f".st-key-{MAP}", point) for point in points]
    return [times["outlined"] for times in found if times]


def ours(page: Page, n: int, n_measured: int, seconds: float) -> None:
    """Print our lines of one length."""
    first(page, n, seconds)
    pasted = [paste(page, n, 1 + turn, seconds) for turn in range(n_measured + 1)][1:]
    asked, typed = (spread([one[name] / 1000 for one in pasted], 2) for name in ("asked", "painted"))
    size = max(one["bytes"] for one in pasted) / 1e6
    print(f"{n:5} attnviz: {typed} s from paste to painted, {asked} without the box's pause, {size:.2f} MB", flush=True)
    if n > TOKENS:
        zoomed = [zoom(page, 0.1 + 0.7 * turn / n_measured, seconds) for turn in range(n_measured + 1)][1:]
        sharp = spread([one["painted"] - PAUSE for one in zoomed], 0)
        most = max(one["bytes"] for one in zoomed)
        over = "" if most <= POOLED_BYTES else f", over the limit of {POOLED_BYTES / 1e6:g}"
        print(f"{n:5}   zoom to sharp {sharp} ms beyond its pause of {PAUSE:g}, {most / 1e6:.2f} MB{over}", flush=True)
        outlined = hovers(page, 30)
        late = quantile(outlined, 0.95)
        print(f"{n:5}   hover {statistics.median(outlined):.1f} ms, p95 {late:.1f} ({len(outlined)} of 30)", flush=True)
    print(f"{n:5}   memory of the tab {max(map(resident, renderers()), default=0) / 2**20:.0f} MB", flush=True)


def main() -> None:
    """Measure each length, ours and theirs in turn."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", type=int, default=5, help="measurements of ours at each length (default 5)")
    arguments.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="of the texts, in tokens")
    add_arguments(arguments)
    asked = arguments.parse_args()
    watch = Watch()
    absent = {peer.code: missing(peer, given(asked)) for peer in PEERS}
    failed = {code: why for code, why in absent.items() if why}
    print(GOALS)
    with (
        tempfile.TemporaryDirectory() as name,
        running_app(Path(name) / "app.log") as app,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        for n in asked.lengths:
            with opened(browser, f"{app.url}/?mask=causal&text=a+b+c", watch, script=BYTES) as page:
                try:
                    ours(page, n, asked.n, asked.seconds)
                except Error as error:
                    print(f"{n:5} attnviz: {str(error).splitlines()[0][:120]}", flush=True)
            file = save(weights(words(n, 1)), Path(name))
            compare(browser, file, (1, 1, n), given(asked), failed)
        browser.close()
    report(watch)


if __name__ == "__main__":
    main()
