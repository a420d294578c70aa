"""Many people at once: sessions in Streamlit's own protocol, without a browser, on an app that is started for it.

    python -m tests.benchmarks.sessions --sessions 25 --seconds 20

Each person types, and now and then sets the heads or the mask or clicks a cell, with a second to think in between. The
time is from the change sent to the run finished. The app and its people share this machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException

from tests.benchmarks.figures import SIZES, WORDS, link
from tests.benchmarks.measure import quantile
from tests.benchmarks.protocol import Session, open_session
from tests.browser.harness import running_app

GOAL = 400.0
MOST_SESSIONS, MOST_SECONDS = 200, 300.0
THINK = (0.5, 1.5)  # seconds between an answer and the next change
KINDS = {"type": 12, "heads": 3, "mask": 2, "click": 3}  # what people do, and how often
Times = dict[str, list[float]]


def memory(pid: int) -> float:
    """Return a process's resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def processor(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def change(kind: str, draw: random.Random, text: str) -> tuple[str, Any]:
    """Return the key of a widget and its new value."""
    if kind == "type":
        return "text_line", text[: -1 if len(text) > 60 else None] + draw.choice("abcdefgh ")
    if kind == "heads":
        return "n_heads", draw.randint(1, SIZES["n_heads"])
    if kind == "mask":
        return "mask.en", [draw.choice(("none", "causal", "window"))]
    cell = {"name": "weights", "row": draw.randrange(8), "col": draw.randrange(8)}
    return "bridge", {"cell": cell}


async def use(session: Session, until: float, draw: random.Random, times: Times) -> str:
    """Use the app until a time; return what went wrong, or ""."""
    text = WORDS
    await asyncio.sleep(draw.uniform(0, THINK[1]))  # nobody starts together
    while time.perf_counter() < until:
        kind = draw.choices(list(KINDS), list(KINDS.values()))[0]
        key, value = change(kind, draw, text)
        start = time.perf_counter()
        try:
            await session.run(key, value)
        except (WebSocketException, OSError, TimeoutError, KeyError) as error:
            return f"{key}: {type(error).__name__} {error}"
        times[kind].append(1000 * (time.perf_counter() - start))
        text = value if kind == "type" else text
        await asyncio.sleep(draw.uniform(*THINK))
    return ""


async def drive(url: str, pid: int, n: int, seconds: float) -> None:
    """Let n people in, let them use the app, and print what it was like."""
    first = await open_session(url, link())  # the process has imported everything before memory is looked at
    await asyncio.sleep(1)
    before = memory(pid)
    start = time.perf_counter()
    sessions = await asyncio.gather(*(open_session(url, link()) for _ in range(n)))
    opening, opened = time.perf_counter() - start, memory(pid)
    times: Times = defaultdict(list)
    used, start = processor(pid), time.perf_counter()
    people = (use(s, start + seconds, random.Random(i), times) for i, s in enumerate(sessions))
    errors = [error for error in await asyncio.gather(*people) if error]
    took = time.perf_counter() - start
    busy = processor(pid) - used
    print(f"{n} sessions for {seconds:g} s, d_model 16, 4 heads, text that grows; opened together in {opening:.1f} s")
    print(f"{'change':8}  {'runs':>5}  {'p50 ms':>7}  {'p95 ms':>7}  {'p99 ms':>7}  {'most':>7}")
    times["all"] = [ms for kind in KINDS for ms in times[kind]]
    for kind, taken in times.items():
        shares = "  ".join(f"{quantile(taken, share):7.0f}" for share in (0.5, 0.95, 0.99, 1))
        print(f"{kind:8}  {len(taken):5}  {shares}")
    print(f"goal: p95 {GOAL:g} ms, no error")
    n_runs = max(1, len(times["all"]))
    print(f"{n_runs / took:.1f} runs a second, {1000 * busy / n_runs:.0f} ms of processor each,", end=" ")
    print(f"{100 * busy / took:.0f} % of one core; this machine's load was {os.getloadavg()[0]:.1f}")
    per = [(opened - before) / n, (memory(pid) - before) / n]
    print(f"memory {before:.0f} MB with one session, {per[0]:.2f} MB for each more when opened, {per[1]:.2f} after use")
    exceptions, received = (sum(getattr(s, name) for s in sessions) for name in ("n_exceptions", "n_bytes"))
    print(f"errors {len(errors)}, exceptions on pages {exceptions}, received {received / 1e6:.1f} MB")
    for error in dict.fromkeys(errors):
        print(f"! {error}")
    await asyncio.gather(*(s.socket.close() for s in [first, *sessions]))


def main() -> None:
    """Start the app, drive it and stop it."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--sessions", type=int, default=25, help=f"at most {MOST_SESSIONS} (default 25)")
    arguments.add_argument("--seconds", type=float, default=20, help=f"at most {MOST_SECONDS:g} (default 20)")
    given = arguments.parse_args()
    n, seconds = max(1, min(given.sessions, MOST_SESSIONS)), min(given.seconds, MOST_SECONDS)
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder) / "app.log") as app:
        asyncio.run(drive(app.url, app.process.pid, n, seconds))
        if (n_tracebacks := app.log().count("Traceback")) > 0:
            print(f"! {n_tracebacks} tracebacks in the app's log, which ends:\n{app.log()[-3000:]}")


if __name__ == "__main__":
    main()
