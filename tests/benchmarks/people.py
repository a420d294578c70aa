"""People who use the app at once, each a session without a browser: they type and slide, click and think."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException

from tests.benchmarks.figures import SIZES, WORDS, link
from tests.benchmarks.measure import quantile
from tests.benchmarks.protocol import Session, open_session

THINK = (0.5, 1.5)  # seconds between an answer and the next change
# What people do on a page, and how often. Three of four type on the board; the fourth slides, in a lab.
BOARD = {"type": 12, "heads": 3, "mask": 2, "click": 3}
LAB = {"slide": 3, "type": 1}
BARE = {"type": 3, "slide": 1}  # on floors/people.py
GOALS = "goal: 50 sessions on two cores with p95 under 600 ms, no error, and under 2 MB a session"


@dataclass
class Crowd:
    """Sessions, and what became of them: milliseconds from a change to its last figure, by kind; errors."""

    sessions: list[Session]
    bare: bool = False
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        """The times of every kind."""
        return [ms for taken in self.times.values() for ms in taken]

    async def use(self, seconds: float) -> None:
        """Let everybody use the app for so long."""
        until = time.perf_counter() + seconds
        await asyncio.gather(*(self._one(session, i, until) for i, session in enumerate(self.sessions)))

    async def leave(self) -> None:
        """Let everybody go."""
        await asyncio.gather(*(session.socket.close() for session in self.sessions))

    async def _one(self, session: Session, i: int, until: float) -> None:
        draw, text = random.Random(i), WORDS
        does = BARE if self.bare else LAB if session.name else BOARD
        await asyncio.sleep(draw.uniform(0, THINK[1]))  # nobody starts together
        while time.perf_counter() < until:
            kind = draw.choices(list(does), list(does.values()))[0]
            key, value = change(kind, draw, text)
            start = time.perf_counter()
            try:
                await session.run(key, value)
            except (WebSocketException, OSError, TimeoutError, KeyError) as error:
                self.errors.append(f"{key}: {type(error).__name__} {error}")
                return
            came = session.figure_at if session.figure_at > start else time.perf_counter()
            self.times[kind].append(1000 * (came - start))
            text = value if kind == "type" else text
            await asyncio.sleep(draw.uniform(*THINK))


def change(kind: str, draw: random.Random, text: str) -> tuple[str, Any]:
    """Return the key of a widget and its new value."""
    if kind == "type":
        return "text_line", text[: -1 if len(text) > 60 else None] + draw.choice("abcdefgh ")
    if kind == "heads":
        return "n_heads", draw.randint(1, SIZES["n_heads"])
    if kind == "mask":
        return "mask.en", [draw.choice(("none", "causal", "window"))]
    if kind == "slide":
        return "decoded", [draw.randint(1, 12)]
    return "bridge", {"cell": {"name": "weights", "row": draw.randrange(8), "col": draw.randrange(8)}}


async def gather(url: str, n: int, *, bare: bool = False) -> Crowd:
    """Let n people in: three of four on the board, the fourth in a lab with a slider."""
    pages = ["decoding" if i % 4 == 3 and not bare else "" for i in range(n)]
    opened = await asyncio.gather(*(open_session(url, "" if bare else link(), page=page) for page in pages))
    return Crowd(list(opened), bare)


def shares(taken: list[float]) -> str:
    """Return p50, p95, p99 and the most."""
    return "  ".join(f"{quantile(taken, share):7.0f}" for share in (0.5, 0.95, 0.99, 1))


def memory(pids: list[int]) -> float:
    """Return the resident memory of processes together, in MB."""
    found = (Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0] for pid in pids)
    return sum(int(kb) / 1024 for kb in found)


def processor(pids: list[int]) -> float:
    """Return the seconds of processor time that processes have used together."""
    stats = (Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids)
    return sum((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") for fields in stats)
