"""The floor of a lab's own control: one widget of the same kind, and the lab's figures for two of its settings."""

import streamlit as st

from tests.benchmarks.floors import multipage


def page() -> None:
    """Draw the widget, and the figures of the setting that it has."""
    given, boards = multipage.load()
    kind = given["kind"]
    if kind == "choice":
        names, (first, second) = given["choices"], given["buttons"]
        places = range(len(names))
        place = st.segmented_control(
            "Control", places, default=first, required=True, format_func=names.__getitem__, key="control"
        )
        chosen = place == second
    elif kind == "slider":
        chosen = st.slider("Control", 0, 1, 0, key="control")
    elif kind == "toggle":
        chosen = st.toggle("Control", key="control")
    else:
        live = given["live"] if kind == "text" else False
        chosen = st.text_input("Control", given["states"][0], key="control", live=live) == given["states"][1]
    setting = int(chosen or 0)
    multipage.draw(given["blocks"][setting], boards[setting], given["config"])


multipage.run(page)
