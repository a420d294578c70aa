"""Every chart of a page as a picture, PNG or SVG, drawn by the browser itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from attnviz import __version__
from attnviz.locale import _

_HERE = Path(__file__).parent


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    images = (_HERE.parent / "figures" / "images.js").read_text(encoding="utf-8")
    script = (_HERE / "pictures.js").read_text(encoding="utf-8")
    styles = (_HERE / "pictures.css").read_text(encoding="utf-8")
    return st.components.v2.component("attnviz.pictures", js=images + script, css=styles, isolate_styles=False)


def offer(title: str) -> None:
    """Draw the button of the page called `title`; which charts there are is looked up when it is pressed."""
    data = {
        "title": f"attnviz · {title}",
        "page": st.session_state["_page"] or "explore",
        "version": f"attnviz {__version__}",
        "words": {"save": _("Save pictures"), "none": _("No chart is on the page yet.")},
    }
    _component()(key="pictures", data=data, width="content")
