"""Every lab taken home: its program computes the very numbers on screen, and its other files hold them."""

import contextlib
import io
import json
import math
import re
import runpy
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch
from nbclient import NotebookClient
from safetensors.torch import load
from torch import Tensor

from attnviz.export.calls import unmade
from attnviz.export.named import tensors
from attnviz.export.program import About
from attnviz.ui.drawn import Published
from attnviz.ui.labs import home
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

SECTIONS = [lab for lab in LABS if not lab.board]
TEXT = "the cat sat on the mat"
# What a link sets so that a lab shows all that it has.
SETTINGS: dict[str, dict[str, str]] = {
    "projections-parameters": {"n_heads": "4", "n_kv_heads": "2", "length": "1000", "reveal": "1,2"},
    "scores-scale": {
        "positions": "alibi",
        "temperature": "2",
        "mask": "causal",
        "s": "3",
        "draw_d_k": "9",
        "reveal": "3",
    },
    "scores-softmax": {"axis": "s", "shift": "-100", "mask": "causal", "s": "2", "reveal": "4,15"},
    "output-value": {"value_is": "i", "h": "1", "n_kv_heads": "1", "reveal": "8"},
    "positions": {"positions": "alibi", "order": "3 1 2", "mask": "causal", "h": "1", "reveal": "16"},
    "positions-terms": {"positions": "learned", "h": "1", "n_kv_heads": "1", "reveal": "17"},
    "positions-rotation": {"positions": "rope_half", "h": "1", "n_kv_heads": "1", "s": "4", "u": "2", "reveal": "18"},
    "scores-masks": {"mask": "causal", "hidden_value": "-1", "h": "1", "n_kv_heads": "1", "reveal": "11,12,13,14"},
    "roles-lookup": {"lookup": "0.3", "s": "3", "reveal": "10"},
    "roles-tables": {"h": "1", "n_kv_heads": "1", "mask": "causal", "reveal": "9"},
    "roles-order": {"h": "1", "n_kv_heads": "1", "s": "2", "u": "3", "reveal": "5,25"},
    "roles-matrices": {"h": "1", "n_kv_heads": "1", "tied": "1", "reveal": "6,7"},
    "einsum": {"equation": "bik,bjk->bij", "h": "1", "n_kv_heads": "1", "at": "1, 2, 3", "lit": "k", "reveal": "20"},
    "heads-split": {"n_heads": "1", "h": "5", "reveal": "19"},
    "heads-shared": {"n_heads": "4", "n_kv_heads": "2", "mask": "causal", "positions": "alibi", "reveal": "26"},
    "heads-cross": {"context": "a black cat", "h": "1", "n_kv_heads": "1", "positions": "rope_half", "reveal": "21"},
    "heads-average": {"n_heads": "1", "h": "3", "mask": "window", "s": "3", "sharpness": "1.5", "reveal": "23"},
    "decoding": {"decoded": "6", "h": "1", "n_kv_heads": "1", "positions": "alibi", "reveal": "22"},
    "proof": {"knocked": "token", "mask": "causal", "s": "4", "u": "1", "reveal": "24"},
}
ABOUT = About("the title", "http://localhost:8501/?text=x", "1.2.3")


def published(session: Session) -> Published:
    found: Published = session.at.session_state["_drawn"].published
    return found


def made(now: Published, kind: str) -> bytes:
    found = home.made(kind, now, ABOUT)
    assert isinstance(found, bytes)
    return found


def ran(text: str) -> dict[str, Any]:
    """The names that a program leaves behind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        return runpy.run_path(str(path))


def opened(lab: Lab, **query: str) -> Session:
    return Session(lab.page, **{"text": TEXT, "n_heads": "2", **lab.query, **query})


@pytest.mark.parametrize("query", [{}, "set"], ids=["plain", "set"])
@pytest.mark.parametrize("lab", SECTIONS, ids=str)
def test_its_program_computes_the_numbers_on_screen(lab: Lab, query: Any) -> None:
    check_program(
        opened(lab, **(SETTINGS.get(str(lab), {"h": "1", "mask": "causal", "n_kv_heads": "1"}) if query else {}))
    )


def check_program(session: Session) -> str:
    """Check that a lab's program computes the numbers on screen, and return it."""
    assert session.sound()
    now = published(session)
    shown = home.shown(now)
    assert not unmade(now.calls, shown, now.computed.run)
    text = str(home.made("py", now, ABOUT))
    found = ran(text)
    lines = re.findall(r"^print\((.*)\)  # (.*)$", text, re.M)
    assert [title for _code, title in lines] == [" ".join(one.title.split()) for one in shown]
    for (code, title), one in zip(lines, shown, strict=True):
        value = at(found, code)
        assert torch.equal(value.isneginf(), one.values.isneginf()), title
        torch.testing.assert_close(value, one.values.detach(), rtol=1e-5, atol=1e-6, equal_nan=True, check_dtype=False)
    known = torch.tensor(sorted(numbers(found)), dtype=torch.float64)
    for figure in now.figures:
        if not figure.maps:
            for name, make in figure.tables:
                for number in of_table(make()):
                    near = float((known - number).abs().min())
                    assert near <= 1e-6 + 1e-5 * abs(number), (figure.key, name, number)
    return text


