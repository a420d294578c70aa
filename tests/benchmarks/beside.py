"""What one reader's long job costs all others: their times alone and beside it, in turns."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from attnviz.limits import LONG_TOKENS
from tests.benchmarks.measure import quantile
from tests.benchmarks.people import gather, shares
from tests.benchmarks.protocol import open_session

GOAL, ROUNDS = 1.5, 2
TRAINING = {"ran": "1", "steps": "2000", "layers": "4", "width": "64", "heads": "8"}


async def training(url: str, n: int) -> str:
    """A link that trains again: a job runs as long as its session is there."""
    session = await open_session(url, urlencode(TRAINING | {"draw": str(n)}), page="training")
    try:
        await asyncio.sleep(3600)
    finally:
        await session.socket.close()
    return ""


async def long(url: str, n: int) -> None:
    """A text of 32,768 words, and another as soon as it stands."""
    session = await open_session(url)
    draw = random.Random(n)
    try:
        while True:
            words = " ".join(draw.choice(("the", "cat", "sat", "on", "mat", "dog")) for _ in range(LONG_TOKENS))
            await session.run("text_line", words)
            for _ in range(10):  # a page that waits for a map runs its fragment again and again
                await asyncio.sleep(0.3)
                await session.run()
    finally:
        await session.socket.close()


async def model(url: str, n: int) -> None:
    """A model that takes ten seconds to load, another one that releases it, and so on."""
    while True:
        for name in ("smollm2", "minilm"):
            session = await open_session(url, urlencode({"model": name, "text": f"some words {n}"}), page="trained")
            while not any(key.startswith("chart-") for key in session.elements):
                await asyncio.sleep(0.3)
                await session.run()
            await session.socket.close()


JOBS: dict[str, Callable[[str, int], Awaitable[object]]] = {"training": training, "long": long, "model": model}


async def beside(url: str, name: str, n: int, seconds: float) -> None:
    """Let n people use the app, alone and beside a long job, in turns, and print both."""
    crowd = await gather(url, n)
    sides: dict[str, list[float]] = {"alone": [], f"beside {name}": []}
    for i in range(ROUNDS):
        for side, taken in sides.items():
            job = None if side == "alone" else asyncio.ensure_future(JOBS[name](url, i))
            if job:
                await asyncio.sleep(2)
            crowd.times.clear()
            await crowd.use(seconds / ROUNDS)
            taken += crowd.all
            if job:
                while not job.done():  # a wait that ends just then swallows the request
                    job.cancel()
                    await asyncio.wait([job], timeout=1)
                await asyncio.sleep(3)  # what is under way there ends
    print(f"{n} people; errors {len(crowd.errors)}")
    print(f"{'':16}  {'runs':>5}  {'p50 ms':>7}  {'p95 ms':>7}  {'p99 ms':>7}  {'most':>7}")
    for side, taken in sides.items():
        print(f"{side:16}  {len(taken):5}  {shares(taken)}")
    alone, with_it = (quantile(taken, 0.95) for taken in sides.values())
    print(f"p95 {with_it / alone:.2f} times that alone; goal {GOAL:g}")
    await crowd.leave()
