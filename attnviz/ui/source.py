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
        with st.expander(_("The code that ran: {name}").format(name=f"`{function.__name__}`")):
            st.code(inspect.getsource(function), language="python")
