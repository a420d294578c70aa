"""Plotly pictures of attention: functions that return go.Figure, show nothing and read no state."""
