"""The floor of a lab's own control: one widget of the same kind, and the lab's figures for two of its settings.

It stands alone on its page, in an app of as many pages as attnviz has: Streamlit draws the navigation with every run.
"""

import json
import os
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
    given = json.loads(Path(os.environ["ATTNVIZ_FLOOR"]).read_text(encoding="utf-8"))
    return given, [[go.Figure(spec) for spec in board] for board in given["boards"]]


def draw() -> None:
    """Draw the widget, and the figures of the setting that it has."""
    given, boards = load()
    kind = given["kind"]
    if kind == "choice":
        chosen = st.segmented_control("Control", [0, 1], default=0, required=True, key="control")
    elif kind == "slider":
        chosen = st.slider("Control", 0, 1, 0, key="control")
    elif kind == "toggle":
        chosen = st.toggle("Control", key="control")
    else:
        live = given["live"] if kind == "text" else False
        chosen = st.text_input("Control", given["states"][0], key="control", live=live) == given["states"][1]
    setting = int(chosen or 0)
    with st.container(horizontal=True, gap="medium"):
        for block, figure in zip(given["blocks"][setting], boards[setting], strict=True):
            width = figure.layout.width
            with st.container(key=f"block-{block}", width=width):
                st.plotly_chart(figure, width=width, theme=None, key=f"chart-{block}", config=given["config"])


def address(title: str) -> str:
    """Return the address of a page."""
    return title.lower().replace(",", "").replace(" ", "-")


st.set_page_config(layout="wide")
pages = {
    section: [st.Page(draw, title=title, url_path=address(title), default=title == "Explore") for title in titles]
    for section, titles in PAGES.items()
}
st.navigation(pages, position="top").run()
