"""A small table of words and printed numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from attnviz.figures.text import html, visible

_NUMBER = re.compile(r"[−+]?(\d[\d,]*(\.\d+)?(e[−+]\d+)?|∞)|NaN|")


def show(columns: Mapping[str, Sequence[str]], *, code: str | None = None, chosen: int | None = None) -> None:
    """Draw columns under their heads, all of them plain words; numbers stand below each other digit by digit.

    code: the head of a column of code; chosen: the row that is in bold. It is HTML of our own: for each cell of
    st.table a browser keeps a score of components, and looks through all of them with each run of a page.
    """
    made = (_column(head, cells, head == code, chosen) for head, cells in columns.items())
    head, *body = (f"<tr>{''.join(row)}</tr>" for row in zip(*made, strict=True))
    table = f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    st.html(f'<div class="attnviz-table">{table}</div>', width="content")


def _column(head: str, cells: Sequence[str], is_code: bool, chosen: int | None) -> list[str]:
    """Return the head and the cells of a column as they stand in their rows."""
    right = ' class="attnviz-number"' if any(cells) and all(map(_NUMBER.fullmatch, cells)) else ""
    made = [f'<th scope="col"{right}>{_said(head)}</th>']
    for i, words in enumerate(cells):
        cell = f"<code>{_said(words)}</code>" if is_code else _said(words)
        made.append(f"<td{right}>{f'<b>{cell}</b>' if i == chosen else cell}</td>")
    return made


def _said(words: str) -> str:
    return html(visible(words)) if words else ""
