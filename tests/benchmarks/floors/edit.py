"""The floor of an edit: one live text box, and charts of figures that were made beforehand."""

import streamlit as st

from tests.benchmarks.floors import multipage


def page() -> None:
    """Draw the box, and the figures of what stands in it: every other letter at its end gives the other ones."""
    given, boards = multipage.load()
    text = st.text_input("Text", given["text"], key="text_line", live=given["live"])
    multipage.draw(given["blocks"], boards[ord(text[-1]) % 2], given["config"])


multipage.run(page)
