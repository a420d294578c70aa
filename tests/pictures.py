"""The pictures of the README, taken anew from the running app: python -m tests.pictures [name ...]

Each is a page in English on the light theme; tests/browser/harness.py finds the browser.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from tests.browser.harness import ROOT, launch_browser, running_app
from tests.browser.reader import Reader


class Picture(NamedTuple):
    """A picture of a page: its file in docs/, its address, and how much of it is in sight."""

    name: str
    address: str
    height: int = 900
    scroll_to: str = ""  # CSS of what stands at the top


PICTURES = [
    Picture("explore", "/?text=the+cat+sat+on+the+mat&s=5&u=1", 1700),
    Picture("scores", "/scores?text=the+cat+sat+on+the+mat&mask=causal&section=masks", 1000),
    Picture("roles", "/roles?text=the+cat+sat+on+the+mat", 1000),
    Picture("heads", "/heads?text=the+cat+sat+on+the+mat&n_heads=4", 1000),
    Picture("positions", "/positions?text=the+cat+sat+on+the+mat&positions=rope_half&section=rotation", 1000),
    Picture("decoding", "/decoding?text=the+cat+sat+on+the+mat", 1000),
    Picture("einsum", "/einsum?text=the+cat+sat+on+the+mat", 1000),
    Picture("proof", "/proof?text=the+cat+sat+on+the+mat", 1000),
    Picture("training", "/training?ran=1", 1000),
    Picture("tensors", "/tensors?example=scale", 1600),
    Picture("trained", "/trained?model=minilm&text=the+cat+sat+on+the+mat+because+it+was+tired", 1000),
]


def take(page: Page, url: str, picture: Picture) -> None:
    """Show a page, wait until it is at rest, and write its picture."""
    page.set_viewport_size({"width": 1280, "height": picture.height})
    page.goto(url + picture.address)
    Reader(page).rest()
    if picture.name == "training":
        page.wait_for_timeout(8000)  # a training takes seconds
        Reader(page).rest()
    page.screenshot(path=ROOT / "docs" / f"{picture.name}.png")


def main(names: list[str]) -> None:
    """Take the named pictures, or all."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "app.log") as server,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        page = browser.new_page(locale="en-US", color_scheme="light")
        page.set_default_timeout(60_000)
        for picture in PICTURES:
            if not names or picture.name in names:
                take(page, server.url, picture)
                print(picture.name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
