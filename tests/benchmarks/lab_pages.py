"""From a key in the text box to the painted figures of every lab, in a real browser.

    python -m tests.benchmarks.lab_pages            all of them
    python -m tests.benchmarks.lab_pages positions  those whose name holds a word

The floor of each lab is a bare script with the same live text box that draws that lab's own figures, made beforehand;
every other key gives it the other set. Only figures that the key changes are waited for. Labs whose figures are of the
sizes and not of the words have nothing to wait for, and are left out.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.edit_to_painted import edit
from tests.benchmarks.figures import WORDS, running_floor
from tests.benchmarks.measure import line, parser
from tests.benchmarks.painted import opened, report
from tests.browser.harness import Server, Watch, launch_browser, running_app
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

GOAL = 1.3


def figures(lab: Lab) -> dict[str, Any]:
    """Return the lab's figures for two texts, and which of them differ."""
    boards, config = [], {}
    for letter in "ba":  # the floor takes the second for odd letters
        session = Session(lab.page, **lab.query, text=WORDS[:-1] + letter, reveal=",".join(map(str, lab.questions)))
        boards.append(session.charts())
        config = json.loads(session.at.get("plotly_chart")[0].proto.config)
    keys = [key for key in boards[0] if key in boards[1]]
    changed = [key for key in keys if boards[0][key]["data"] != boards[1][key]["data"]]
    return {
        "blocks": keys,
        "boards": [[board[key] for key in keys] for board in boards],
        "changed": changed,
        "live": "120ms",
        "config": config,
        "text": WORDS,
    }


def measure(lab: Lab, app: Server, browser: Browser, watch: Watch, n: int, warm: int) -> str:
    """Return one line of the table."""
    given = figures(lab)
    if not given["changed"]:
        return f"{lab!s:22}  no figure of it follows the words"
    query = "&".join(f"{name}={value}" for name, value in lab.query.items())
    address = f"{app.url}/{lab.page}?{query}&text={WORDS.replace(' ', '+')}"
    address += "".join(f"&reveal={','.join(map(str, lab.questions))}" if lab.questions else "")
    letters = ("bcdefghijklmnopqrstuvwxyza" * (1 + (n + warm) // 26))[: n + warm]
    sides: list[list[float]] = [[], []]
    with tempfile.TemporaryDirectory() as folder, running_floor("edit", given, Path(folder)) as floor:
        ours = opened(browser, address, watch, given["changed"])
        theirs = opened(browser, floor.url, watch, [f"block-{key}" for key in given["changed"]])
        with ours as page, theirs as bare:
            for letter in letters:
                for one, taken in zip((page, bare), sides, strict=True):
                    taken.append(edit(one, letter)["painted"])
    us, them = (taken[warm:] for taken in sides)
    return line(str(lab), len(given["blocks"]), us, them)


def main() -> None:
    """Measure each lab against its floor and print the table."""
    arguments = parser(__doc__ or "", 12)
    arguments.add_argument("words", nargs="*", help="measure only labs whose name holds one of these")
    given = arguments.parse_args()
    labs = [
        lab for lab in LABS if lab.page != "explore" and (not given.words or any(w in str(lab) for w in given.words))
    ]
    watch = Watch()
    print(f"a key to the painted figures, ms, median (middle half); {given.n} keys a side, in turn; goal {GOAL:g}")
    print(f"{'lab':22}  {'figures':>7}  {'attnviz':>24}  {'floor':>24}  {'ratio':>5}  {'middle half':>11}")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "app.log") as app,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        for lab in labs:
            print(measure(lab, app, browser, watch, given.n, given.warm), flush=True)
        browser.close()
    report(watch)


if __name__ == "__main__":
    main()
