"""What a page has drawn and computed: for the tables below it, and for what is taken home.

A lab runs in parts, each of which may run alone. What a part drew or computed stands until it runs again; a part that
then draws less leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

from attnviz.export.calls import Call
from attnviz.export.figure import Figure
from attnviz.ui.compute import Computed

Made = TypeVar("Made")
Item = TypeVar("Item")


class Published(NamedTuple):
    """A page as it stands: what is taken home is made of this, on another thread."""

    computed: Computed
    figures: tuple[Figure, ...]
    calls: tuple[Call, ...]
    hover: dict[str, Any]  # what linked.js is told
    query: str  # of the link


class _Held(Generic[Item]):
    """Things by name, in the order in which they first came, each with the part that it came from."""

    def __init__(self) -> None:
        self._items: dict[str, tuple[str, Item]] = {}
        self._stale: set[str] = set()

    def put(self, name: str, item: Item, part: str) -> None:
        self._items[name] = (part, item)
        self._stale.discard(name)

    def begin(self, part: str) -> None:
        self._stale |= {name for name, (of, _item) in self._items.items() if of == part}

    def end(self) -> None:
        for name in self._stale:
            del self._items[name]
        self._stale.clear()

    def items(self) -> tuple[Item, ...]:
        return tuple(item for name, (_part, item) in self._items.items() if name not in self._stale)


class Drawn:
    """What one session's page has drawn and computed."""

    def __init__(self) -> None:
        self.begin()
        self.published: Published | None = None

    def begin(self) -> None:
        """Forget all: the page, or the lab, runs anew. What was published stands until it is published again."""
        self._figures: _Held[Figure] = _Held()
        self._calls: _Held[Call] = _Held()
        self._part = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures and tables, in their order."""
        return self._figures.items()

    def figure(self, figure: Figure) -> None:
        """Keep a figure, in the place of one of the same key."""
        self._figures.put(figure.key, figure, self._part)

    def call(self, call: Call) -> None:
        """Keep a call, in the place of one of the same name."""
        self._calls.put(call.name, call, self._part)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Let a part draw and compute anew."""
        before, self._part = self._part, name
        self._figures.begin(name)
        self._calls.begin(name)
        try:
            yield
        finally:
            self._part = before
        self._figures.end()
        self._calls.end()

    def publish(self, computed: Computed, hover: dict[str, Any] | None, query: str) -> None:
        """Say that the page stands as it does now; without `hover`, a part of it that tells linked.js nothing new."""
        before = self.published.hover if self.published else {}
        self.published = Published(
            computed, self.figures, self._calls.items(), before if hover is None else hover, query
        )


def drawn() -> Drawn:
    """Return what this session's page has drawn."""
    held: Drawn | None = st.session_state.get("_drawn")
    if held is None:
        held = st.session_state["_drawn"] = Drawn()
    return held


def ran(name: str, function: Callable[..., Made], /, *args: Any, **named: Any) -> Made:
    """Call a function and return what it returns; the program that is taken home calls it as well, and says `name`.

    The name is a Python name, that no other call of the page has and no function.
    """
    return made(name, function(*args, **named), function, *args, **named)


def made(name: str, result: Made, function: Callable[..., Any], /, *args: Any, **named: Any) -> Made:
    """Return what a function returned for these arguments before: as ran(), without another call."""
    drawn().call(Call(name, function, args, named, result))
    return result
