"""Hostile tokens, titles and links in the page and the numbers that are taken home: each is data there."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open

from attnviz.experiment import STEPS, Experiment, Run, View
from attnviz.export.html import page
from attnviz.export.program import About
from attnviz.export.tensors import csv as table_as_csv
from attnviz.export.tensors import safetensors
from attnviz.figures.colours import theme
from attnviz.figures.text import visible
from attnviz.limits import NAME_CHARS
from attnviz.tokenizers import clean
from attnviz.ui import tables
from attnviz.ui.compute import Computed
from attnviz.ui.written import writer
from tests.export.hostile import ABOUTS, FORMULAS, HARMLESS, LINK, RUNS, TOKENS, WORDS, Tags, experiment
from tests.export.test_html import BLOCKS, home
from tests.hostile import HOSTILE, SCRIPTS
from tests.pages.test_hostile import Markup, strings


def test_a_typed_text_has_these_tokens() -> None:
    assert experiment(tuple(HOSTILE)).run().tokens == (tuple(map(clean, HOSTILE)),)


def offline(about: About, run: Run, tokens: tuple[str, ...]) -> str:
    made = experiment(tokens)
    write = writer(Computed(made, run, View(), None, 0))
    return page(about, made, run, View(), BLOCKS, STEPS, write, theme("light"), file="attnviz")


@pytest.fixture(scope="module")
def plain_page() -> str:
    return offline(HARMLESS, RUNS["harmless"], WORDS)


def test_the_page_has_the_tags_of_a_harmless_one_and_the_very_tokens(plain_page: str) -> None:
    made = offline(ABOUTS[0], RUNS["hostile"], TOKENS)
    given, plain = Tags(made), Tags(plain_page)
    assert given.found == plain.found and given.addresses == plain.addresses == [LINK]
    assert not [name for _tag, *names in given.found for name in names if name.startswith("on")]
    data = home(made)
    assert data["spec"]["tokens"] == list(map(visible, TOKENS))
    assert data["about"]["title"] == ABOUTS[0].title and data["file"] == "attnviz"
    assert data.keys() == home(plain_page).keys() and data["cells"].keys() == home(plain_page)["cells"].keys()
    for chart in data["charts"]:  # what Plotly takes for markup
        assert [(text, found) for text in strings(chart["figure"]) if (found := Markup(text).foreign)] == []


def test_what_is_no_address_of_a_page_is_no_link() -> None:
    small = Experiment("a")
    run = small.run()
    write = writer(Computed(small, run, View(), None, 0))
    for link in (*(each for each in TOKENS if not each.startswith("http")), "data:text/html,x", "", LINK):
        made = page(About("x", link, "1"), small, run, View(), BLOCKS, STEPS, write, theme("light"), file="f")
        assert Tags(made.split("<script>", 1)[0]).addresses == [LINK] * (link == LINK), link


def test_an_address_stays_in_its_attribute(plain_page: str) -> None:
    about = HARMLESS._replace(link='http://x/"onclick="window.__pwned=1"></a><script>')
    given = Tags(offline(about, RUNS["harmless"], WORDS))
    assert given.found == Tags(plain_page).found and given.addresses == [about.link]


def test_markup_would_be_found(plain_page: str) -> None:
    for payload in SCRIPTS[:3]:
        spoilt = plain_page.replace("the title", payload)
        assert Tags(spoilt).found != Tags(plain_page).found


# ---- numbers ----


def test_the_file_of_tensors_says_the_very_title_and_link(tmp_path) -> None:
    for i, about in enumerate(ABOUTS):
        path = tmp_path / f"{i}.safetensors"
        path.write_bytes(safetensors(about, RUNS["hostile"]))
        with safe_open(path, "pt") as file:
            assert file.metadata() == {"title": about.title, "link": about.link, "version": "attnviz 1.2.3"}
            trace = RUNS["hostile"].trace
            assert trace is not None and torch.equal(file.get_tensor("weights"), trace.weights)


def matrix(run: Run) -> pd.DataFrame:
    return tables.table(Computed(experiment(WORDS), run, View(), None, 0), "weights")


def test_a_table_has_as_many_fields_as_a_harmless_one_and_no_formula(tmp_path) -> None:
    n = len(TOKENS)
    for about in ABOUTS:
        text = table_as_csv(about, matrix(RUNS["hostile"]))
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert [len(row) for row in rows] == [1, 1, 1] + [n + 1] * (n + 1), about.title
        assert rows[3][1:] == [row[0] for row in rows[4:]]
        assert [name.replace("'", "") for name in rows[3][1:]] == [
            f"{i + 1} {visible(token[:NAME_CHARS])}".replace("'", "") for i, token in enumerate(TOKENS)
        ]
        assert not [field for row in rows for field in (row[:1] if row in rows[4:] else row) if field[:1] in FORMULAS]
        path = tmp_path / "a.csv"
        path.write_text(text, encoding="utf-8", newline="")
        read = pd.read_csv(path, skiprows=3, index_col=0, dtype=dict.fromkeys(rows[3][1:], "float32"))
        assert np.array_equal(read.to_numpy(), matrix(RUNS["harmless"]).to_numpy())


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_no_spreadsheet_finds_a_formula_whatever_ends_its_cells(separator: str) -> None:
    names = [*TOKENS, *(f"a{s}{sign}1+1" for s in ",;\t\r\n" for sign in FORMULAS[:8])]
    frame = pd.DataFrame(np.ones((len(names), len(names)), "f"), index=names, columns=names)
    first, *rows = list(csv.reader(io.StringIO(table_as_csv(HARMLESS, frame), newline="")))[3:]
    assert len(rows) == len(names)
    for name in (*first, *(row[0] for row in rows)):
        assert not [cell for cell in name.split(separator) if cell[:1] in FORMULAS[:8]], name
    for title in names:
        line = table_as_csv(About(title, "", "1"), frame.iloc[:1, :1]).splitlines()[0]
        assert not [cell for cell in line.split(separator) if cell.lstrip('"')[:1] in FORMULAS[:8]], line


def test_metadata_are_json_and_no_key_of_it_is_the_texts() -> None:
    data = safetensors(ABOUTS[0], RUNS["hostile"])
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    plain = safetensors(HARMLESS, RUNS["harmless"])
    assert header.keys() == json.loads(plain[8 : 8 + int.from_bytes(plain[:8], "little")]).keys()


def test_edits_that_hold_no_numbers_do_not_reach_a_program() -> None:
    for payload in SCRIPTS[:3]:
        with pytest.raises((TypeError, ValueError)):
            replace(Experiment("a"), q=(((0, 0, 0), payload),))
