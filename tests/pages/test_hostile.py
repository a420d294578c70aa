"""Hostile tokens in every lab: what is drawn holds no markup but the app's own, and no file is named by them."""

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch

from attnviz.ui import terms
from tests.hostile import LINKS, SCRIPTS
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session
from tests.pages.tensors import Bringing, npz

TEXT = " ".join(SCRIPTS + LINKS)
# Tags of the app's own words and tables, and their attributes.
OWN = {"div", "span", "pre", "b", "i", "br", "sub", "sup", "table", "thead", "tbody", "tr", "th", "td", "code"}
ATTRIBUTES = {"style", "class", "title", "lang", "dir", "scope"}


class Markup(HTMLParser):
    """The tags and attributes in what a browser is given as markup."""

    def __init__(self, marked: str) -> None:
        super().__init__()
        self.foreign: list[str] = []
        self.feed(marked)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.foreign += [tag] if tag not in OWN else []
        self.foreign += [name for name, _value in attrs if name not in ATTRIBUTES]


def strings(value: Any) -> list[str]:
    """Every string in a figure."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in inner for each in strings(part)]


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_no_token_becomes_markup(lab: Lab) -> None:
    session = Session(lab.page, text=TEXT, tokenizer="spaces", context=TEXT[:400], sequence=TEXT[:100], **lab.query)
    assert session.sound()
    drawn = [text for chart in session.at.get("plotly_chart") for text in strings(json.loads(chart.proto.spec))]
    drawn += [each.proto.body for each in session.at.get("html")]
    assert drawn and [(text, found) for text in drawn if (found := Markup(text).foreign)] == []
    for each in [*session.at.markdown, *session.at.caption, *session.at.info, *session.at.warning]:
        assert not [payload for payload in SCRIPTS if payload in each.value]
        assert not getattr(each.proto, "allow_html", False)


def test_markup_that_is_not_the_apps_own_is_found() -> None:
    assert Markup(SCRIPTS[0]).foreign == ["script"] and Markup("<b>x</b>").foreign == []
    assert Markup('<span onclick="1">').foreign == ["onclick"]


# ---- the names of files ----

NAMES = (
    r"attnviz\.(html|py|ipynb|safetensors|[a-z_]+\.csv)",  # a view taken home
    r"cell\.py",
    r"attnviz-[a-z]+\.(npz|safetensors)",  # an example of Your tensors
    r"attnviz-[a-z]+-step-\d+\.safetensors",  # a trained model
)
HOMES = {"attnviz/ui/home.py", "attnviz/ui/terms.py", "attnviz/ui/tensors/files.py", "attnviz/ui/training/home.py"}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that pages offer, as they are drawn."""
    names: list[str] = []
    real = st.download_button

    def offered(label: str, data: Any, file_name: str, *more: Any, **settings: Any) -> bool:
        names.append(file_name)
        return real(label, data, file_name, *more, **settings)

    monkeypatch.setattr(st, "download_button", offered)
    return names


def fixed(names: list[str]) -> set[int]:
    """Which of NAMES there are; pytest shows a name that is none of them."""
    found = [[i for i, name in enumerate(NAMES) if re.fullmatch(name, each)] for each in names]
    assert all(found), names
    return {i for each in found for i in each}


def test_every_file_that_a_page_offers_is_asked_about() -> None:
    root = Path(__file__).parents[2]
    files = [*root.glob("attnviz/**/*.py"), *root.glob("pages/*.py"), root / "app.py"]
    offering = {str(file.relative_to(root)) for file in files if "download_button(" in file.read_text("utf-8")}
    assert offering == HOMES and len(NAMES) == len(HOMES)


def test_no_typed_text_names_a_file(taken: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "TERMS_MOST", 1)
    session = Session(text=TEXT, tokenizer="spaces", mask=SCRIPTS[0], step="output", s="2")
    session.set("written_out", True).open("home", "program")
    assert session.sound() and fixed(taken) == {0, 1} and len(set(taken)) == 6
    sharing = [json.loads(e.proto.json) for e in session.at.get("bidi_component") if e.key == "sharing"]
    said = {"copy", "copied", "save", "none", "version", "lang", "scheme"}
    assert [set(each) for each in sharing] == [said]  # names are made of the page's code and of charts' keys


def test_no_file_that_is_dropped_names_another(taken: list[str]) -> None:
    tensors, files = torch.ones(2, 3, 3, 4), [*SCRIPTS[:3], LINKS[0], LINKS[-1], "\u202egnp.exe"]
    for name in files:
        arrays: dict[str, Any] = {"q": tensors, "k": tensors, "v": tensors, SCRIPTS[2]: torch.ones(2, 3, 3)}
        session = Bringing(example=SCRIPTS[0]).drop((f"{name}.npz", npz(**arrays, tokens=np.array(SCRIPTS[:3]))))
        session.open("home")
        assert session.sound()
        assert not [payload for payload in (*SCRIPTS, *LINKS) if payload in session.words()]
    assert fixed(taken) == {0}
    assert Bringing(example="scale").sound() and fixed(taken) == {0, 2}


def test_no_link_names_the_file_of_a_trained_model(taken: list[str]) -> None:
    session = Session("training", task=SCRIPTS[0], steps="40", ran="1", at_step=SCRIPTS[1], learn=SCRIPTS[2])
    deadline = time.monotonic() + 60
    while not taken and time.monotonic() < deadline:
        time.sleep(0.2)
        session.at.run()
    assert session.sound() and fixed(taken) == {3}


def test_a_name_of_somebodys_own_is_found() -> None:
    with pytest.raises(AssertionError):
        fixed(["attnviz.html", "../../etc/passwd.html"])
