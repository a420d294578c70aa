"""Streamlit: the state of a session, its controls, and the bridge between Plotly's charts and Python."""
