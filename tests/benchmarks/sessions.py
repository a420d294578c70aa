"""Many people at once: sessions in Streamlit's own protocol, without a browser, on an app that is started for it.

    python -m tests.benchmarks.sessions                           10, 50 and 200 people on one process
    python -m tests.benchmarks.sessions --nginx                   the same on three, behind nginx
    python -m tests.benchmarks.sessions --bare                    the same on a bare Streamlit page
    python -m tests.benchmarks.sessions --sessions 25 --soak 30   memory, minute by minute, for half an hour
    python -m tests.benchmarks.sessions --beside training         what one reader's long job costs the others
    python -m tests.benchmarks.sessions --beside long             a text of 32,768 words
    python -m tests.benchmarks.sessions --beside model            SmolLM2 and MiniLM loaded in turn

Each person types, slides or clicks, with a second to think in between. The time is from the change sent to its last
new figure. The app and its people share this machine's cores: the people take some of them, too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.beside import JOBS, beside
from tests.benchmarks.figures import FLOORS, link
from tests.benchmarks.people import GOALS, Crowd, gather, memory, processor, shares
from tests.browser.harness import Server, running_app
from tests.deploy.replicas import running_site

MOST_SESSIONS, MOST_SECONDS, MOST_MINUTES = 400, 300.0, 120.0


@contextmanager
def started(given: argparse.Namespace, folder: Path) -> Iterator[tuple[Server, list[Server]]]:
    """What people reach, and the processes that answer."""
    if given.nginx:
        with running_site(folder) as site:
            yield site.front, site.replicas
    else:
        script = str(FLOORS / "people.py") if given.bare else "app.py"
        with running_app(folder / "app.log", script=script) as app:
            yield app, [app]


async def warm(replicas: list[Server], query: str) -> float:
    """Have every process import everything and be used, and return the memory of all, in MB."""
    for replica in replicas:
        crowd = await gather(replica.url, 4, bare=not query)
        await crowd.use(4)
        await crowd.leave()
    await asyncio.sleep(5)  # what the imports made has been collected and frozen
    return memory([replica.process.pid for replica in replicas])


async def drive(front: Server, replicas: list[Server], n: int, given: argparse.Namespace) -> None:
    """Let n people in, let them use the app, and print what it was like."""
    pids = [replica.process.pid for replica in replicas]
    before, start = memory(pids), time.perf_counter()
    crowd = await gather(front.url, n, bare=given.bare)
    opening, opened = time.perf_counter() - start, memory(pids)
    used, start = processor(pids), time.perf_counter()
    await crowd.use(given.seconds)
    took, busy, after = time.perf_counter() - start, processor(pids) - used, memory(pids)
    runs = max(1, len(crowd.all))
    print(f"{n} people for {given.seconds:g} s, all opened in {opening:.1f} s")
    report(crowd)
    print(f"{runs / took:.1f} runs a second, {1000 * busy / runs:.0f} ms of processor each,", end=" ")
    print(f"{100 * busy / took:.0f} % of one core; this machine's load was {os.getloadavg()[0]:.1f}")
    per = [(opened - before) / n, (after - before) / n]
    print(f"memory {before:.0f} MB before, {per[0]:.2f} MB a session when opened, {per[1]:.2f} after use\n", flush=True)
    await crowd.leave()


def report(crowd: Crowd) -> None:
    """Print the times by kind, and what went wrong."""
    print(f"{'change':8}  {'runs':>5}  {'p50 ms':>7}  {'p95 ms':>7}  {'p99 ms':>7}  {'most':>7}")
    for kind, taken in [*crowd.times.items(), ("all", crowd.all)]:
        print(f"{kind:8}  {len(taken):5}  {shares(taken)}")
    exceptions, received = (sum(getattr(s, name) for s in crowd.sessions) for name in ("n_exceptions", "n_bytes"))
    print(f"errors {len(crowd.errors)}, exceptions on pages {exceptions}, received {received / 1e6:.1f} MB")
    for error in dict.fromkeys(crowd.errors):
        print(f"! {error}")


async def soak(front: Server, replicas: list[Server], n: int, given: argparse.Namespace) -> None:
    """Use the app for a long time, print its memory every minute, and say whether it grows."""
    pids, per = [replica.process.pid for replica in replicas], []
    before, crowd = memory(pids), await gather(front.url, n, bare=given.bare)
    print(f"{'minute':>6}  {'MB':>6}  {'MB a session':>12}  {'p50 ms':>7}  {'p95 ms':>7}  {'p99 ms':>7}  {'most':>7}")
    for minute in range(1, round(given.soak) + 1):
        crowd.times.clear()
        await crowd.use(60)
        now = memory(pids)
        per.append((now - before) / n)
        print(f"{minute:6}  {now:6.0f}  {per[-1]:12.2f}  {shares(crowd.all)}", flush=True)
    third = max(1, len(per) // 3)
    first, last = statistics.median(per[:third]), statistics.median(per[-third:])
    print(f"MB a session: {first:.2f} in the first third, {last:.2f} in the last; errors {len(crowd.errors)}")
    await crowd.leave()


async def measure(front: Server, replicas: list[Server], given: argparse.Namespace) -> None:
    """Measure what was asked for."""
    before = await warm(replicas, "" if given.bare else link())
    what = "a bare page" if given.bare else "attnviz, d_model 16, 4 heads, 12 words"
    where = "three processes behind nginx" if given.nginx else "one process"
    print(f"{what}; {where}, {before:.0f} MB; {GOALS}\n")
    for n in given.sessions:
        if given.beside:
            await beside(front.url, given.beside, n, given.seconds)
        elif given.soak:
            await soak(front, replicas, n, given)
        else:
            await drive(front, replicas, n, given)


def numbers(text: str) -> list[int]:
    """Read "10,50"; each at most MOST_SESSIONS.

    >>> numbers("10,5000")
    [10, 400]
    """
    return [max(1, min(int(each), MOST_SESSIONS)) for each in text.split(",")]


def main() -> None:
    """Start the app, drive it and stop it."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--sessions", type=numbers, help="how many, one after another (default 10,50,200)")
    arguments.add_argument("--seconds", type=float, default=20, help=f"of each, at most {MOST_SECONDS:g} (default 20)")
    arguments.add_argument("--nginx", action="store_true", help="three processes, behind nginx")
    arguments.add_argument("--bare", action="store_true", help="a bare Streamlit page in place of attnviz")
    arguments.add_argument("--soak", type=float, default=0, help=f"minutes, at most {MOST_MINUTES:g}")
    arguments.add_argument("--beside", choices=JOBS, help="beside a long job of one more reader")
    given = arguments.parse_args()
    given.seconds, given.soak = min(given.seconds, MOST_SECONDS), min(given.soak, MOST_MINUTES)
    given.sessions = given.sessions or ([25] if given.soak or given.beside else [10, 50, 200])
    with tempfile.TemporaryDirectory() as folder, started(given, Path(folder)) as (front, replicas):
        asyncio.run(measure(front, replicas, given))
        for replica in replicas:
            if (n_tracebacks := replica.log().count("Traceback")) > 0:
                print(f"! {n_tracebacks} tracebacks in the app's log, which ends:\n{replica.log()[-3000:]}")


if __name__ == "__main__":
    main()
