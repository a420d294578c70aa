"""The app's own figures, as it sent them: what the floors draw, so that both sides paint the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnviz.experiment import Experiment, View, to_query
from tests.benchmarks.painted import BLOCKS
from tests.benchmarks.protocol import open_session
from tests.browser.harness import Server, running_app

FLOORS = Path(__file__).parent / "floors"
WORDS = "the cat sat on the mat and the dog saw the rug"  # 12 tokens; edits type its last letter over
SIZES: dict[str, Any] = {"d_model": 16, "n_heads": 4}


def link(text: str = WORDS) -> str:
    """Return the query of the issue's measure: 12 tokens, d_model 16, 4 heads."""
    return to_query(Experiment(text, **SIZES), View())


async def app_figures(url: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the board of each text in Plotly's JSON, the page's own where there is none, and how charts are set up."""
    session = await open_session(url, query)
    boards = []
    for text in texts or [""]:
        if text:
            await session.run("text_line", text)
        charts = [session.elements[f"chart-{block}"].plotly_chart for block in BLOCKS]
        boards.append([json.loads(chart.spec) for chart in charts])
    live = session.elements["text_line"].text_input.live_debounce_ms
    config = json.loads(session.elements[f"chart-{BLOCKS[0]}"].plotly_chart.config)
    await session.socket.close()
    return {
        "blocks": BLOCKS,
        "boards": boards,
        "live": f"{live}ms",
        "config": config,
        "text": WORDS,
    }


@contextmanager
def running_floor(name: str, given: dict[str, Any], folder: Path) -> Iterator[Server]:
    """Run floors/<name>.py with what it needs to draw, in a file that the environment names."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    os.environ["ATTNVIZ_FLOOR"] = str(file)
    with running_app(folder / f"{name}.log", script=str(FLOORS / f"{name}.py")) as server:
        yield server