def at(found: dict[str, Any], code: str) -> Tensor:
    """What an expression of the program gives."""
    value: Tensor = eval(code, dict(found))  # noqa: S307  # of our own program
    return value


def numbers(found: dict[str, Any]) -> Iterator[float]:
    """Every number that a program leaves behind, or that stands in what it leaves behind."""
    for name, value in found.items():
        if not name.startswith("__"):
            yield from _numbers(value)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool | str):
        return
    if isinstance(value, int | float):
        if math.isfinite(value):
            yield float(value)
    elif isinstance(value, Tensor):
        yield from (one for one in value.detach().double().flatten().tolist() if math.isfinite(one))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _numbers(one)


def of_table(table: pd.DataFrame) -> Iterator[float]:
    """The numbers of a chart's table."""
    for column in table.columns:
        if table[column].dtype.kind in "fi":
            yield from (float(value) for value in table[column] if math.isfinite(value))


@pytest.mark.parametrize("lab", SECTIONS, ids=str)
def test_its_other_files_hold_what_is_on_screen(lab: Lab) -> None:
    session = opened(lab)
    now = published(session)
    book = nbformat.reads(str(home.made("ipynb", now, ABOUT)), as_version=4)
    nbformat.validate(book)
    held = load(made(now, "safetensors"))
    for call in now.calls:
        for name, tensor in tensors(call.name, call.result):
            assert torch.equal(held[f"lab.{name}"].nan_to_num(), tensor.detach().nan_to_num())
    with zipfile.ZipFile(io.BytesIO(made(now, "zip"))) as file:
        tables = [pd.read_csv(file.open(name), skiprows=3, index_col=0) for name in file.namelist()]
    for one in home.shown(now):
        values = one.values.detach().double().float().numpy()
        assert any(t.shape == values.shape and same(t, values) for t in tables), one.title


def same(table: pd.DataFrame, values: Any) -> bool:
    """Say whether a table holds these numbers, digit by digit."""
    return all(kind.kind in "fib" for kind in table.dtypes) and bool(
        np.array_equal(table.to_numpy(dtype="float32"), values, equal_nan=True)
    )


@pytest.mark.parametrize("lab", [SECTIONS[-1], SECTIONS[0]], ids=str)
def test_a_notebook_runs_and_prints_the_numbers(lab: Lab) -> None:
    now = published(opened(lab))
    book = nbformat.reads(str(home.made("ipynb", now, ABOUT)), as_version=4)
    NotebookClient(book, timeout=120).execute()
    printed = "".join(out.get("text", "") for cell in book.cells for out in cell.get("outputs", []))
    assert printed
    assert "Error" not in printed


@pytest.mark.parametrize("lab", SECTIONS, ids=str)
def test_it_offers_five_files_with_the_link(lab: Lab) -> None:
    session = opened(lab).open("home")
    assert session.sound()
    kinds = [str(e.proto.id).rpartition("home:")[2] for e in session.at.get("download_button")]
    assert kinds == ["html", "py", "ipynb", "safetensors", "zip"]


@pytest.mark.parametrize("lab", SECTIONS, ids=str)
def test_its_box_shows_the_code_that_the_title_names(lab: Lab) -> None:
    """In a part of its own, which a closed box and the others draw nothing of."""
    session = opened(lab, lang="zh")
    (box,) = [e for e in session.at.expander if e.label.startswith("带回去")]
    named = re.findall(r"`(\w+)`", box.label)
    session.at.session_state["home_part.zh"] = "code"
    shown = [code.value for code in session.open("home").at.code if code.value.startswith("def ")]
    assert session.sound() and named
    assert [re.match(r"def (\w+)", code)[1] for code in shown] == named  # type: ignore[index]


@pytest.mark.parametrize("lab", SECTIONS, ids=str)
def test_its_page_has_every_figure_and_table(lab: Lab) -> None:
    session = opened(lab, lang="zh").open("home")
    now = published(session)
    text = str(home.made("html", now, ABOUT))
    told = json.loads(re.search(r"const home = (.*);\n", text)[1])  # type: ignore[index]
    assert [chart["key"] for chart in told["charts"]] == [f.key for f in now.figures if f.spec]
    for place in told["steps"].values():
        assert all(n > 0 for n in place["shape"])
    n_tables = sum(len(chart["tables"]) for chart in told["charts"])
    assert n_tables or not now.figures
