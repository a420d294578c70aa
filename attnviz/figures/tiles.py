"""Many heads at once: each one's map as a small tile, all of them in one heatmap, which a browser draws at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from attnviz.figures.colours import Theme
from attnviz.figures.frame import bar, frame, note
from attnviz.figures.text import html
from attnviz.figures.text import width as width_of
from attnviz.locale import _
from attnviz.models.heads import pooled

TOP = 252  # of a byte: a weight of 1; what is above is no weight
_GAP = 255
_TILE_MOST, _TILE_LEAST = 150, 26  # pixels
_CELLS = 24  # that a side of a tile has at least
_CELL = 2  # pixels that a side of a cell has at least: a browser takes as long as there are cells
_BARS, _LEFT, _FOOT, _NAME = 46.0, 46.0, 38.0, 16.0


class Tiles(NamedTuple):
    """The maps of heads in the order in which they stand, row by row, and what they are called."""

    maps: Tensor  # (heads, rows, columns): of each block of tokens the largest weight
    block: int  # tokens a side of a block
    columns: int  # tiles side by side
    called: tuple[str, ...]  # of each head, in the tooltip
    titles: tuple[str, ...] = ()  # over each tile; else rows and columns are numbered, and named:
    rows: str = ""
    across: str = ""
    hidden: frozenset[int] = frozenset()  # places of heads that are left out, so that the others keep theirs


class Placed(NamedTuple):
    """The tiles in one matrix, a gap around each, and how to find one again."""

    bytes_: np.ndarray[Any, np.dtype[np.uint8]]  # 0 to TOP are the square roots of weights of 0 to 1
    step: tuple[int, int]  # cells from one tile to the next, down and across
    gap: int  # cells above each tile; one is left of it
    each: int  # cells a side of a block of tokens: a few tokens are drawn large, so that gaps are thin
    block: int  # tokens a side of a block
    across: int  # tiles side by side
    rows: int  # tiles one below another


def place(tiles: Tiles, side: float) -> Placed:
    """Put the tiles into one matrix, each on `side` pixels, pooled to cells that can be seen: the largest weights."""
    maps, block = tiles.maps, tiles.block
    factor = -(-_CELL * max(maps.shape[-2:]) // int(side))
    if factor > 1:
        maps, block = pooled(maps, factor), block * factor
    each = -(-_CELLS // max(maps.shape[-2:]))
    # In a square root, a weight of 0.01 has a tenth of the scale: else most of a long text's map is blank.
    values = (maps.clamp(0, 1).sqrt() * TOP).round().byte().numpy().repeat(each, axis=-2).repeat(each, axis=-1)
    n, height, width = values.shape
    gap = max(1, round(_NAME * height / side)) if tiles.titles else 1
    rows, step = -(-n // tiles.columns), (height + gap, width + 1)
    whole = np.full((rows * step[0] + 1, tiles.columns * step[1] + 1), _GAP, dtype=np.uint8)
    for i, one in enumerate(values):
        if i in tiles.hidden:
            continue
        y, x = divmod(i, tiles.columns)
        top, left = y * step[0] + gap, x * step[1] + 1
        whole[top : top + height, left : left + width] = one
    return Placed(whole, step, gap, each, block, tiles.columns, rows)


def at(placed: Placed, row: int, column: int) -> tuple[int, int, int] | None:
    """Return which tile a cell of the matrix is in, and its first query and key token; None in a gap.

    >>> at(Placed(np.zeros((9, 9), dtype=np.uint8), (4, 4), 1, 1, 2, 2, 2), 6, 1)
    (2, 2, 0)
    """
    (y, s), (x, u) = divmod(row, placed.step[0]), divmod(column, placed.step[1])
    if s < placed.gap or u < 1 or y >= placed.rows or x >= placed.across:
        return None
    tokens = [(cell // placed.each) * placed.block for cell in (s - placed.gap, u - 1)]
    return y * placed.across + x, tokens[0], tokens[1]


def specify(tiles: Tiles, theme: Theme, *, width: float) -> tuple[dict[str, Any], dict[str, Any], Placed]:
    """Return the figure as Plotly's plain dict, what the linked hover needs of it, and where the tiles stand."""
    rows = -(-len(tiles.called) // tiles.columns)
    side = float(max(_TILE_LEAST, int(min(_TILE_MOST, (width - _LEFT) / tiles.columns, max(40.0, 520 / rows)))))
    placed = place(tiles, side)
    cell = side / max(placed.step[0] - placed.gap, placed.step[1] - 1)  # pixels
    across, down = cell * placed.bytes_.shape[1], cell * placed.bytes_.shape[0]
    words = _words(placed.block)
    named = width_of(words) + 8  # its name stands in the middle above the bar, and is cut where it is wider
    whole, height = max(across + _LEFT + 26, 240.0, named + 8), down + _BARS + _FOOT
    trace = {
        "type": "heatmap",
        "name": "tiles",
        "z": placed.bytes_,
        "coloraxis": "coloraxis",
        "hoverinfo": "none",
        "xaxis": "x",
        "yaxis": "y",
    }
    axes: dict[str, Any] = {"coloraxis": _colours(theme) | bar(words, 4.0, 2.0, whole, height)}
    axes["coloraxis"]["colorbar"] |= {
        "len": max(160.0, named),
        "tickvals": [TOP * share**0.5 for share in _TICKS],
        "ticktext": [f"{share:g}" for share in _TICKS],
    }
    axes |= _axes(tiles, placed, theme, (whole, height), (across, down))
    notes = []
    for i, title in enumerate(tiles.titles):
        y, x = divmod(i, tiles.columns)
        left, foot = _LEFT + (x * placed.step[1] + 1) * cell + 1, _BARS + (y * placed.step[0] + placed.gap) * cell
        notes.append(note(html(title), left, foot, whole, height, theme) | {"font": {"size": 11, "color": theme.ink}})
    called = ["" if i in tiles.hidden else words for i, words in enumerate(tiles.called)]  # "": no tile to hover over
    tile = placed._asdict() | {"called": called, "top": TOP, "chosen": -1}
    del tile["bytes_"]
    panel = {"name": "tiles", "axis": "", "row": "", "col": "", "start": [0, 0], "tile": tile}
    return frame([trace], axes, notes, whole, height, theme), panel, placed


_TICKS = (0, 0.01, 0.1, 0.25, 0.5, 1)


def _words(block: int) -> str:
    if block == 1:
        return _("weight, on a square-root scale")
    return _("largest weight of {n} × {n} tokens, square-root scale").format(n=block)


def _colours(theme: Theme) -> dict[str, Any]:
    scale = [(at * TOP / _GAP, colour) for at, colour in theme.share]
    end = (TOP + 1) / _GAP
    scale += [(end, theme.share[-1][1]), (end, theme.hole), (1, theme.hole)]
    return {"cmin": 0, "cmax": _GAP, "colorscale": scale}


def _axes(
    tiles: Tiles, placed: Placed, theme: Theme, size: tuple[float, float], tiled: tuple[float, float]
) -> dict[str, Any]:
    bottom = size[1] - _BARS - tiled[1]
    x = _axis(_LEFT, tiled[0], size[0], placed.bytes_.shape[1], theme)
    y = _axis(bottom, tiled[1], size[1], placed.bytes_.shape[0], theme)
    y["range"] = y["range"][::-1]  # row 0 on top
    if not tiles.titles:
        x |= _numbers(tiles.columns, placed.step[1], tiles.across, theme)
        y |= _numbers(placed.rows, placed.step[0], tiles.rows, theme)
    return {"xaxis": x | {"anchor": "y"}, "yaxis": y | {"anchor": "x"}}


def _axis(first: float, length: float, whole: float, cells: int, theme: Theme) -> dict[str, Any]:
    return {
        "domain": [max(0.0, first / whole), min(1.0, (first + length) / whole)],
        "range": [-0.5, cells - 0.5],
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "showticklabels": False,
        "fixedrange": True,
        "tickfont": {"size": 11, "color": theme.quiet},
    }


def _numbers(n: int, step: int, words: str, theme: Theme) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": [i * step + step / 2 for i in range(n)],
        "ticktext": [str(i + 1) for i in range(n)],
        "tickangle": 0,
        "showticklabels": True,
        "title": {"text": html(words), "standoff": 4, "font": {"size": 11, "color": theme.ink}},
    }


def names(heads: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Call heads by their layer and number, from 1."""
    return tuple(_("layer {layer}, head {head}").format(layer=layer + 1, head=head + 1) for layer, head in heads)
