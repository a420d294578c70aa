"""The source that ran, beside the picture: taken from the function itself, never a pasted copy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import streamlit as st

from attnviz.locale import _


def show(*functions: Callable[..., Any]) -> None:
    """Offer the source of core functions that computed what the page shows."""
    for function in functions:
        words = _("The code that ran: {name}").format(name=f"`{function.__name__}`")
        expander = st.expander(words, key=f"source:{function.__name__}", on_change="rerun")
        if expander.open:  # a closed one costs nothing
            with expander:
                st.code(inspect.getsource(function), language="python")
