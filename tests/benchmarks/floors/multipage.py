"""What the floors of a page share: the app around it, of as many pages as attnviz has, and its figures.

Streamlit draws the navigation with every run, in a floor as in attnviz.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

# The pages of attnviz, in their order.
PAGES = {
    "": ("Explore", "Projections", "Scores to weights", "Weights to output"),
    "Labs": ("Query, key, value", "Multi-head", "Positions", "Decoding", "Einsum", "What a weight proves"),
    "Models": ("Learning", "Trained models", "Your tensors"),
}

pio.templates.default = None  # the figures are drawn as they came


@st.cache_resource
def load() -> tuple[dict[str, Any], list[list[go.Figure]]]:
    """Return what the benchmark gives the floor, and the figures of its boards, made once."""
    given = json.loads(Path(os.environ["ATTNVIZ_FLOOR"]).read_text(encoding="utf-8"))
    return given, [[go.Figure(spec) for spec in board] for board in given["boards"]]


def draw(blocks: list[str], figures: list[go.Figure], config: dict[str, Any]) -> None:
    """Draw figures side by side."""
    with st.container(horizontal=True, gap="medium"):
        for block, figure in zip(blocks, figures, strict=True):
            width = figure.layout.width
            with st.container(key=f"block-{block}", width=width):
                st.plotly_chart(figure, width=width, theme=None, key=f"chart-{block}", config=config)


def run(page: Callable[[], None]) -> None:
    """Run a page as the chosen one of all."""
    st.set_page_config(layout="wide")
    pages = {
        section: [st.Page(page, title=title, url_path=address(title), default=title == "Explore") for title in titles]
        for section, titles in PAGES.items()
    }
    st.navigation(pages, position="top").run()


def address(title: str) -> str:
    """Return the address of a page."""
    return title.lower().replace(",", "").replace(" ", "-")
