"""From a key in the text box to the painted board, at 12 tokens, d_model 16 and 4 heads, in a real browser.

    python -m tests.benchmarks.edit_to_painted

The floor is a bare script with the same live text box that draws the app's own figures, made beforehand; every other
key gives it the other set, so that each edit changes all three charts. The clock runs from the input event, the box's
own pause included, to the end of the frame in which all three boards are new.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.figures import WORDS, app_figures, link, running_floor
from tests.benchmarks.measure import parser, print_sides
from tests.benchmarks.painted import SELECTORS, opened, painted, report
from tests.benchmarks.protocol import open_session
from tests.browser.harness import Watch, launch_browser, running_app

GOAL = 1.3
# A page draws its first charts while the script makes the last: only a run without a browser tells Python's part.
ROWS = {
    "sent": "the key to the message sent",
    "script": "the script, measured alone",
    "rest": "the rest, in the browser",
    "painted": "the key to painted",
}


def edit(page: Page, letter: str) -> dict[str, float]:
    """Type a letter over the last one: the tokens stay 12, the last one is new."""
    page.bring_to_front()
    box = page.locator(SELECTORS["text"])
    box.press("End")
    box.press("Shift+ArrowLeft")
    page.evaluate("() => { const was = bench.charts(); bench.arm('input', () => bench.allAnew(was)); }")
    page.keyboard.press(letter)
    return painted(page)


async def scripts(ours: str, floor: str, texts: list[str], n: int) -> tuple[list[float], list[float]]:
    """Return what the same edits take in Python alone, without a browser: sent to finished, in ms, for each side."""
    sessions = [await open_session(ours, link()), await open_session(floor)]
    taken: tuple[list[float], list[float]] = ([], [])
    for i in range(n):
        for session, times in zip(sessions, taken, strict=True):
            start = time.perf_counter()
            await session.run("text_line", texts[i])
            times.append(1000 * (time.perf_counter() - start))
    for session in sessions:
        await session.socket.close()
    return taken


def main() -> None:
    """Measure both sides in turn and print the table."""
    given = parser(__doc__ or "", 30).parse_args()
    n = given.warm + given.n
    # Odd and even letters in turn, the first unlike the text's last: each gives the floor its other board.
    letters = ("bcdefghijklmnopqrstuvwxyza" * (1 + n // 26))[:n]
    texts = [WORDS[:-1] + letter for letter in letters]
    boards = sorted((WORDS[:-1] + "a", WORDS[:-1] + "b"), key=lambda text: ord(text[-1]) % 2)
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder) / "app.log") as app:
        figures = asyncio.run(app_figures(app.url, link(), boards))
        with running_floor("edit", figures, Path(folder)) as floor:
            alone = asyncio.run(scripts(app.url, floor.url, texts, n))
            with sync_playwright() as playwright:
                browser = launch_browser(playwright)
                with (
                    opened(browser, f"{app.url}/?{link(WORDS)}", watch) as ours,
                    opened(browser, floor.url, watch) as bare,
                ):
                    sides: list[list[dict[str, float]]] = [[], []]
                    for i, letter in enumerate(letters):
                        for page, taken, script in zip((ours, bare), sides, alone, strict=True):
                            times = edit(page, letter)
                            rest = times["painted"] - times["sent"] - script[i]
                            taken.append(times | {"script": script[i], "rest": rest})
                browser.close()
    print(f"edit to painted: {WORDS!r}, d_model 16, 4 heads; live={figures['live']!r}; {given.n} edits a side, in turn")
    print_sides(sides[0][given.warm :], sides[1][given.warm :], ROWS, GOAL)
    report(watch)


if __name__ == "__main__":
    main()
