"""Fixtures of the browser tests: one app and one browser for all of them, a page of its own for every test.

A test that asks for `new_page` or `page` fails at its end when a page logged an error, asked another machine
for something, or when the app logged a traceback.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.harness import LISTEN, Server, Watch, find_browser, launch_browser, running_app
from tests.browser.reader import Reader

NewPage = Callable[..., Page]
Contexts = Callable[..., BrowserContext]
OpenApp = Callable[..., Reader]
PATIENCE = 30_000  # ms: what a page does at once may take seconds on a machine that is busy
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that opens a page; skip those only where there is no browser."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    ours = [item for item in here if {"browser", "server"} & set(getattr(item, "fixturenames", ()))]
    for item in ours:
        item.add_marker(pytest.mark.browser)
        item.user_properties.append(("browser", "yes"))  # for tests/browser_report.py, which reads no marks
    if ours and find_browser() is None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason="no browser that starts; tests/run.sh installs one"))


# Of the package, not of the session: Playwright keeps an event loop running while it lives, and tests
# elsewhere start their own.


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app, started once."""
    with running_app(tmp_path_factory.mktemp("app") / "app.log") as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser, launched once."""
    with sync_playwright() as playwright:
        launched = launch_browser(playwright)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def contexts(browser: Browser, server: Server) -> Iterator[Contexts]:
    """Browser contexts by their options, so that a page need not fetch again what another one has fetched."""
    opened: dict[tuple[Any, ...], BrowserContext] = {}

    def context(fresh: bool, locale: str, color_scheme: Literal["light", "dark"], scale: float) -> BrowserContext:
        key = (locale, color_scheme, scale)
        if fresh or key not in opened:
            made = browser.new_context(
                base_url=server.url,
                locale=locale,
                color_scheme=color_scheme,
                permissions=["clipboard-read", "clipboard-write"],
                device_scale_factor=scale,
            )
            made.add_init_script(LISTEN)
            if fresh:
                return made
            opened[key] = made
        return opened[key]

    yield context
    for made in opened.values():
        made.close()


@pytest.fixture(scope="package")
def spare() -> dict[BrowserContext, list[Page]]:
    """Pages that no test uses now: one that has shown the app shows it again twice as fast as a new one."""
    return {}


@pytest.fixture
def new_page(contexts: Contexts, spare: dict[BrowserContext, list[Page]], server: Server) -> Iterator[NewPage]:
    """Open pages of the app: new_page("/?lang=zh", color_scheme="dark").

    Pages of the same options share a context, that is caches and local storage; `fresh` gives one of its own, as
    another machine has. Pass None as the address to get a blank page, on which `page.goto("/...")` is to be called.
    """
    watch, start = Watch(), server.log_file.stat().st_size
    pages: list[Page] = []
    own: list[BrowserContext] = []

    def open_page(
        address: str | None = "/",
        *,
        locale: str = "en-US",
        color_scheme: Literal["light", "dark"] = "light",
        viewport: tuple[int, int] = (1280, 900),
        device_scale_factor: float = 1,
        fresh: bool = False,
    ) -> Page:
        context = contexts(fresh, locale, color_scheme, device_scale_factor)
        own.extend([context] if fresh else [])
        page = spare[context].pop() if spare.get(context) else context.new_page()
        if not fresh:
            pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": viewport[0], "height": viewport[1]})
        watch.follow(page)
        if address is not None:
            page.goto(address)
        return page

    yield open_page
    for context in own:
        context.close()
    for page in pages:
        page.goto("about:blank")
        watch.unfollow(page)
        spare.setdefault(page.context, []).append(page)
    problems = list(watch.problems)
    if "Traceback (most recent call last)" in (log := server.log(start)):
        problems.append(f"the app logged a traceback:\n{log[-4000:]}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def open_app(new_page: NewPage) -> OpenApp:
    """Open the app as new_page does, in a large window, and return a reader before it, with the page at rest."""

    def open_it(address: str = "/", **options: Any) -> Reader:
        return Reader(new_page(address, **{"viewport": (1440, 1000)} | options)).rest()

    return open_it


@pytest.fixture
def reader(open_app: OpenApp) -> Reader:
    """A reader before the landing page, in English, light, 1440 x 1000."""
    return open_app()


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """The landing page, in English, light, 1280 x 900."""
    return new_page()
