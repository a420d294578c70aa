"""Where the Python part of an edit and of a click goes: the app under cProfile, driven without a browser.

    python -m tests.benchmarks.script_profile

Own time is summed by package; below it stand the functions of attnviz and Streamlit's elements with all they call.
A profile slows small functions down more than large ones: take shares from it, and times from the other benchmarks.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import WORDS, link
from tests.benchmarks.measure import parser
from tests.benchmarks.protocol import open_session
from tests.browser.harness import ROOT, Server, free_port, wait_until_healthy

KINDS = ("edit", "click")
PACKAGES = ("attnviz", "pages", "streamlit", "plotly", "_plotly_utils", "torch", "pandas", "pyarrow", "numpy")
SHOWN = 40
Function = tuple[str, int, str]  # file, line, name: pstats' key


def serve(port: str, folder: str, warm: str) -> None:
    """Serve the app with a profile around every run of a script; the file of a kind is rewritten after each run."""
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
    from streamlit.web import cli

    whole = ScriptRunner._run_script
    profiles = {kind: cProfile.Profile() for kind in KINDS}
    n_runs: dict[str, int] = defaultdict(int)

    def run(self: ScriptRunner, rerun_data: Any) -> None:
        kind = "click" if rerun_data.fragment_id_queue else "edit"
        n_runs[kind] += 1
        if n_runs[kind] <= int(warm):
            whole(self, rerun_data)
        else:
            profiles[kind].runcall(whole, self, rerun_data)
            profiles[kind].dump_stats(f"{folder}/{kind}")

    ScriptRunner._run_script = run  # type: ignore[method-assign]
    options = ["--server.headless", "true", "--server.address", "127.0.0.1", "--server.port", port]
    cli.main(["run", "app.py", *options])


async def drive(url: str, n: int) -> None:
    """Type n times and click n cells."""
    session = await open_session(url, link())
    for i in range(n):
        await session.run("text_line", WORDS[:-1] + chr(ord("a") + i % 26))
    for i in range(n):
        await session.run("bridge", {"cell": {"name": "weights", "row": i % 12, "col": i // 12 % 12}})
    await asyncio.sleep(1)  # the last profile is written after the run's end was sent
    await session.socket.close()


def package(function: Function) -> str:
    """Return the package that a function belongs to: of torch's many files, "torch"."""
    parts = Path(function[0]).parts
    return next((p for p in reversed(parts) if p in PACKAGES), "Python itself")


def show(kind: str, file: Path, n: int) -> None:
    """Print one kind's profile, in ms a run."""
    stats: dict[Function, tuple[int, int, float, float, Any]] = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    own: dict[str, float] = defaultdict(float)
    for function, (_, _, alone, _, _) in stats.items():
        own[package(function)] += 1000 * alone / n
    print(f"\n{kind}: {sum(own.values()):.1f} ms a run under the profile, own time by package:")
    print("  ".join(f"{name} {ms:.1f}" for name, ms in sorted(own.items(), key=lambda pair: -pair[1]) if ms >= 0.05))
    print(f"{'with calls':>10}  {'own':>6}  {'calls':>6}  function")
    ours = [f for f in stats if package(f) in ("attnviz", "pages") or "/streamlit/elements/" in f[0]]
    for function in sorted(ours, key=lambda f: -stats[f][3])[:SHOWN]:
        _, calls, alone, cumulative, _ = stats[function]
        place = "/".join(Path(function[0]).parts[-2:])
        times = f"{1000 * cumulative / n:10.2f}  {1000 * alone / n:6.2f}  {calls / n:6.1f}"
        print(f"{times}  {place}:{function[1]} {function[2]}")


def main() -> None:
    """Serve the app in a process of its own, drive it, and print both profiles."""
    given = parser(__doc__ or "", 20).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port, log_file = str(free_port()), Path(folder) / "app.log"
        command = [sys.executable, "-m", "tests.benchmarks.script_profile", "serve", port, folder, str(given.warm)]
        with log_file.open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        server = Server(f"http://127.0.0.1:{port}", process, log_file)
        try:
            wait_until_healthy(server, 60)
            asyncio.run(drive(server.url, given.warm + given.n))
        finally:
            process.terminate()
            process.wait(timeout=20)
        for kind in KINDS:  # the first run of the page counts as an edit, and as a warm one
            show(kind, Path(folder) / kind, given.n + (kind == "edit"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:])
    else:
        main()
