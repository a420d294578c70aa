"""A lab as one file that works offline: its figures, which hover as in the app, every cell's number, and the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from attnviz.export.figure import Figure, each_table
from attnviz.export.html import figure, filled
from attnviz.export.html_cells import Written
from attnviz.export.program import About
from attnviz.figures.colours import Theme
from attnviz.figures.map_places import Map, called, plain
from attnviz.limits import EXPORT_BYTES
from attnviz.locale import _

_LEGEND = 44  # pixels below a chart, of two lines


class Place(NamedTuple):
    """A map on the page: what is drawn of it, and where that begins in the map and in its tokens."""

    map: Map
    panel: dict[str, Any]
    shape: tuple[int, int]

    @property
    def first(self) -> tuple[int, int]:
        """The row and the column, from 0, that the first cell drawn is called by."""
        row, column = self.panel["start"]
        return row, column

    def cell(self, i: int, j: int) -> Written:
        """Return the number of a cell that is drawn, with the names of its row and column."""
        # A map may be a piece of what its rows count, and so begin at 0 where they do not.
        rows, columns = self.map.values.shape
        row = i - self.first[0] if rows == self.shape[0] else i
        column = j - self.first[1] if columns == self.shape[1] else j
        words = _("{symbol}, row {row}, column {column}").format(
            symbol=self.panel["symbol"],
            row=called(self.map.rows, row, i),
            column=called(self.map.columns, column, j),
        )
        return Written(words, f"= {_digits(self.map.values[row, column])}", [], [])


def page(
    about: About, figures: Sequence[Figure], hover: dict[str, Any], theme: Theme, *, file: str, part: str = ""
) -> str:
    """Return the file of a lab's figures; hover: what the linked hover is told; file: what saved pictures are called.

    part: what is drawn of a longer text, in words. Up to limits.EXPORT_BYTES of cells are in it, and as much of tables.
    """
    drawn = [(one, one.spec() if one.maps else _with_legend(one.spec())) for one in figures if one.spec is not None]
    places = {place.panel["name"]: place for one, spec in drawn for place in _places(one, spec)}
    tables = _tables(figures)
    home = {
        "file": file,
        "charts": [
            {
                "key": one.key,
                "title": _title(one, spec),
                "figure": figure(spec),
                "panels": one.panels,
                "alt": one.alt,
                "tables": tables.get(one.key, []),
            }
            for one, spec in drawn
        ],
        "spec": hover,
        "steps": {
            name: {"symbol": place.panel["symbol"], "first": place.first, "shape": place.shape, "panel": name}
            for name, place in places.items()
        },
        "panels": {name: {"step": name, "turned": False, "whole": False} for name in places},
        "cells": dict(_cells(places)),
        "chosen": _chosen(places, hover.get("selected")),
    }
    return filled(about, home, theme, part)


def _with_legend(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart whose legend stands above several on its page: here each has its own."""
    named = [one for one in spec["data"] if one.get("name") and one.get("showlegend") is not False]
    layout = spec["layout"]
    if layout.get("showlegend") is not False or len(named) < 2:
        return spec
    margin = layout["margin"] | {"b": layout["margin"].get("b", 0) + _LEGEND}
    place = {"orientation": "h", "x": 0, "xanchor": "left", "yref": "container", "y": 0, "yanchor": "bottom"}
    more = {"showlegend": True, "legend": place, "margin": margin, "height": layout["height"] + _LEGEND}
    return {**spec, "layout": {**layout, **more}}


def _places(one: Figure, spec: dict[str, Any]) -> Iterator[Place]:
    heatmaps = {trace["xaxis"]: trace for trace in spec["data"] if trace["type"] == "heatmap" and "xaxis" in trace}
    panels = {panel["name"]: panel for panel in one.panels}
    for shown in one.maps:
        panel = panels[shown.name]
        rows, columns = heatmaps["x" + panel["axis"]]["z"].shape
        yield Place(shown, panel, (rows, columns))


def _cells(places: dict[str, Place]) -> Iterator[tuple[str, Written]]:
    room = EXPORT_BYTES
    for name, place in places.items():
        for i in range(place.first[0], place.first[0] + place.shape[0]):
            for j in range(place.first[1], place.first[1] + place.shape[1]):
                cell = place.cell(i, j)
                room -= len(cell.words) + len(cell.equals)
                if room < 0:
                    return
                yield f"{name}:{i}:{j}", cell


def _chosen(places: dict[str, Place], selected: dict[str, Any] | None) -> dict[str, Any] | None:
    if selected and selected["name"] in places:
        return {"step": selected["name"], "row": selected["row"], "col": selected["col"]}
    first = next(iter(places), None)
    return None if first is None else {"step": first, "row": places[first].first[0], "col": places[first].first[1]}


def _tables(figures: Sequence[Figure]) -> dict[str, list[dict[str, Any]]]:
    """The tables of each figure, as far as there is room."""
    room, lines = EXPORT_BYTES, {one.key for one in figures if not one.maps}
    made: dict[str, list[dict[str, Any]]] = {}
    for key, _i, name, make in each_table(figures):
        frame = make()
        room -= 10 * frame.size
        if room < 0:
            break
        heads = [str(frame.index.name or ""), *map(str, frame.columns)]
        blank = "" if key in lines else "nan"  # where a line of a chart has no point
        columns = [[_digits(value, blank) for value in frame[column].to_numpy()] for column in frame.columns]
        rows = [[str(label), *line] for label, *line in zip(frame.index, *columns, strict=True)]
        made.setdefault(key, []).append({"name": name, "heads": heads, "rows": rows})
    return made


def _title(one: Figure, spec: dict[str, Any]) -> str:
    """What stands above a figure: of maps their titles, of a chart its own or what its axis counts."""
    layout = spec["layout"]
    places = (layout.get("title"), layout.get("yaxis", {}).get("title"))
    words = [plain(place["text"]) for place in places if place and place.get("text")]
    return words[0] if words and not one.maps else one.title


def _digits(value: Any, blank: str = "nan") -> str:
    """A number with every digit that it has, a truth as 0 or 1, a word as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating) and np.isnan(value):
        return blank
    value = value.numpy()[()] if isinstance(value, Tensor) else value
    return str(int(value) if isinstance(value, bool | np.bool_) else value).replace("-", "−").replace("inf", "∞")
