"""Trained models in a real browser: from choosing one, and from typing a text, to the painted map of all heads.

    python -m tests.benchmarks.models_painted

The model is chosen by its button on a page that shows another one: the first time it is loaded, so that the load is in
it. A text of 16, 128 or 512 tokens is put into the box whole; the box's own pause is in the time, and told apart.
attnviz-tiny reads 24 letters at most. A model whose packages are missing is named and passed over.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from attnviz.models import registry
from attnviz.models.model import ModelInfo
from tests.benchmarks.measure import parser, spread
from tests.benchmarks.overview import CHARTS, paste
from tests.benchmarks.painted import opened, painted, report
from tests.browser.harness import Watch, launch_browser, running_app

LENGTHS = (16, 128, 512)
WORDS = "the cat sat on the mat and looked at the old dog that slept near the door of a small house by a sea"
SPECIAL = {"minilm": 2}  # tokens that a model adds
SECONDS = 120


def text(card: ModelInfo, n: int, turn: int) -> str:
    """Return a text of n tokens, another one in each turn."""
    first = "abcdefghijklmnopqrstuvwxyz"[turn % 26]
    if card.code == "attnviz-tiny":
        return (first + "abcdefgh" * 3)[: min(n, card.tokens)]
    words = WORDS.split() * 30
    return " ".join([first, *words[: n - SPECIAL.get(card.code, 0) - 1]])


def choose(page: Page, card: ModelInfo) -> float:
    """Press a model's button; return the ms until its heads are painted."""
    page.bring_to_front()
    page.evaluate("() => { const was = bench.charts(); bench.arm('click', () => bench.allAnew(was)); }")
    page.locator(".st-key-model_kind-en button").get_by_text(card.title, exact=True).click()
    return painted(page, SECONDS)["painted"]


def measure(page: Page, card: ModelInfo, n_measured: int, warm: int) -> None:
    """Print the lines of one model."""
    print(f"{card.code}: chosen to painted, its load in it {choose(page, card) / 1000:.2f} s", flush=True)
    for n in LENGTHS:
        if n > card.tokens and n > LENGTHS[0]:
            break
        taken = [paste(page, text(card, n, turn), SECONDS) for turn in range(warm + n_measured)][warm:]
        typed, asked = (spread([one[name] for one in taken]) for name in ("painted", "asked"))
        print(f"  {n:4} tokens: typed to painted {typed} ms, of which after the box's pause {asked}", flush=True)


def main() -> None:
    """Measure every model that is here."""
    given, watch = parser(__doc__ or "", 5).parse_args(), Watch()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "app.log") as app,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        for card in registry.available():
            if card.missing:
                print(f"{card.code}: not installed: {', '.join(card.missing)}")
            elif not card.code.startswith("hf:"):
                other = "minilm" if card.code == "attnviz-tiny" else "attnviz-tiny"
                with opened(browser, f"{app.url}/trained?model={other}&text=abcab", watch, CHARTS) as page:
                    measure(page, card, given.n, given.warm)
        browser.close()
    report(watch)


if __name__ == "__main__":
    main()
