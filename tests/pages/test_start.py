"""The start of a server: any page may be the first one opened, and the title stands before torch is loaded."""

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import app_test

from attnviz.experiment import Experiment
from tests.pages.session import PAGES, Session
from tests.pages.test_pages import TITLES, check_numbers

ROOT = Path(__file__).parents[2]

# What is loaded at the moment the title is drawn, by the first session of a process.
BEFORE_THE_TITLE = """
import sys
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

drawn = []
whole = DeltaGenerator.title
def title(self, body, *args, **kwargs):
    drawn.append([name for name in ("torch", "attnviz.figures.board") if name in sys.modules])
    return whole(self, body, *args, **kwargs)
DeltaGenerator.title = title
st.title = title.__get__(st._main)
if sys.argv[1] == "control":
    import torch
at = AppTest.from_file("app.py", default_timeout=300).run()
assert not at.exception and len(at.get("plotly_chart")) == 3
print(drawn[0])
"""


def loaded_before_the_title(how: str) -> str:
    command = [sys.executable, "-c", BEFORE_THE_TITLE, how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_title_stands_before_torch_and_the_figures_are_loaded() -> None:
    assert loaded_before_the_title("as it is") == "[]"


def test_that_test_can_fail() -> None:
    assert "torch" in loaded_before_the_title("control")


@pytest.mark.parametrize("page", PAGES)
def test_any_page_may_be_the_first_that_a_server_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As AppTest comes, every run is a server's first: Streamlit takes the folder `pages` for its older kind of app.
    monkeypatch.setattr(app_test, "PagesManager", PagesManager)
    session = Session(page, text="a b c", d_k="2", lang="en")
    assert session.sound()
    assert session.at.title[0].value == TITLES[page]
    assert session.experiment == Experiment("a b c", d_k=2)
    check_numbers(session)


def test_two_sessions_know_nothing_of_each_other() -> None:
    first, second = Session(lang="zh"), Session(locale="en-US")
    first.set("text_line", "猫 狗").set("mask", "causal")
    second.set("text_line", "the dog")
    assert first.experiment == Experiment("猫 狗", mask="causal")
    assert second.experiment == Experiment("the dog")
    assert (first.widget("language").value, second.widget("language").value) == ("zh", "en")
    check_numbers(first)
    check_numbers(second)
