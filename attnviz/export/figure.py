"""A figure of a lab as files have it: how it is drawn, what the hover needs of it, and its numbers as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from attnviz.figures.map_places import Map, plain

if TYPE_CHECKING:
    import pandas as pd

Table = tuple[str, Callable[[], "pd.DataFrame"]]  # its name, and what makes it


class Figure(NamedTuple):
    """One figure, and all that a file has of it."""

    key: str  # by which no two figures of a page are called
    tables: Sequence[Table]
    alt: str = ""  # what it shows, for those who cannot see it
    spec: Callable[[], dict[str, Any]] | None = None  # makes Plotly's dict; None for tables without a figure
    panels: Sequence[dict[str, Any]] = ()  # what the linked hover needs of its maps
    maps: Sequence[Map] = ()

    @property
    def title(self) -> str:
        """What stands above it in a file: of maps their own titles, else what it shows."""
        return " · ".join(dict.fromkeys(plain(one.title) for one in self.maps)) or self.alt


def each_table(figures: Sequence[Figure]) -> Iterator[tuple[str, int, str, Callable[[], pd.DataFrame]]]:
    """Yield each table once, with the key of its figure and its number there: figures may show columns of one."""
    seen = set()
    for figure in figures:
        for i, (name, make) in enumerate(figure.tables):
            same = (make.func, *map(id, make.args)) if isinstance(make, partial) else make
            if same not in seen:
                seen.add(same)
                yield figure.key, i, name, make
