"""The first run of a process: route by app.py alone, from the first visitor on.

Streamlit takes a folder named pages for its older kind of multipage app until st.navigation has run once in the
process. A link to a page, opened before anyone else, would run that page's script without app.py; and a session that
began so would keep the older kind's names of pages, and lose the first change of its address.
"""

from __future__ import annotations

import runpy

import streamlit as st

from attnviz import cli


@st.cache_resource(show_spinner=False)
def _first_runs() -> list[bool]:
    return []


def once() -> None:
    """Begin again, in the first run of a process, now that st.navigation has run. Called by app.py."""
    if not _first_runs():
        _first_runs().append(True)
        st.rerun()


def require_app() -> None:
    """Run app.py if the script of a page was run without it. Called by each page."""
    if "experiment" not in st.session_state:
        runpy.run_path(str(cli.app()), run_name="__main__")
        st.stop()
