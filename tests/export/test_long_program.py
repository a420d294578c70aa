"""A long text as a program: torch alone computes the rows on screen again, whatever the experiment."""

import contextlib
import io
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from attnviz import long
from attnviz.drawing import write_drawing
from attnviz.experiment import CHOICES, Experiment, Run, View
from attnviz.export.notebook import notebook
from attnviz.export.program import About, script
from attnviz.limits import DRAWN, LONG_TOKENS, TOKENS_SHOWN
from attnviz.run import without_trace

ABOUT = About("the title", "http://localhost:8501/?seed=1", "1.2.3")
N = 600
ONE = " ".join(f"w{i * 7 % 97}" for i in range(N))
RAGGED = "\n".join([ONE, " ".join(f"v{i * 5 % 31}" for i in range(290)), "a b c"])
# Row 1 sees none of its keys; later rows and columns it leaves alone.
DRAWING = write_drawing([[s != 1 and (s + u) % 3 > 0 for u in range(40)] for s in range(40)])
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}


def run_of(experiment: Experiment, b: int = 0, h: int = 0) -> Run:
    return long.of(without_trace(experiment), experiment, b, h)


def ran(text: str) -> tuple[dict[str, Any], str]:
    """The names that a program leaves behind, and what it prints."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        return runpy.run_path(str(path)), printed.getvalue()


def compare(run: Run, view: View, first: int) -> str:
    """Run the program of a view, and return its text. first: the query token that its first row is of."""
    held = run.long
    assert held is not None
    text = script(ABOUT, held.experiment, run, view)
    found, _ = ran(text)
    expected = held.rows(first, first + TOKENS_SHOWN)
    assert found["tokens"] == list(run.tokens[held.b])
    assert found["rows"].tolist() == list(range(first, first + TOKENS_SHOWN))
    assert torch.equal(found["X"], held.x)
    for name, tensor in (("Q", held.query), ("K", held.key), ("V", held.value)):
        torch.testing.assert_close(found[name], tensor, **CLOSE)
    for name, step in {"S": "scores", "scaled": "scaled", "masked": "masked", "a": "weights", "O": "output"}.items():
        torch.testing.assert_close(found[name], getattr(expected, step), **CLOSE, equal_nan=True)
    return text


@pytest.mark.parametrize("positions", CHOICES["positions"])
@pytest.mark.parametrize("mask", CHOICES["mask"])
def test_every_mask_with_every_kind_of_positions(mask: str, positions: str) -> None:
    for text, n_heads, groups in ((ONE, 1, 1), (RAGGED, 4, 2)):
        experiment = Experiment(
            text,
            d_k=6,
            d_v=3,
            mask=mask,
            positions=positions,
            n_heads=n_heads,
            n_kv_heads=groups,
            window_left=3,
            window_right=1,
            prefix_length=60,
            drawn=DRAWING,
            scale="d_k",
            temperature=1.3,
            x=(((0, 5, 1), 3.0),),
            w_v=(((0, 1), -2.0),),
        )
        for b in range(len(experiment.sequences)):
            run = run_of(experiment, b, n_heads - 1)
            for first in (0, 280):
                compare(run, View(b=b, h=n_heads - 1, from_s=first), first)


def test_a_drawn_mask_stands_in_it_as_far_as_it_is_on_screen() -> None:
    run = run_of(Experiment(ONE, mask="drawn", drawn=DRAWING))
    assert "drawn[:24, :40] = " in compare(run, View(), 0)
    assert "drawn[:10, :40] = " in compare(run, View(from_s=30), 30)
    beyond = compare(run, View(from_s=DRAWN), DRAWN)
    assert "mask = " not in beyond and "masked = scaled\n" in beyond


def test_a_row_that_may_attend_nowhere_gives_nothing() -> None:
    experiment = Experiment(RAGGED, mask="drawn", drawn=DRAWING)
    short = run_of(experiment, b=2)  # beyond its three tokens there is padding
    assert short.long is not None and not short.long.rows(0, 24).weights[1].any()
    assert "gives nothing" in compare(short, View(b=2), 0)
    assert "gives nothing" not in compare(run_of(experiment), View(), 0)


def test_what_was_typed_into_this_head_and_sequence_alone_is_in_it() -> None:
    experiment = Experiment(
        RAGGED,
        n_heads=4,
        n_kv_heads=2,
        positions="rope_half",
        q=(((1, 3, 13), 0.5), ((0, 3, 13), 0.25), ((1, 3, 2), 0.125)),
        k=(((1, 288, 7), -1.5), ((1, 290, 7), 9.0)),  # the last lies in the padding
        v=(((1, 0, 4), 2.5), ((1, 0, 3), 7.0)),
    )
    text = compare(run_of(experiment, 1, 3), View(b=1, h=3, from_s=270), 270)
    assert re.findall(r"^([QKV]\[.*)$", text, re.MULTILINE) == ["Q[3, 1] = 0.5", "K[288, 3] = -1.5", "V[0, 0] = 2.5"]


def test_numbers_that_float32_does_not_hold_stay_what_they_are() -> None:
    huge: dict[str, Any] = {"x": (((2, 2, 0), 3e38),), "w_q": (((0, 0), 90.0),), "w_k": (((0, 0), 90.0),)}
    run = run_of(Experiment(RAGGED, mask="drawn", drawn=DRAWING, **huge), b=2)
    assert run.long is not None
    weights = run.long.rows(0, 24).weights
    assert not weights[1].any() and weights[2].isnan().any()  # one sees nothing, one sees what is too large
    compare(run, View(b=2), 0)


def test_4096_tokens() -> None:
    text = " ".join(f"w{i * i % 997}" for i in range(4096))
    experiment = Experiment(text, mask="causal", positions="rope_interleaved", n_heads=2)
    compare(run_of(experiment, h=1), View(h=1, from_s=4090), 4072)


def test_it_says_what_it_is_and_prints_the_window_on_screen() -> None:
    experiment = Experiment(RAGGED, n_heads=2, mask="causal")
    view = View(b=1, h=1, from_s=30, from_u=20)
    run = run_of(experiment, 1, 1)
    text = script(ABOUT, experiment, run, view)
    assert text.splitlines()[:3] == ["# the title", "# http://localhost:8501/?seed=1", "# attnviz 1.2.3"]
    said = "head 2 of sequence 2, and of its scores the query tokens 31 to 54, which are on screen, with all 600 keys"
    assert f"# One head of one sequence of a long text: {said}" in text
    assert "# What is on screen: key tokens 21 to 44, and the output" in text
    assert run.long is not None
    rows = run.long.rows(30, 54)
    printed = torch.tensor([float(x) for x in re.findall(r"-?\d+\.\d+", ran(text)[1])])
    shown = torch.cat([rows.weights[:, 20:44].flatten(), rows.output.flatten()])
    torch.testing.assert_close(printed, shown, rtol=0, atol=5.1e-7)


def test_its_notebook_has_the_same_steps() -> None:
    experiment = Experiment(ONE, mask="window", positions="alibi")
    run = run_of(experiment)
    cells = nbformat.reads(notebook(ABOUT, experiment, run, View()), as_version=4).cells
    assert cells[1].source.startswith("## One head of one sequence of a long text")
    code = "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")
    found, _ = ran(code)
    assert run.long is not None
    torch.testing.assert_close(found["O"], run.long.rows(0, TOKENS_SHOWN).output, **CLOSE)


@pytest.mark.parametrize("token", ["'''", '"""', "\\", "\u2028x", "\x85y", "{f}", "猫", "\x00"])
def test_a_token_is_data(token: str) -> None:
    experiment = Experiment(ONE)
    run = run_of(experiment)
    run = run._replace(tokens=((token, *run.tokens[0][1:]),))
    assert ran(script(ABOUT, experiment, run, View()))[0]["tokens"][0] == token


def test_the_longest_text_makes_a_program_of_bounded_size() -> None:
    experiment = Experiment("我 " * LONG_TOKENS, d_model=64)  # as wide as X gets
    assert len(script(ABOUT, experiment, run_of(experiment), View()).encode()) < 12 * 2**20
