"""What is zoomed in on: kept across changes that leave the shapes alone, since a chart remounts and forgets it."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from attnviz.figures.board import Zoom
from attnviz.figures.layout import Layout
from attnviz.locale import _
from attnviz.ui import bridge

Shapes = tuple[tuple[int, ...], ...]


def take() -> None:
    """Keep what the browser zoomed in on. A callback of the bridge."""
    found = bridge.event("zoom")
    if found:
        _kept()[found["key"]] = _read(found["zoom"])
        st.session_state["_zoomed"] = True


def apply() -> None:
    """Run the page again after a zoom, so that digits appear where they now fit. Called in the bridge's fragment."""
    if st.session_state.pop("_zoomed", False):
        st.rerun()


def of(key: str, layout: Layout) -> Zoom:
    """Return what is zoomed in on in the chart `key`; nothing once the shapes of its panels have changed."""
    shapes: Shapes = tuple(slot.panel.values.shape for slot in layout.slots)
    drawn = st.session_state.setdefault("_shapes", {})
    if drawn.get(key) != shapes:
        drawn[key] = shapes
        _kept().pop(key, None)
    return _kept().get(key, {})


def offer_whole(key: str) -> None:
    """Offer the way back from a zoom."""
    if _kept().get(key):
        st.button(_("Show the whole"), key=f"whole:{key}", on_click=_forget, args=(key,))


def _forget(key: str) -> None:
    _kept().pop(key, None)


def _kept() -> dict[str, Zoom]:
    kept: dict[str, Zoom] = st.session_state.setdefault("_zoom", {})
    return kept


def _read(zoom: Any) -> Zoom:
    """Take what a browser says is shown of each panel, in whole cells: four finite numbers, in their order."""
    read: Zoom = {}
    for axis, shown in dict(zoom).items():
        left, right, bottom, top = (float(value) for value in shown)
        if all(map(math.isfinite, (left, right, bottom, top))) and left < right and top < bottom:
            # Cell i reaches from i - 0.5 to i + 0.5.
            first, last = math.floor(left + 0.5), math.ceil(right - 0.5)
            upper, lower = math.floor(top + 0.5), math.ceil(bottom - 0.5)
            read[str(axis)] = (first - 0.5, last + 0.5, lower + 0.5, upper - 0.5)
    return read
