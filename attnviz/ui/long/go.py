"""To a token or a cell of a long text: the choice is made, and the window of the board moves there."""

from __future__ import annotations

import streamlit as st

from attnviz.limits import TOKENS_SHOWN
from attnviz.ui import state


def to_cell(s: int, u: int) -> None:
    """Choose a weight, write its sum out, and show it in the middle of the board. Call it in a callback."""
    st.session_state["_written_out"] = True
    state.look(step="weights", s=s, u=u, from_s=_middle(s), from_u=_middle(u))


def _middle(i: int) -> int:
    """The first token of a window with token i in its middle; what lies past the text is moved inside when drawn."""
    return max(0, i - TOKENS_SHOWN // 2)
