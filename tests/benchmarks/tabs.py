"""The memory of the tabs of a browser that this process started: read, and bounded."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def bounded(most: int) -> Iterator[threading.Event]:
    """Kill the process of a tab, one of this process's own, that grows past `most` bytes; the event says it was."""
    killed, over = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            for process in renderers():
                if resident(process) > most:
                    killed.set()
                    os.kill(process, 9)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def renderers() -> list[int]:
    """Return the tabs' processes among those that this process started."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(folder.name)] = int(after_name[1])
            if "--type=renderer" in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return [process for process in found if _descends(process, parents)]


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process > 1:
        process = parents.get(process, 0)
        if process == os.getpid():
            return True
    return False


def resident(process: int) -> int:
    """Return the bytes of a process that are in memory; 0 once it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
