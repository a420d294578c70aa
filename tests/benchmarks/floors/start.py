"""The floor of a start: a page that imports torch and draws one chart."""

import json
import os
from pathlib import Path

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st
import torch

pio.templates.default = None  # the figures are drawn as they came
given = json.loads(Path(os.environ["ATTNVIZ_FLOOR"]).read_text(encoding="utf-8"))
st.set_page_config(layout="wide")
st.title(f"torch {torch.__version__}")
figure = go.Figure(given["boards"][0][1])
with st.container(key="block-scores"):
    st.plotly_chart(figure, width=figure.layout.width, theme=None, config=given["config"])
