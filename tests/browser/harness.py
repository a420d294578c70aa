"""The real app on a free port of this machine, and a real browser in front of it.

`python -m tests.browser.harness` prints the browser that the tests would use; it exits with 1 where there is
none.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

from tests.browser.watch import Watch as Watch  # for those who only know this file

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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
def running_app(
    log_file: Path, *, script: str = "app.py", seconds: float = 180, module: str = "streamlit"
) -> Iterator[Server]:
    """Run a script with Streamlit in the repository's folder, healthy on entry, stopped on exit.

    `module` stands for Streamlit's command. Raises RuntimeError with the log's end when it is not healthy within
    `seconds`.
    """
    port = free_port()
    command = [sys.executable, "-m", module, "run", script, "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]
    command += ["--logger.enableRich", "false"]  # whose colours would hide a traceback from those who look for one
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


# ---- waiting ----

# When a page last spoke to its server and last heard from it: a run that was asked for may be long in coming.
LISTEN = """window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener('message', () => { window.lastHeard = performance.now(); });
    }
    send(data) { window.lastSaid = performance.now(); super.send(data); }
};
addEventListener('input', () => { window.lastTyped = performance.now(); }, true);"""

IDLE = """quiet => {
    const app = document.querySelector('[data-testid="stApp"]');
    // An element whose code is still being fetched shows a skeleton; a chart stands before it is painted.
    const idle = app !== null && app.dataset.testScriptState === 'notRunning'
        && app.dataset.testConnectionState === 'CONNECTED'
        && !app.querySelector('[data-stale="true"], [data-testid$="Skeleton"]')
        && [...app.querySelectorAll('[data-testid="stPlotlyChart"]')].every(c => c.querySelector('.main-svg'))
        && document.fonts.status === 'loaded'
        && !document.documentElement.attnvizAddress  // the link is about to be written
        && !(window.lastSaid >= (window.lastHeard ?? 0));
    const now = performance.now();
    // What is typed is sent after a pause, in a busy browser a long one; into some boxes, not before they are left.
    if (window.lastTyped > (window.lastSaid ?? 0) && now - window.lastTyped < 1000) return false;
    if (!idle) { window.idleSince = undefined; return false; }
    if (window.idleSince === undefined) { window.idleSince = now; window.idleLooks = 0; }
    // A page that was too busy to look for so long is not at rest: what it had to send may come after this look.
    return ++window.idleLooks > quiet / 50 && now - window.idleSince >= quiet;
}"""


def wait_idle(page: Page, *, quiet: float = 300, timeout: float = 180_000) -> None:
    """Wait until Streamlit has been at rest for `quiet` ms: no run going on, nothing stale, all painted.

    `quiet` must be longer than the pause after which a live text box sends what was typed (250 ms as it
    comes). In a context with the script LISTEN, what was typed must also have been sent, for which a second is
    given, and what was asked of the server answered.
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
