"""Other tools' pages of the same weights, in the same browser and the same run: BertViz, CircuitsVis, Inspectus.

They are no dependency of attnviz or its tests: who wants their side installs, anywhere beside torch,

    pip install bertviz==1.4.1 circuitsvis==1.43.3 inspectus==0.2.0 ipython
    npm install d3@5.7.0 requirejs@2.3.6 jquery@2.1.0

and names that interpreter and that folder: --peers PYTHON --scripts FOLDER. BertViz's page fetches the three scripts
from a network, here they come from the folder; without it nothing of BertViz is drawn. A tool that is missing is said
so. Each page may take as long as `seconds` says to be made and painted, and its tab as much memory as TAB_BYTES.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from playwright.sync_api import Browser, Error, Route
from torch import Tensor

from tests.benchmarks.painted import CLOCK, WINDOW
from tests.benchmarks.tabs import bounded

MAKER = Path(__file__).parent / "floors" / "peer.py"
PYTHON_BYTES, TAB_BYTES = 6 << 30, 8 << 30
SCRIPTS = {  # what BertViz's page fetches -> where it is in npm's folder
    "require.min.js": "requirejs/require.js",
    "d3.min.js": "d3/dist/d3.min.js",
    "jquery.min.js": "jquery/dist/jquery.min.js",
}


class Peer(NamedTuple):
    """Another tool: its name here, its package, and when its page shows all of l x h maps of n x n weights."""

    code: str
    package: str
    ready: str  # JavaScript, of l, h and n
    fetches: bool = False  # its page needs SCRIPTS


_CANVAS = """(() => {{
    const all = document.getElementsByTagName("canvas"), last = all[all.length - 1];
    if (all.length < ({l} * {h} === 1 ? 1 : {l} * {h} + 1)) return false;
    return last.getContext("2d").getImageData(last.width * 0.6 | 0, last.height * 0.4 | 0, 1, 1).data[3] > 0;
}})()"""
PEERS = (
    Peer("bertviz_head", "bertviz", "document.getElementsByTagName('line').length >= {h} * {n} * {n}", True),
    Peer("bertviz_model", "bertviz", "document.getElementsByTagName('line').length >= {l} * {h} * {n} * {n}", True),
    Peer("circuitsvis", "circuitsvis", _CANVAS),
    Peer("inspectus", "inspectus", "document.getElementsByClassName('cell').length >= {n} * {n}"),
)


class Given(NamedTuple):
    """Where the tools are, and how long each page may take."""

    python: str = sys.executable
    scripts: Path | None = None
    seconds: float = 60


class Measured(NamedTuple):
    """One page: seconds to make it in Python and from navigation to painted, its bytes, or why there are none."""

    python: float = float("nan")
    painted: float = float("nan")
    bytes_: int = 0
    failure: str = ""


def add_arguments(arguments: argparse.ArgumentParser) -> None:
    """Add what says where the tools are."""
    arguments.add_argument("--peers", default=sys.executable, help="the Python in which other tools are installed")
    arguments.add_argument("--scripts", type=Path, help="npm's node_modules, with what BertViz's page fetches")
    arguments.add_argument("--seconds", type=float, default=60, help="that one page may take (default 60)")


def given(arguments: argparse.Namespace) -> Given:
    """Return what the arguments say."""
    return Given(arguments.peers, arguments.scripts, arguments.seconds)


def missing(peer: Peer, where: Given) -> str:
    """Return why a tool cannot be measured here, or nothing."""
    asked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({peer.package!r}) is None)"
    if subprocess.run([where.python, "-c", asked], check=False).returncode:
        return f"{peer.package} is not installed"
    if peer.fetches and not (where.scripts and all((where.scripts / path).is_file() for path in SCRIPTS.values())):
        return f"{peer.package} draws nothing without its scripts: name their folder"
    return ""


def save(weights: Tensor, folder: Path) -> Path:
    """Write maps (l, h, n, n), or one (n, n), to a file that measure() takes."""
    file = folder / "weights.pt"
    torch.save(weights[None, None].contiguous() if weights.ndim == 2 else weights.contiguous(), file)
    return file


def measure(browser: Browser, peer: Peer, weights: Path, shape: tuple[int, int, int], where: Given) -> Measured:
    """Make one tool's page of saved weights, l x h maps of n x n, and time its way to painted."""
    if failure := missing(peer, where):
        return Measured(failure=failure)
    page = weights.with_suffix(".html")
    try:
        made = _make(peer, weights, page, where)
        if made.failure:
            return made
        painted, failure = _paint(browser, peer, page, shape, where)
        return made._replace(painted=painted, failure=failure)
    finally:
        page.unlink(missing_ok=True)


