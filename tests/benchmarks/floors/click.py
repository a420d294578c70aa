"""The floor of a click: three charts made beforehand, the smallest component that reports a cell, and one table."""

from typing import Any

import streamlit as st

from tests.benchmarks.floors import multipage

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


def page() -> None:
    """Draw the charts, and below them the answer."""
    given, boards = multipage.load()
    multipage.draw(given["blocks"], boards[0], given["config"])
    with st.bottom:
        answer(given["table"])


multipage.run(page)
