"""Somebody's weights in a notebook: one head as a map with its row sums, many as tiles; without Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from attnviz.core.pooling import pool
from attnviz.core.shapes import widened
from attnviz.experiment import View
from attnviz.figures import maps, pooled, tiles
from attnviz.figures.colours import Theme, theme
from attnviz.figures.maps import Axis, Map
from attnviz.figures.pooled_cells import Shown, numbers
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.models.files_axes import bring
from attnviz.models.heads import pooled as blocks

SQRT_FROM = 128  # tokens from which a linear scale leaves a map blank
TILE = 64  # blocks a side of each tile
_HOVERED = 400 * 400  # cells of tiles whose weights travel beside their bytes


def show(
    weights: Any,
    tokens: Sequence[str] | None = None,
    *,
    key_tokens: Sequence[str] | None = None,
    layer: int | None = None,
    head: int | None = None,
    sequence: int = 0,
    axes: str = "auto",
    dark: bool = False,
) -> go.Figure:
    """Draw weights (s, u), (h, s, u), (b, h, s, u) or (l, b, h, s, u): one head as a map, several as tiles.

    weights: a tensor, an array, nested lists, or a list of one tensor a layer, as models return them. tokens are those
    of s, and of u too unless key_tokens has them. layer, head and sequence count from 0; axes: "b" or "l" for three
    axes that are (b, s, u) or (l, s, u), "lh" for four that are (l, h, s, u). A map of up to 24 tokens has its row sums
    beside it; of a longer one each cell is the largest weight of a block, and exact where blocks are single tokens.
    Raises ValueError for shapes, for tokens that are not as many, and for a layer, head or sequence that is not there.

    >>> import torch
    >>> figure = show(torch.softmax(torch.zeros(3, 3), dim=-1), ["the", "cat", "sat"])
    >>> [trace.name for trace in figure.data]
    ['weights', 'rows of weights']
    """
    found = bring({"weights": _tensor(weights)}, axes).weights
    assert found is not None
    chosen = _chosen(found, layer, head, sequence)  # (l, h, s, u)
    words = _words(tokens, key_tokens, chosen)
    colours = theme("dark" if dark else "light")
    if chosen.shape[:2] != (1, 1):
        return _tiles(chosen, layer or 0, head or 0, colours)
    x = widened(chosen[0, 0])
    return go.Figure(_map(x, words, colours) if max(x.shape) <= TOKENS_SHOWN else _long(x, words, colours))


def _tensor(weights: Any) -> Tensor:
    if isinstance(weights, list | tuple) and weights and all(isinstance(each, Tensor) for each in weights):
        weights = torch.stack(list(weights))
    x = torch.as_tensor(weights).detach().cpu()
    if not 2 <= x.ndim <= 5 or not x.numel():
        raise ValueError(f"weights: expected 2 to 5 axes with numbers, got shape {tuple(x.shape)}")
    return x if x.is_floating_point() else x.float()


def _chosen(x: Tensor, layer: int | None, head: int | None, sequence: int) -> Tensor:
    """Weights (l, b, h, s, u) of one sequence, and of one layer or head where it is named: (l, h, s, u)."""
    for name, at, n in (("layer", layer, x.shape[0]), ("sequence", sequence, x.shape[1]), ("head", head, x.shape[2])):
        if at is not None and not 0 <= at < n:
            raise ValueError(f"{name}: expected a whole number from 0 below {n}, got {at}")
    x = x[:, sequence]
    x = x if layer is None else x[layer : layer + 1]
    return x if head is None else x[:, head : head + 1]


def _words(
    tokens: Sequence[str] | None, key_tokens: Sequence[str] | None, x: Tensor
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What rows and columns are called; nothing where nobody says."""
    found = []
    for name, given, n in (
        ("tokens", tokens, x.shape[-2]),
        ("key_tokens", tokens if key_tokens is None else key_tokens, x.shape[-1]),
    ):
        if given is not None and len(given) != n:
            raise ValueError(f"{name}: expected {n}, one for each row or column of weights, got {len(given)}")
        found.append(tuple(map(str, given)) if given is not None else tuple(str(i + 1) for i in range(n)))
    return found[0], found[1]


def _map(x: Tensor, words: tuple[tuple[str, ...], tuple[str, ...]], colours: Theme) -> dict[str, Any]:
    share = bool((((x >= 0) & (x <= 1.001)) | x.isnan()).all())
    one = Map(
        "weights", "<b>a</b>", x, Axis("s", words[0]), Axis("u", words[1]), "share" if share else "signed", sums="rows"
    )
    spec, _panels = maps.specify([one], View(), colours)
    for trace in spec["data"]:
        if trace["name"] == "weights":
            trace |= {"hoverinfo": "all", "hovertemplate": "s=%{y}  u=%{x}<br>%{z:.6g}<extra></extra>"}
    return spec


def _long(x: Tensor, words: tuple[tuple[str, ...], tuple[str, ...]], colours: Theme) -> dict[str, Any]:
    """The pooled map; its tooltip counts tokens from 1, so that its axes are moved by one."""
    found, n = pool(x), tuple(x.shape)
    kind = "linear" if max(n) < SQRT_FROM else "sqrt"
    shown = Shown(found, None, (0, n[0]), (0, n[1]), (n[0], n[1]))
    spec, _panels = pooled.specify(
        shown, "weights", _("weights"), kind, View(), colours, tokens=words[0], key_tokens=words[1]
    )
    where = (
        "s=%{y}  u=%{x}<br>"
        if found.exact
        else _("block about s={s}, u={u}<br>largest weight: ").format(s="%{y}", u="%{x}")
    )
    for trace in spec["data"]:
        trace |= {"x0": trace["x0"] + 1, "y0": trace["y0"] + 1, "customdata": numbers(found)}
        trace |= {"hoverinfo": "all", "hovertemplate": where + "%{customdata:.6g}<extra></extra>"}
    for axis in ("xaxis", "yaxis"):
        made = spec["layout"][axis]
        for name in ("range", "tickvals"):
            made[name] = [value + 1 for value in made[name]]
        made |= {name: made[name] + 1 for name in ("minallowed", "maxallowed") if name in made}
    return spec


def _tiles(x: Tensor, layer: int, head: int, colours: Theme) -> go.Figure:
    """Every head (l, h, s, u) as a small map."""
    n_layers, n_heads = x.shape[:2]
    block = -(-max(x.shape[-2:]) // TILE)
    names = tiles.names([(layer + i, head + j) for i in range(n_layers) for j in range(n_heads)])
    made = tiles.Tiles(
        blocks(widened(x).flatten(0, 1).float(), block), block, n_heads, names, (), _("layer"), _("head")
    )
    spec, _panel, placed = tiles.specify(made, colours, width=1200)
    if placed.bytes_.size <= _HOVERED:
        weights = (placed.bytes_.astype("f") / tiles.TOP) ** 2
        weights[placed.bytes_ > tiles.TOP] = float("nan")  # gaps
        spec["data"][0] |= {"customdata": weights, "hoverinfo": "all"}
        spec["data"][0]["hovertemplate"] = "≈ %{customdata:.2g}<extra></extra>"
    return go.Figure(spec)
