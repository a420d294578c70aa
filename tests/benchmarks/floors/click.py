"""The floor of a click: three charts made beforehand, the smallest component that reports a cell, and one table."""

import json
import os
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

SCRIPT = """
export default function ({ data, setTriggerValue }) {
  const attach = () => {
    const gd = document.querySelector(data.chart);
    if (!gd || !gd.on) return setTimeout(attach, 50);
    if (gd.floor) return;
    gd.floor = true;
    gd.on("plotly_click", (event) => setTriggerValue("cell", event.points[0].pointIndex));
  };
  attach();
}
"""

pio.templates.default = None  # the figures are drawn as they came


@st.cache_resource
def load() -> tuple[dict[str, Any], list[go.Figure]]:
    given = json.loads(Path(os.environ["ATTNVIZ_FLOOR"]).read_text(encoding="utf-8"))
    return given, [go.Figure(spec) for spec in given["boards"][0]]


@st.cache_resource
def component() -> Any:
    return st.components.v2.component("floor.click", js=SCRIPT)


@st.fragment
def answer(table: dict[str, list[str]]) -> None:
    clicked = component()(data={"chart": ".st-key-block-scores .js-plotly-plot"}, on_cell_change=lambda: None)
    heads, columns = list(table), list(table.values())
    # Another row's numbers, as in the app: the columns but the first move round, so that every cell is another.
    shift = (clicked.cell or [0])[0] % (len(heads) - 1)
    moved = [columns[0], *columns[1 + shift :], *columns[1 : 1 + shift]]
    shown = {head: list(cells) for head, cells in zip(heads, moved, strict=True)}
    shown[heads[0]][0] = str(clicked.cell)
    st.table(shown, border="horizontal", width="content", hide_index=True)


st.set_page_config(layout="wide")
given, figures = load()
with st.container(horizontal=True, gap="medium"):
    for block, figure in zip(given["blocks"], figures, strict=True):
        width = figure.layout.width
        with st.container(key=f"block-{block}", width=width):
            st.plotly_chart(figure, width=width, theme=None, key=f"chart-{block}", config=given["config"])
with st.bottom:
    answer(given["table"])
