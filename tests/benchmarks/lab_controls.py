"""From a lab's own control to the painted figures that it changes, in a real browser.

    python -m tests.benchmarks.lab_controls            all of them
    python -m tests.benchmarks.lab_controls positions  those whose name holds a word

The control moves between two settings. The floor of each lab is a bare script with a widget of the same kind, of as
many choices, that draws that lab's own figures of both settings, made beforehand, on a page with the navigation of an
app of as many pages. Only figures that both settings have, and whose picture the setting changes, are waited for, until
they all show what they showed at rest with that setting.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from attnviz.experiment import Experiment, View, to_query
from attnviz.ui.controls import LIVE
from tests.benchmarks.figures import WORDS, running_floor
from tests.benchmarks.measure import line, parser
from tests.benchmarks.painted import opened, painted, report
from tests.browser.harness import Server, Watch, launch_browser, running_app, wait_idle
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

GOAL = 1.3


class Control(NamedTuple):
    """A lab's control: the key of its widget, its kind, the field it sets, and the two settings that it moves between.

    A choice also says which of its buttons are the two.
    """

    key: str
    kind: str  # "choice", "slider", "toggle", "text" that is live, or "line" that waits for Enter
    field: str
    settings: tuple[Any, Any]
    buttons: tuple[int, int] = (0, 1)


CONTROLS = {
    "scores-scale": Control("draw_d_k", "slider", "draw_d_k", (64, 128)),
    "scores-softmax": Control("axis", "choice", "axis", ("u", "s")),
    "scores-masks": Control("hidden_value", "choice", "hidden_value", ("-10", "-1"), (1, 2)),
    "output-value": Control("value_is", "choice", "value_is", ("v", "k")),
    "roles-lookup": Control("lookup", "slider", "lookup", (1.0, 2.0)),
    "roles-matrices": Control("tied", "toggle", "tied", (False, True)),
    "heads-split": Control("h", "choice", "h", (0, 1)),
    "heads-shared": Control("kv_heads", "choice", "kv_heads", (1, 2)),
    "heads-cross": Control("context", "text", "context", ("a black cat sleepa", "a black cat sleepb")),
    "heads-average": Control("sharpness", "slider", "sharpness", (0.5, 1.0)),
    "decoding": Control("decoded", "slider", "decoded", (4, 5)),
    "einsum": Control("sizes", "text", "sizes", ("k=5", "k=6")),
    "proof": Control("knocked", "choice", "knocked", ("edge", "token")),
    "positions": Control("order", "line", "order", ("2 1 3 4 5 6 7 8 9 10 11 12", "12 11 3 4 5 6 7 8 9 10 2 1")),
}


def query(lab: Lab, control: Control, i: int) -> str:
    """Return the link to a lab with one of the two settings, its answers revealed."""
    view = View()
    set_to = {control.field: control.settings[i]}
    view = replace(view, **set_to) if control.field == "h" else replace(view, lab=replace(view.lab, **set_to))
    mask = "causal" if str(lab) == "scores-masks" else "none"
    view = replace(view, lab=replace(view.lab, section=lab.section or "step", reveal=tuple(lab.questions)))
    return to_query(Experiment(WORDS, mask=mask), view)


def figures(lab: Lab, control: Control) -> dict[str, Any]:
    """Return the lab's figures for both settings, and which of them differ."""
    boards, config, choices = [], {}, []
    for i in (0, 1):
        session = Session(lab.page, **dict(parse_qsl(query(lab, control, i))))
        if control.kind == "choice":
            choices = list(session.widget(control.key).options)
        boards.append(session.charts())
        config = json.loads(session.at.get("plotly_chart")[0].proto.config)
    keys = [key for key in boards[0] if key in boards[1]]
    return {
        "blocks": [list(board) for board in boards],
        "boards": [list(board.values()) for board in boards],
        "changed": [key for key in keys if boards[0][key]["data"] != boards[1][key]["data"]],
        "kind": control.kind,
        "live": LIVE,
        "states": control.settings,
        "choices": choices,
        "buttons": control.buttons,
        "config": config,
    }


