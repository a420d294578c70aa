"""The program that "Copy as Python" gives: run alone, it prints the cell to the digits on screen."""

import ast
import itertools
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnviz.core.arithmetic import Arithmetic
from attnviz.experiment import STEPS, Experiment, View
from attnviz.export.python import agreed_digits, cell_program
from attnviz.figures.text import number
from attnviz.ui import sentences
from tests.ui.cells import EXPERIMENTS, explained, shape, some, view_of

# Runs many programs in one fresh interpreter, each with names of its own: torch takes seconds to load.
TOGETHER = """
import contextlib, io, runpy, sys
for path in sys.argv[1:]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(path)
    print(repr(printed.getvalue()))
"""
# A float32 that overflows is none of a program that computes in float64; masked: test_undefined_scores_are_explained.
OVERFLOWN = ("query", "key", "value", "masked")
NASTY = [
    "'''",
    '"""',
    "\\",
    "a\nb",
    "\nimport os\nos._exit(7)",
    "\u2028x",
    "\x85y",
    "\r\nz",
    "猫",
    "{f}",
    "\x0cq",
    "\x1c1/0",
]


def on_screen(cell: Arithmetic) -> str:
    """What the page shows of a cell, in the signs that Python prints."""
    return number(cell.cell, agreed_digits(cell)).replace("−", "-").replace("∞", "inf").replace("NaN", "nan")


def alone(program: Path) -> tuple[int, str, str]:
    """Run a program in a fresh interpreter; return its code, what it printed and what it complained of."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"OMP_NUM_THREADS": "1"}
    # From a folder of its own: the program must not need attnviz.
    command = [sys.executable, program.name]
    done = subprocess.run(command, cwd=program.parent, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_a_program_alone_in_a_fresh_interpreter_prints_its_cell(tmp_path: Path) -> None:
    """One of each kind: a projection, a softmax, a sum over keys. All others run together, below."""
    run = EXPERIMENTS["grouped"].run()
    expected = {}
    for step in ("query", "weights", "output"):
        view = view_of(step, 1, 3, 2, 1)
        cell = explained(run, view)
        path = tmp_path / f"{step}_cell.py"
        path.write_text(cell_program(cell, sentences.place(run, view)), encoding="utf-8")
        expected[path] = (0, on_screen(cell) + "\n", "")
    with ThreadPoolExecutor(2) as pool:  # each loads torch: all at once would take 2 GB
        assert dict(zip(expected, pool.map(alone, expected), strict=True)) == expected


@pytest.fixture(scope="module")
def printed_together(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, View, str, str]]:
    """(experiment, view, what the page shows, what the program printed) of several hundred cells."""
    folder = tmp_path_factory.mktemp("programs")
    cells = []
    for name, step in itertools.product(EXPERIMENTS, STEPS):
        if name == "infinite" and step in OVERFLOWN:
            continue
        for run, view, cell in some(name, 8, seed=2, steps=(step,)):
            if view.step in ("query", "key", "value") and abs(cell.cell - cell.total) > cell.tolerance:
                cell = cell._replace(cell=cell.total)  # a typed number: the program is the projection
            cells.append((name, view, on_screen(cell), cell_program(cell, sentences.place(run, view))))
    paths = []
    for i, (*_, program) in enumerate(cells):
        path = folder / f"cell_{i}.py"
        path.write_text(program, encoding="utf-8")
        paths.append(str(path))
    # As isolated as can be, in a folder of its own: the programs must not need attnviz.
    command = [sys.executable, "-I", "-c", TOGETHER, *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    outputs = [ast.literal_eval(line) for line in done.stdout.splitlines()]
    return [(name, view, seen, out) for (name, view, seen, _), out in zip(cells, outputs, strict=True)]


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("step", STEPS)
def test_many_cells_print_as_they_are_shown(
    name: str, step: str, printed_together: list[tuple[str, View, str, str]]
) -> None:
    cells = [(view, seen, out) for n, view, seen, out in printed_together if n == name and view.step == step]
    assert len(cells) == 8 or (name == "infinite" and step in OVERFLOWN)
    for view, seen, out in cells:
        assert out == seen + "\n", view


def test_the_drawn_cells_hold_hidden_and_wholly_masked_ones(
    printed_together: list[tuple[str, View, str, str]],
) -> None:
    assert any(out == "-inf\n" for *_, out in printed_together)
    assert any(
        name == "nowhere" and view.step == "weights" and out == "0.0000\n" for name, view, _, out in printed_together
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_program_is_short_and_says_what_it_prints(step: str) -> None:
    run = EXPERIMENTS["cat"].run()
    view = view_of(step, 0, 0, 1, 2)
    cell = explained(run, view)
    program = cell_program(cell, sentences.place(run, view))
    assert len(program.splitlines()) <= 8
    assert program.startswith("import torch\n")
    assert "attnviz" not in program
    assert program.endswith(f"# {on_screen(cell)}")
    token = run.tokens[0][view.u if step in ("key", "value") else view.s]
    assert f"'{token}'" in program


@pytest.mark.parametrize("token", NASTY)
@pytest.mark.parametrize("step", ["query", "weights", "output"])
def test_a_token_cannot_leave_the_comment(token: str, step: str) -> None:
    run = Experiment("a b").run()
    run = run._replace(tokens=((token, token),))
    view = view_of(step, 0, 0, 1, 1)
    plain = ast.dump(ast.parse(cell_program(explained(run, view), "the cell")))
    program = cell_program(explained(run, view), sentences.place(run, view))
    assert ast.dump(ast.parse(program)) == plain
    program = cell_program(explained(run, view), token)  # nor when somebody hands it over as it is
    assert ast.dump(ast.parse(program)) == plain


def test_undefined_scores_are_explained() -> None:
    printed = set()
    for run, view, cell in some("infinite", 9, steps=("masked",)):
        printed.add(on_screen(cell))
        compile(cell_program(cell, sentences.place(run, view)), "cell.py", "exec")
    assert "nan" in printed


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "infinite"])
def test_printed_digits_agree_with_the_sum_and_are_as_many_as_can_be(name: str) -> None:
    digits = []
    for _, view, cell in some(name, 10, seed=3):
        if abs(cell.cell - cell.total) > cell.tolerance or not math.isfinite(cell.cell):
            continue
        digits.append(agreed_digits(cell))
        assert number(cell.cell, digits[-1]) == number(cell.total, digits[-1]), view
    if name != "large":
        assert sum(d == 4 for d in digits) >= 0.95 * len(digits)
        assert min(digits) >= 2


def test_every_cell_of_a_small_board_can_be_copied() -> None:
    run = EXPERIMENTS["edited"].run()
    for step in STEPS:
        _, _, rows, columns = shape(run, step)
        for h in range(2):
            for row in range(rows):
                for column in range(columns):
                    view = view_of(step, 0, h, row, column)
                    program = cell_program(explained(run, view), sentences.place(run, view))
                    assert re.search(r"print\(.+\)  # \S+$", program)
                    compile(program, "cell.py", "exec")
