"""The real app on a free port of this machine, and a real browser in front of it.

`python -m tests.browser.harness` prints the browser that the tests would use; it exits with 1 where there is
none.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Playwright, Request, sync_playwright

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HERE = {"127.0.0.1", "localhost", "::1"}
ARGUMENTS = [
    "--no-sandbox",  # CI runs as root, where the sandbox refuses to start; only our own pages are opened
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # containers give /dev/shm 64 MB
    # Nothing can leave the machine, even what a test is about to fail for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


def starts(path: str) -> bool:
    """Say whether a browser starts: a package's stub, or one that lacks a library, does not."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@lru_cache(maxsize=1)
def find_browser() -> str | None:
    """Return the path of a browser that starts: the system's, else Playwright's own, else None."""
    for name in NAMES:
        if (path := shutil.which(name)) and starts(path):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() and starts(own) else None


def launch_browser(playwright: Playwright) -> Browser:
    """Launch the browser that find_browser() names, without a window."""
    return playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS, headless=True)


# ---- the app ----


@dataclass(frozen=True)
class Server:
    """A running app: where it answers, its process, and the file that holds all it has said."""

    url: str
    process: "subprocess.Popen[bytes]"
    log_file: Path

    def log(self, start: int = 0) -> str:
        """Return what the app has logged since byte `start`."""
        return self.log_file.read_bytes()[start:].decode("utf-8", "replace")


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(log_file: Path, *, script: str = "app.py", seconds: float = 60) -> Iterator[Server]:
    """Run a script with Streamlit in the repository's folder, healthy on entry, stopped on exit.

    Raises RuntimeError with the log's end when it is not healthy within `seconds`.
    """
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
    server = Server(f"http://127.0.0.1:{port}", process, log_file)
    try:
        wait_until_healthy(server, seconds)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_healthy(server: Server, seconds: float) -> None:
    """Return as soon as the app's health check answers; raise RuntimeError when it ends or takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"the app was not healthy within {seconds:g} s; its log ends:\n{server.log()[-4000:]}")


# ---- what a page must not do ----


def leaves_the_machine(url: str) -> bool:
    """Say whether a request goes to another machine; data: and blob: go nowhere.

    >>> [leaves_the_machine(u) for u in ("http://127.0.0.1:80/x", "data:,a", "ws://localhost", "https://example.org/")]
    [False, False, False, True]
    """
    parts = urlsplit(url)
    return parts.scheme not in {"data", "blob", "about"} and parts.hostname not in HERE


# On a page below the root, Streamlit looks for its server below that page first; the browser logs that none is there.
SERVER_LOOKED_FOR = re.compile(r"https?://[^/]+/[a-z-]+/_stcore/(health|host-config)")


@dataclass
class Watch:
    """All that a page did and must not do, in order."""

    problems: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        """Record console errors, uncaught errors, crashes and requests to other machines from now on."""
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught error: {error}"))
        page.on("crash", lambda _page: self.problems.append("the page crashed"))
        page.on("request", self.request)
        page.on("websocket", lambda socket: self.address(socket.url))

    def console(self, message: ConsoleMessage) -> None:
        looked = "404" in message.text and SERVER_LOOKED_FOR.fullmatch(message.location.get("url", ""))
        if message.type == "error" and not looked:
            self.problems.append(f"console error: {message.text} ({message.location.get('url', '')[:300]})")

    def request(self, request: Request) -> None:
        self.address(request.url)

    def address(self, url: str) -> None:
        if leaves_the_machine(url):
            self.problems.append(f"request that leaves the machine: {url}")


# When a page last spoke to its server and last heard from it: a run that was asked for may be long in coming.
LISTEN = """window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener('message', () => { window.lastHeard = performance.now(); });
    }
    send(data) { window.lastSaid = performance.now(); super.send(data); }
};"""

IDLE = """quiet => {
    const app = document.querySelector('[data-testid="stApp"]');
    // An element whose code is still being fetched shows a skeleton; a chart stands before it is painted.
    const idle = app !== null && app.dataset.testScriptState === 'notRunning'
        && app.dataset.testConnectionState === 'CONNECTED'
        && !app.querySelector('[data-stale="true"], [data-testid$="Skeleton"]')
        && [...app.querySelectorAll('[data-testid="stPlotlyChart"]')].every(c => c.querySelector('.main-svg'))
        && document.fonts.status === 'loaded'
        && !(window.lastSaid >= (window.lastHeard ?? 0));
    const now = performance.now();
    if (!idle) { window.idleSince = undefined; return false; }
    window.idleSince ??= now;
    return now - window.idleSince >= quiet;
}"""


def wait_idle(page: Page, *, quiet: float = 300, timeout: float = 30_000) -> None:
    """Wait until Streamlit has been at rest for `quiet` ms: no run going on, nothing stale, all painted.

    `quiet` must be longer than the pause after which a live text box sends what was typed (250 ms as it
    comes). In a context with the script LISTEN, what was asked of the server must also have been answered.
    Raises playwright's TimeoutError after `timeout` ms.
    """
    page.evaluate("() => { window.idleSince = undefined; }")
    page.wait_for_function(IDLE, arg=quiet, polling=25, timeout=timeout)


if __name__ == "__main__":
    try:
        browser = find_browser()
    except Error:
        browser = None
    print(browser or "no browser that starts")
    sys.exit(browser is None)
