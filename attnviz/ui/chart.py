"""A figure that Streamlit sends as it was specified, and that a browser draws once."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from attnviz.figures.frame import typed


class Specified(go.Figure):  # type: ignore[misc]  # plotly has no types
    """A figure of a plain dict that is neither validated nor copied, for st.plotly_chart alone.

    go.Figure validates and copies each of a board's thousand properties, half of the work of a run; a test validates
    the same dict instead. And it brings a template: Streamlit draws a chart twice, as new and again as changed, and
    Plotly skips the second only where it can see that nothing changed, which a template, another copy each time, hides.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    def to_dict(self) -> dict[str, Any]:
        """Return the dict with its arrays as Plotly's typed arrays. st.plotly_chart asks for nothing else."""
        data = [{name: typed(value) for name, value in trace.items()} for trace in self._spec["data"]]
        return {"data": data, "layout": self._spec["layout"]}
