"""A cell as a file that is taken home has it: the words and the table of the page, as plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnviz.core.attention import AttentionTrace
from attnviz.experiment import View
from attnviz.export.html_cells import Written
from attnviz.export.python import agreed_digits
from attnviz.figures.panels import drawn
from attnviz.long import Long
from attnviz.ui import cell, sentences, terms
from attnviz.ui.compute import Computed


def writer(computed: Computed) -> Callable[[str, int, int], Written]:
    """Return what writes out the cell of a step at a row and column of the sequence and head in view."""
    if computed.run.long is not None:
        window = _Window.of(computed.run.long, computed.view)
        computed = computed._replace(run=computed.run._replace(long=window))

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


class _Window(Long):
    """A long text that keeps what it computed of the query tokens that are drawn, for all of their cells."""

    first: int
    kept: AttentionTrace

    @classmethod
    def of(cls, held: Long, view: View) -> _Window:
        rows = drawn("s", len(held.query), view)
        window = cls(*held)
        window.first, window.kept = rows.start, held.rows(rows.start, rows.stop)
        return window

    def rows(self, first: int, end: int) -> AttentionTrace:
        start, kept = first - self.first, self.kept
        if start < 0 or end - self.first > len(kept.query):
            return super().rows(first, end)
        own = {name: getattr(kept, name)[start : end - self.first] for name in kept._fields}
        return AttentionTrace(**own | {"key": kept.key, "value": kept.value})  # which all rows share