def compare(browser: Browser, weights: Path, shape: tuple[int, int, int], where: Given, failed: dict[str, str]) -> None:
    """Print a line for each tool; what failed once, and is kept in `failed`, is not tried at a greater length."""
    n = shape[2]
    for peer in PEERS:
        known = failed.get(peer.code)
        found = Measured(failure=known) if known else measure(browser, peer, weights, shape, where)
        if found.failure:
            failed.setdefault(peer.code, f"not tried: at {n} tokens, {found.failure}")
            print(f"{n:5} {peer.code:14} {found.failure}", flush=True)
            continue
        size = found.bytes_ / 1e6
        print(f"{n:5} {peer.code:14} {found.painted:6.2f} s to painted, {found.python:.2f} s in Python, {size:.2f} MB")


def _make(peer: Peer, weights: Path, page: Path, where: Given) -> Measured:
    command = [where.python, str(MAKER), peer.code, str(weights), str(page)]
    environment = os.environ | {"ATTNVIZ_PEER_BYTES": str(PYTHON_BYTES)}
    environment.pop("PYTHONPATH", None)  # the tools' own interpreter finds its own packages
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=where.seconds, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return Measured(failure=f"Python takes over {where.seconds:g} s")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Measured(failure=f"Python: {said[:90]}")
    return Measured(python=float(done.stdout.split()[-1]), bytes_=page.stat().st_size)


def _paint(browser: Browser, peer: Peer, file: Path, shape: tuple[int, int, int], where: Given) -> tuple[float, str]:
    layers, heads, n = shape
    ready = json.dumps(peer.ready.format(l=layers, h=heads, n=n))
    with browser.new_context(viewport=WINDOW) as context, bounded(TAB_BYTES) as killed:
        context.add_init_script(CLOCK)
        # The page is there when what it draws stands in the document and that frame has been painted.
        context.add_init_script(
            f"""document.addEventListener("DOMContentLoaded", () => {{
                const holds = new Function("try {{ return " + {ready} + "; }} catch (error) {{ return false; }}");
                bench.whenPainted(holds).then((now) => {{ bench.drawn = now; }});
            }});"""
        )
        page = context.new_page()
        context.route(lambda url: url.startswith("http"), lambda route: _serve(route, where))
        try:
            page.goto(file.as_uri(), wait_until="commit", timeout=1000 * where.seconds)
            page.wait_for_function("() => window.bench?.drawn", timeout=1000 * where.seconds, polling=100)
            return page.evaluate("() => bench.drawn") / 1000, ""
        except Error as error:
            if killed.is_set():
                return float("nan"), f"its tab takes over {TAB_BYTES >> 30} GB"
            late = "Timeout" in str(error)
            return float("nan"), f"over {where.seconds:g} s" if late else str(error).splitlines()[0][:90]


def _serve(route: Route, where: Given) -> None:
    path = SCRIPTS.get(route.request.url.rsplit("/", 1)[-1])
    if path is None or where.scripts is None:
        route.abort()
    else:
        route.fulfill(path=where.scripts / path, content_type="text/javascript")
