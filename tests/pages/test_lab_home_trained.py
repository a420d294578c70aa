"""Sections on trained models and brought tensors that show no board: what they show is taken home as numbers."""

import io
import re
import zipfile

import pandas as pd
import pytest
import torch
from safetensors.torch import load

from attnviz.export.program import About
from attnviz.ui.drawn import Published
from attnviz.ui.labs import home
from tests.export.test_long_program import ran
from tests.pages.session import Session
from tests.pages.tensors import Bringing, npz
from tests.pages.test_lab_home import at
from tests.pages.trained import Reading

ABOUT = About("the title", "http://localhost:8501/trained", "1.2.3")
KINDS = ["html", "py", "ipynb", "safetensors", "zip"]


def published(session: Session) -> Published:
    found: Published = session.at.session_state["_drawn"].published
    return found


def made(now: Published, kind: str) -> bytes:
    found = home.made(kind, now, ABOUT)
    return found if isinstance(found, bytes) else found.encode()


def offered(session: Session) -> list[str]:
    return [str(e.proto.id).rpartition("home:")[2] for e in session.at.get("download_button")]


def check(session: Session) -> None:
    """Compare what is taken home with what is drawn."""
    assert session.sound()
    assert offered(session) == KINDS
    now = published(session)
    shown, text = home.shown(now), made(now, "py").decode()
    lines = re.findall(r"^print\((.*)\)  # (.*)$", text, re.M)
    names, _printed = ran(text)
    tensors = load(made(now, "safetensors"))
    assert len(lines) == len(shown) > 0
    for (code, title), one in zip(lines, shown, strict=True):
        torch.testing.assert_close(at(names, code), one.values, rtol=1e-5, atol=1e-6, equal_nan=True, msg=title)
        if code.startswith("shown_"):  # of the model, and not made of the head's own queries, keys and values
            assert torch.equal(tensors[f"lab.{code}"].nan_to_num(), one.values.nan_to_num())
    with zipfile.ZipFile(io.BytesIO(made(now, "zip"))) as file:
        tables = [pd.read_csv(file.open(name), skiprows=3, index_col=0) for name in file.namelist()]
    assert len(tables) >= len(shown)
    assert "const home = " in made(now, "html").decode()


@pytest.mark.parametrize("section", ["lines", "beyond", "silenced", "beside"])
def test_a_section_on_a_trained_model(section: str) -> None:
    check(Reading(section=section, layer="1", head="0", silenced="d0.0").open("home"))


def test_a_brought_head_without_queries_and_keys() -> None:
    weights = torch.rand(4, 6, generator=torch.Generator().manual_seed(0))
    session = Bringing().drop(("weights.npz", npz(weights=weights / weights.sum(-1, keepdim=True))))
    session.open("home")
    check(session)
