"""What a page is shared by: its link, and every chart of it as a picture, PNG or SVG, drawn by the browser itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from attnviz import __version__, locale
from attnviz.locale import _

_HERE = Path(__file__).parent
_FIGURES = _HERE.parent / "figures"


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    hover = [_FIGURES / name for name in ("linked.js", "pooled.js")]
    scripts = [*hover, _FIGURES / "images.js", _HERE / "pictures.js", _HERE / "link.js"]
    script = "".join(file.read_text(encoding="utf-8") for file in scripts)
    styles = "".join((_HERE / name).read_text(encoding="utf-8") for name in ("bridge.css", "sharing.css"))
    # Not isolated, since its styles are for the charts that the bridge serves.
    return st.components.v2.component("attnviz.sharing", js=script, css=styles, isolate_styles=False)


def offer() -> None:
    """Draw the buttons that copy the address of this view and save the pictures of the page.

    They are one component, since each costs the browser time whenever the page runs, and it is the same on all pages,
    since its scripts are sent again whenever it changes. Which page it is and which charts there are is looked up when
    the pictures are asked for. The page runs again when its theme is switched.

    It says which language the page is in, which Streamlit does not, so that a screen reader pronounces it right. It
    brings along the script of the linked hover, which every bridge of the page uses: call it on each page.
    """
    data = {
        "copy": _("Copy link"),
        "copied": _("Copied"),
        "save": _("Save pictures"),
        "none": _("No chart is on the page yet."),
        "version": f"attnviz {__version__}",
        "lang": locale.tag(),
        "scheme": st.context.theme.type or "light",
    }
    _component()(key="sharing", data=data, width="content", on_scheme_change=lambda: None)