class Side(NamedTuple):
    """A page with the control on it."""

    page: Page
    widget: Locator
    buttons: tuple[int, int]  # of a choice
    block: str  # what stands before a figure's key in the key of its container

    def hand(self, control: Control, i: int, arm: str = "() => {}") -> None:
        """Move the control to setting i; arm, a script, is called with the name of the hand's event just before it."""
        page, widget = self.page, self.widget
        page.bring_to_front()
        if control.kind == "choice":
            page.evaluate(arm, "click")
            widget.get_by_role("radio").nth(self.buttons[i]).click()
        elif control.kind == "toggle":
            page.evaluate(arm, "click")
            widget.locator("label").first.click()
        elif control.kind == "slider":
            widget.get_by_role("slider").focus()
            page.evaluate(arm, "keydown")
            page.keyboard.press("ArrowRight" if i else "ArrowLeft")
        else:
            box = widget.locator("input")
            if control.kind == "line":
                box.fill(control.settings[i])
                page.evaluate(arm, "keydown")
                box.press("Enter")
            else:
                box.press("End")
                box.press("Shift+ArrowLeft")
                page.evaluate(arm, "input")
                page.keyboard.press(control.settings[i][-1])

    def pictures(self, control: Control, keys: Sequence[str]) -> list[list[list[str]]]:
        """Return the pictures of the figures with these keys at rest with either setting, and stay at the first."""
        self.page.evaluate("names => { bench.blocks = names; }", [self.block + key for key in keys])
        seen = []
        for i in (1, 0):
            self.hand(control, i)
            wait_idle(self.page, quiet=600)
            seen.append(self.page.evaluate("() => bench.charts()"))
        return seen[::-1]

    def move(self, control: Control, i: int) -> float:
        """Return the time from the hand's event to the frame with the pictures of setting i, bench.known, in ms."""
        self.hand(control, i, f"event => bench.arm(event, () => bench.charts().join() === bench.known[{i}])")
        return painted(self.page)["painted"]


def learn(sides: Sequence[Side], control: Control, keys: Sequence[str]) -> int:
    """Let each page know the pictures to wait for: of the figures where the settings differ; return how many do."""
    seen = [side.pictures(control, keys) for side in sides]
    differ = [k for k in range(len(keys)) if all(a[k] and b[k] and a[k] != b[k] for a, b in seen)]
    if not differ:
        raise AssertionError("the control changes no picture")
    for side, settings in zip(sides, seen, strict=True):
        known = [[pictures[k] for k in differ] for pictures in settings]
        side.page.evaluate(
            "([names, known]) => { bench.blocks = names; bench.known = known.map((pictures) => pictures.join()); }",
            [[side.block + keys[k] for k in differ], known],
        )
    return len(differ)


def measure(lab: Lab, app: Server, browser: Browser, watch: Watch, n: int, warm: int) -> str:
    """Return one line of the table."""
    control = CONTROLS[str(lab)]
    given = figures(lab, control)
    page_path = "" if lab.page == "explore" else lab.page
    address = f"{app.url}/{page_path}?{query(lab, control, 0)}"
    taken: list[list[float]] = [[], []]
    with (
        tempfile.TemporaryDirectory() as folder,
        running_floor("control", given, Path(folder)) as floor,
        opened(browser, address, watch) as page,
        opened(browser, floor.url, watch) as bare,
    ):
        own = page.locator(f".st-key-{control.key}, .st-key-{control.key}-en")
        theirs = bare.locator(".st-key-control")
        sides = (Side(page, own, control.buttons, ""), Side(bare, theirs, control.buttons, "block-"))
        n_drawn = learn(sides, control, given["changed"])
        for turn in range(warm + n):
            for side, times in zip(sides, taken, strict=True):
                times.append(side.move(control, 1 - turn % 2))
    return line(str(lab), n_drawn, *(times[warm:] for times in taken))


def main() -> None:
    """Measure each lab against its floor and print the table."""
    arguments = parser(__doc__ or "", 12)
    arguments.add_argument("words", nargs="*", help="measure only labs whose name holds one of these")
    given = arguments.parse_args()
    labs = [lab for lab in LABS if str(lab) in CONTROLS and any(w in str(lab) for w in given.words or [""])]
    watch = Watch()
    print(f"a control to the painted figures, ms, median (middle half); {given.n} moves a side, in turn; goal {GOAL:g}")
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
