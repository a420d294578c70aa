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
    numbers = {head for head, cells in columns.items() if any(cells) and all(map(_NUMBER.fullmatch, cells))}
    heads = "".join(f'<th scope="col"{_right(head in numbers)}>{_said(head)}</th>' for head in columns)
    rows = []
    for i, cells in enumerate(zip(*columns.values(), strict=True)):
        made = [
            f"<code>{_said(x)}</code>" if head == code else _said(x) for head, x in zip(columns, cells, strict=True)
        ]
        shown = [f"<b>{x}</b>" for x in made] if i == chosen else made
        tagged = (f"<td{_right(head in numbers)}>{x}</td>" for head, x in zip(columns, shown, strict=True))
        rows.append(f"<tr>{''.join(tagged)}</tr>")
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    st.html(f'<div class="attnviz-table">{table}</div>', width="content")


def _said(words: str) -> str:
    return html(visible(words)) if words else ""


def _right(is_number: bool) -> str:
    return ' class="attnviz-number"' if is_number else ""
