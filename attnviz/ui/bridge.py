"""The bridge: the one component that ties the browser to Python, and the only JavaScript beside linked.js."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from attnviz.locale import _

_HERE = Path(__file__).parent


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    linked = (_HERE.parent / "figures" / "linked.js").read_text(encoding="utf-8")
    script = (_HERE / "bridge.js").read_text(encoding="utf-8")
    styles = (_HERE / "bridge.css").read_text(encoding="utf-8")
    # Not isolated, since its styles are for the charts that it serves.
    return st.components.v2.component("attnviz.bridge", js=linked + script, css=styles, isolate_styles=False)


def copy_link() -> None:
    """Draw the button that copies the address of this view; the page runs again when its theme is switched."""
    data = {"copy": _("Copy link"), "copied": _("Copied"), "scheme": st.context.theme.type or "light"}
    _component()(key="copy_link", data=data, width="content", on_scheme_change=lambda: None)


def connect(charts: list[dict[str, Any]], spec: dict[str, Any], query: str, **on_event: Callable[[], None]) -> None:
    """Link the charts and write the address bar.

    on_cell_change is called after a click on a cell, on_zoom_change after a zoom: event() then returns what happened.
    """
    _component()(key="bridge", data={**spec, "charts": charts, "query": query}, height=1, **on_event)


def address(key: str, query: str) -> None:
    """Write the address bar alone, from a part of a page that runs by itself."""
    _component()(key=key, data={"query": query}, height=1)


def event(name: str) -> dict[str, Any] | None:
    """Return what just happened in the browser, or None.

    "cell": the name of the panel, its row and column, counted from 0; "zoom": the key of the chart, and by the number
    of its axes what is shown of each panel that is not shown whole.
    """
    state: Any = st.session_state.get("bridge")
    found: dict[str, Any] | None = state.get(name) if state else None
    return found
