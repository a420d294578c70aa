"""The bridge: the component that ties the charts in the browser to Python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.figures.text import visible

_HERE = Path(__file__).parent


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    script = (_HERE / "bridge.js").read_text(encoding="utf-8")
    return st.components.v2.component("attnviz.bridge", js=script, isolate_styles=False)


def connect(
    charts: list[dict[str, Any]],
    spec: dict[str, Any],
    query: str,
    *,
    key: str = "bridge",
    **on_event: Callable[[], None],
) -> None:
    """Link the charts and write the address bar; key: of a part of the page that has a tie of its own.

    on_cell_change is called after a click on a cell, on_zoom_change after a zoom: event() then returns what happened.
    """
    _component()(key=key, data={**spec, "charts": charts, "query": query}, height=1, **on_event)


def hold(tokens: Sequence[str]) -> str:
    """Keep tokens in the browser, and return the key that stands for them as a spec's tokens or key_tokens.

    A spec travels whenever anything in it changes. These travel once: Streamlit sends a large element that has not
    changed by its hash alone.
    """
    seen = {token: visible(token) for token in set(tokens)}
    words = [seen[token] for token in tokens]
    digest = hashlib.blake2b("\x1f".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    context, key = get_script_run_ctx(), f"tokens_{digest}"
    if context is None or key not in context.shared.widget_user_keys_this_run:
        _component()(key=key, data={"hold": digest, "tokens": words}, height=1)
    return digest


def address(key: str, query: str) -> None:
    """Write the address bar alone, from a part of a page that runs by itself."""
    _component()(key=key, data={"query": query}, height=1)


def event(name: str, key: str = "bridge") -> dict[str, Any] | None:
    """Return what just happened in the browser, or None; key: that of connect().

    "cell": the name of the panel, its row and column, counted from 0; "zoom": the key of the chart, by the number
    of its axes what is shown of each panel that is not shown whole, and what dragging does now.
    """
    state: Any = st.session_state.get(key)
    found: dict[str, Any] | None = state.get(name) if state else None
    return found
