"""The floor of many sessions: a page as a newcomer writes it, with a box, a slider, two heatmaps and a table."""

import plotly.graph_objects as go
import streamlit as st
import torch

words = st.text_input("Text", "the cat sat on the mat and the dog saw the rug", key="text_line", live="250ms").split()
seen = st.slider("Tokens so far", 1, 12, 12, key="decoded")
x = torch.randn(len(words), 16, generator=torch.Generator().manual_seed(0))
scores = x @ x.T / 4
weights = torch.softmax(scores.masked_fill(torch.arange(len(words)) >= seen, -1e9), dim=-1)
for name, values in (("scores", scores), ("weights", weights)):
    st.plotly_chart(go.Figure(go.Heatmap(z=values.numpy())), key=f"chart-{name}")
st.dataframe(weights.numpy())
