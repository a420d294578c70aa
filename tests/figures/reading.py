"""Read a figure as a browser gets it: its JSON, with the typed arrays that travel as base64 decoded."""

import base64
import html
import json
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

from attnviz.experiment import Experiment, Run, View
from attnviz.figures.board import block_layout, draw
from attnviz.figures.colours import LIGHT, Theme

Figure = dict[str, Any]


def board(
    experiment: Experiment,
    block: str,
    view: View | None = None,
    *,
    theme: Theme = LIGHT,
    base: Run | None = None,
    run: Run | None = None,
) -> Figure:
    """Draw one block of an experiment and return it as a browser gets it."""
    view, run = view or View(), run or experiment.run()
    layout = block_layout(experiment, run, view, block, base)
    return received(draw([layout], run, experiment, view, theme, difference=base is not None))


def received(figure: go.Figure) -> Figure:
    """Return what reaches the browser."""
    sent: Figure = json.loads(figure.to_json())
    return sent


def array(value: Any) -> np.ndarray:
    """Decode a typed array, or a list."""
    if not isinstance(value, dict):
        return np.asarray(value)
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]).newbyteorder("<"))
    return flat.reshape([int(n) for n in str(value.get("shape", flat.size)).split(",")])


def panel(figure: Figure, name: str) -> dict[str, Any]:
    """Return the heatmap of a panel."""
    (found,) = [t for t in figure["data"] if t["type"] == "heatmap" and t["name"] == name]
    return dict(found)


def names(figure: Figure) -> list[str]:
    """Return the names of all panels, in their order."""
    return [t["name"] for t in figure["data"] if t["type"] == "heatmap" and t["name"] not in ("−∞", "∞", "NaN")]


def z(figure: Figure, name: str) -> np.ndarray:
    """Return the numbers of a panel."""
    return array(panel(figure, name)["z"])


def marks(figure: Figure, name: str, mark: str) -> np.ndarray:
    """Return which cells of a panel carry the ground of "−∞", "∞" or "NaN"."""
    of = panel(figure, name)
    found = np.zeros(array(of["z"]).shape, dtype=bool)
    for trace in figure["data"]:
        if trace["type"] == "heatmap" and trace["name"] == mark and trace["xaxis"] == of["xaxis"]:
            found |= np.isfinite(array(trace["z"]))
    return found


def edited(figure: Figure, name: str) -> set[tuple[int, int]]:
    """Return the (row, column) of the cells of a panel that are marked as typed."""
    of = panel(figure, name)
    found = [t for t in figure["data"] if t["name"] == "edited" and t["xaxis"] == of["xaxis"]]
    return {
        (round(float(row)), round(float(column)))
        for trace in found
        for row, column in zip(array(trace["y"]), array(trace["x"]), strict=True)
    }


def axis(figure: Figure, name: str, kind: str) -> dict[str, Any]:
    """Return the "x" or "y" axis of a panel."""
    number = panel(figure, name)[f"{kind}axis"][1:]
    found: dict[str, Any] = figure["layout"][f"{kind}axis{number}"]
    return found


def pixels(figure: Figure, name: str) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom of a panel's cells."""
    whole = figure["layout"]["width"], figure["layout"]["height"]
    (x0, x1), (y0, y1) = axis(figure, name, "x")["domain"], axis(figure, name, "y")["domain"]
    return x0 * whole[0], (1 - y1) * whole[1], x1 * whole[0], (1 - y0) * whole[1]


def shown(marked: str) -> str:
    """Return the text that a reader sees of Plotly's markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", marked))


def titles(figure: Figure) -> list[str]:
    """Return the titles of all panels, as read."""
    return [shown(note["text"]) for note in figure["layout"]["annotations"]]


def everything(value: Any, key: str = "") -> list[tuple[str, Any]]:
    """Return every (key, plain value) in a figure."""
    if isinstance(value, dict):
        return [pair for name, inner in value.items() for pair in everything(inner, name)]
    if isinstance(value, list):
        return [pair for inner in value for pair in everything(inner, key)]
    return [(key, value)]


def expected(run: Run, b: int, h: int) -> dict[str, torch.Tensor]:
    """Every matrix of one sequence and head, each head's columns cut out by reshaping and not as the figure does."""
    trace = run.trace
    assert trace is not None
    n_heads, n_kv_heads = trace.query.shape[1], trace.key.shape[1]
    of_query_head = [g for g in range(n_kv_heads) for _ in range(n_heads // n_kv_heads)]  # [0, 0, 1, 1]
    g = of_query_head[h]
    key, value = trace.key[b, g], trace.value[b, g]
    return {
        "x": run.x[b],
        "w_q": run.w_q.unflatten(1, (n_heads, -1))[:, h],
        "w_k": run.w_k.unflatten(1, (n_kv_heads, -1))[:, g],
        "w_v": run.w_v.unflatten(1, (n_kv_heads, -1))[:, g],
        "query": trace.query[b, h],
        "key": key,
        "value": value,
        "key_t": key.T,
        "scores": trace.scores[b, h],
        "masked": trace.masked[b, h],
        "weights": trace.weights[b, h],
        "row_sums": trace.weights[b, h].sum(-1)[:, None],
        "output": trace.output[b, h],
    }


def finite(tensor: torch.Tensor) -> np.ndarray:
    """What a heatmap can hold: NaN, an empty cell, where the number is not finite."""
    return torch.where(tensor.isfinite(), tensor, torch.nan).numpy()
