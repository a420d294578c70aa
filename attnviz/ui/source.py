"""The source that ran, beside the picture: taken from the function itself, never a pasted copy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from attnviz.locale import _


def show(*functions: Callable[..., Any]) -> None:
    """Offer the source of the functions that computed what the page shows, together: every expander costs each run."""
    words = _("The code that ran: {name}").format(name=named(functions))
    expander = st.expander(words, key="source", on_change="rerun")
    if expander.open:  # a closed one costs nothing
        with expander:
            write(functions)


def named(functions: Sequence[Callable[..., Any]]) -> str:
    """Return the names of functions in Markdown."""
    return ", ".join(f"`{function.__name__}`" for function in functions)


def write(functions: Sequence[Callable[..., Any]]) -> None:
    """Draw the source of functions."""
    for function in functions:
        st.code(inspect.getsource(function), language="python")
