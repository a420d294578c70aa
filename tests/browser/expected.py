"""What a page should show, computed here from the experiment alone, and compared number by number."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnviz.experiment import Experiment, Run
from attnviz.figures.panels import AXES
from tests.browser.figure import BLOCKS, PANELS, Box
from tests.browser.reader import Reader


def tensor(run: Run, name: str, b: int = 0, h: int = 0) -> Tensor:
    """One panel of a run: of sequence b and query head h."""
    trace = run.trace
    assert trace is not None
    groups = trace.query.shape[1] // trace.key.shape[1]
    k, d, kv = trace.key.shape[-1], trace.value.shape[-1], h // groups
    if name == "x":
        return run.x[b]
    if name.startswith("w_"):
        weight = {"w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v}[name]
        head, size = (h if name == "w_q" else kv), (d if name == "w_v" else k)
        return weight[:, head * size : (head + 1) * size]  # (m, h*k) -> (m, k)
    if name == "key_t":
        return trace.key[b, kv].T
    if name == "row_sums":
        return trace.weights[b, h].sum(-1, keepdim=True)
    whole: Tensor = getattr(trace, name)
    return whole[b, kv if name in ("key", "value") else h]


def shows(reader: Reader, experiment: Experiment, b: int = 0, h: int = 0, blocks: tuple[str, ...] = BLOCKS) -> None:
    """Fail unless every panel holds exactly the numbers of a run made here."""
    run = experiment.run()
    for block in blocks:
        for name in PANELS[block]:
            drawn, right = torch.tensor(reader.values(block, name)), tensor(run, name, b, h)
            assert drawn.shape == right.shape, f"{name} of {block}: {tuple(drawn.shape)}, not {tuple(right.shape)}"
            right = torch.where(right.isfinite(), right, torch.nan)  # what is -inf is drawn as a mark of its own
            assert torch.equal(drawn.nan_to_num(9e9), right.nan_to_num(9e9)), f"{name} of {block} differs"


def prints(printed: str, value: float) -> bool:
    """Say whether a printed number is `value`, rounded to the digits it has.

    >>> prints("−0.13", -0.125), prints("0.126", 0.125), prints("−∞", float("-inf"))
    (True, False, True)
    """
    text = printed.replace("−", "-").replace("∞", "inf").replace(r"\infty", "inf")
    if math.isinf(value):
        return float(text) == value
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return abs(float(text) - value) <= half * (1 + 1e-6) + 1e-7 * abs(value)


def outlines(reader: Reader, block: str, hovered: dict[str, int], chosen: tuple[str, int, int] | None) -> list[Box]:
    """The outlines of a block while what `hovered` names (letter -> index) is under the pointer."""
    boxes = []
    for name, frame in reader.frames(block).items():
        if name not in AXES:
            continue  # the ground of masked cells
        row, column = AXES[name]
        for letter in ("s", "u") if name == "x" else (row,):  # X is read by queries and by keys
            if letter in hovered:
                boxes.append(frame.cells(hovered[letter], 0, hovered[letter], frame.columns - 1))
        if column in hovered:
            boxes.append(frame.cells(0, hovered[column], frame.rows - 1, hovered[column]))
        if chosen and chosen[0] == name:
            boxes.append(frame.cells(*chosen[1:], *chosen[1:]))
    return boxes


def same_boxes(found: list[Box], right: list[Box]) -> bool:
    """Say whether two lists hold the same rectangles, to a pixel, in whatever order."""
    return len(found) == len(right) and all(
        any(max(abs(a - b) for a, b in zip(one[:4], other[:4], strict=True)) <= 1 for other in found) for one in right
    )
