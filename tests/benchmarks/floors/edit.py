"""The floor of an edit: one live text box, and three charts of figures that were made beforehand."""

import json
import os
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

pio.templates.default = None  # the figures are drawn as they came


@st.cache_resource
def load() -> tuple[dict[str, Any], list[list[go.Figure]]]:
    given = json.loads(Path(os.environ["ATTNVIZ_FLOOR"]).read_text(encoding="utf-8"))
    return given, [[go.Figure(spec) for spec in board] for board in given["boards"]]


st.set_page_config(layout="wide")
given, boards = load()
text = st.text_input("Text", given["text"], key="text_line", live=given["live"])
board = boards[ord(text[-1]) % 2]  # every other letter gives the other figures
with st.container(horizontal=True, gap="medium"):
    for block, figure in zip(given["blocks"], board, strict=True):
        width = figure.layout.width
        with st.container(key=f"block-{block}", width=width):
            st.plotly_chart(figure, width=width, theme=None, key=f"chart-{block}", config=given["config"])
