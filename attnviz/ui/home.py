"""Take it home: a view as a page that works offline, as a program, a notebook, tensors or a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from attnviz import __version__, locale
from attnviz.experiment import View, to_query
from attnviz.export.program import About
from attnviz.figures.layout import names
from attnviz.figures.panels import drawn, within
from attnviz.figures.text import cut, visible
from attnviz.figures.titles import plain_symbol
from attnviz.limits import TOKENS
from attnviz.locale import _
from attnviz.long import Long
from attnviz.ui import board, state, tables
from attnviz.ui.compute import Computed


class Taken(NamedTuple):
    """What is taken home, as it was when it was offered: files are made on another thread, after a click."""

    computed: Computed
    about: About
    blocks: tuple[str, ...]
    steps: tuple[str, ...]
    dark: bool
    language: str


def show(
    computed: Computed, blocks: tuple[str, ...], steps: tuple[str, ...], note: str = "", text: str | None = None
) -> None:
    """Offer the view as files: the blocks of the board with the cells of `steps`, and each of their matrices.

    note: what these numbers are, where that is not plain; it is said here and in the title of each file. text: what is
    read, where it is not the experiment's.
    """
    expander = st.expander(_("Take it home"), key="home", on_change="rerun")
    if not expander.open:  # a closed one costs nothing
        return
    with expander:
        if computed.run.trace is None and computed.run.long is None:
            words = _("A text of more than {n} tokens is not held whole: take its pictures, or shorten it.")
            st.caption(words.format(n=TOKENS))
            return
        if note:
            st.caption(_("What is taken home: {note}.").format(note=note))
        taken = _taken(computed, blocks, steps, note, text)
        if computed.run.long is not None:
            st.caption(_held(computed.run.long, computed.view))
        st.caption(carries(taken.about.link))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _offer("html", taken, _page)
            _offer("py", taken, _script)
            _offer("ipynb", taken, _notebook)
            _offer("safetensors", taken, _tensors)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            matrices = list(dict.fromkeys(name for block in blocks for name in names(block) if name != "key_t"))
            last = len(matrices) - 1
            name = st.selectbox(_("Matrix"), matrices, last, format_func=plain_symbol, key="home:matrix", width=150)
            _offer("csv", taken, partial(_table, name=name), name)


def _held(held: Long, view: View) -> str:
    """Say what the files hold of a long text."""
    rows, columns = (drawn(letter, len(held.key), view) for letter in ("s", "u"))
    words = _(
        "The page holds what is drawn: query tokens {s} to {s_end} and key tokens {u} to {u_end}, with the arithmetic "
        "of their cells. The program, the notebook and the tensors hold head {h} of sequence {b}: its vectors whole, "
        "and scores and weights of the same query tokens with all {n} keys. A table holds what is drawn of a matrix."
    )
    places = {"s": rows.start + 1, "s_end": rows.stop, "u": columns.start + 1, "u_end": columns.stop}
    counts = {name: f"{place:,}" for name, place in (places | {"n": len(held.key)}).items()}
    return words.format(h=held.h + 1, b=held.b + 1, **counts)


def _taken(computed: Computed, blocks: tuple[str, ...], steps: tuple[str, ...], note: str, text: str | None) -> Taken:
    view = state.view()
    chosen = {name: getattr(view, name) for name in ("step", "s", "u", "feature")}
    now = computed._replace(view=within(replace(computed.view, **chosen), computed.run))
    # Of a trained model, the text as it was typed: its tokens may be single characters.
    own = computed.experiment.text
    words = " ".join(computed.run.tokens[computed.view.b]) if own else text or state.experiment().text
    about = about_of(words, note, st.context.url or "", to_query(state.experiment(), view))
    return Taken(now, about, blocks, steps, st.context.theme.type == "dark", state.language())


def about_of(words: str, note: str, url: str, query: str) -> About:
    """Return what each file of a view carries: words are the view's own text, url the page's address."""
    page = urlsplit(url)
    link = page._replace(path=page.path or "/", query=query, fragment="").geturl()
    title = cut(f"attnviz · {visible(words[:500])}", 500) + (f" · {note}" if note else "")
    return About(title, link, __version__)


def carries(link: str) -> str:
    """Say what link the files have."""
    if "without=" in link:  # as to_query writes it
        return _("Each file carries the link to this view, without what is too long for a link.")
    return _("Each file carries the link to this view.")


def _offer(kind: str, taken: Taken, make: Callable[[Taken], str | bytes], name: str = "") -> None:
    offer(kind, taken.language, partial(make, taken), name)


def offer(kind: str, language: str, make: Callable[[], str | bytes], name: str = "") -> None:
    """Offer a file, which is made in a language once it is asked for; name: of one matrix."""
    words, mime = {
        "html": (_("Page that works offline (HTML)"), "text/html"),
        "py": (_("Program in Python (torch alone)"), "text/x-python"),
        "ipynb": (_("Notebook"), "application/x-ipynb+json"),
        "safetensors": (_("All tensors (safetensors)"), "application/octet-stream"),
        "csv": (_("Table (CSV)"), "text/csv"),
        "zip": (_("All tables (CSV, in a zip file)"), "application/zip"),
    }[kind]

    def made() -> str | bytes:
        locale.use(language)
        return make()

    ending = f"{name}.{kind}".lstrip(".")
    st.download_button(words, made, f"attnviz.{ending}", mime, key=f"home:{ending}", on_click="ignore")


def _page(taken: Taken) -> str:
    from attnviz.export.html import Block, page
    from attnviz.figures.colours import theme
    from attnviz.ui.written import writer

    experiment, run, view, _base, _n_cut = taken.computed
    return page(
        taken.about,
        experiment,
        run,
        view,
        [Block(name, board.heading(name)) for name in taken.blocks],
        taken.steps,
        writer(taken.computed),
        theme("dark" if taken.dark else "light"),
        file="attnviz",
    )


def _script(taken: Taken) -> str:
    from attnviz.export.program import script

    return script(taken.about, taken.computed.experiment, taken.computed.run, taken.computed.view)


def _notebook(taken: Taken) -> str:
    from attnviz.export.notebook import notebook

    return notebook(taken.about, taken.computed.experiment, taken.computed.run, taken.computed.view)


def _tensors(taken: Taken) -> bytes:
    from attnviz.export.tensors import safetensors

    return safetensors(taken.about, taken.computed.run, taken.computed.view)


def _table(taken: Taken, name: str) -> str:
    from attnviz.export.tensors import csv

    return csv(taken.about, tables.table(taken.computed, name))
