"""A cell as a file that is taken home has it: the words and the table of the page, as plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnviz.export.html import Written
from attnviz.export.python import agreed_digits
from attnviz.ui import cell, sentences, terms
from attnviz.ui.compute import Computed


def writer(computed: Computed) -> Callable[[str, int, int], Written]:
    """Return what writes out the cell of a step at a row and column of the sequence and head in view."""

    def write(step: str, row: int, column: int) -> Written:
        first, second = cell.fields(step)
        place: dict[str, Any] = {first: row, second: column}
        view = replace(computed.view, step=step, **place)
        explained = cell.explain_cell(computed, view)
        words = sentences.read(computed.run, view, explained, escape=str)
        explained = terms.projected(explained)
        table = terms.terms(computed.run, view, explained, agreed_digits(explained))
        rows = [list(line) for line in zip(*table.values(), strict=True)]
        return Written(words, terms.equals(view, explained).replace("**", ""), list(table), rows)

    return write
