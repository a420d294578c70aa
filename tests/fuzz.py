"""Whatever comes from outside, at random: links, tokens, equations, files. No error but the declared, none over 2 s.

    python -m tests.fuzz --cases 100000            all kinds, a quarter each
    python -m tests.fuzz --kind files --seed 7

A case is remade from its kind, the seed and its number, which are printed for each that fails.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from html.parser import HTMLParser

import torch

from attnviz.core.einsum_parse import EquationError
from attnviz.experiment import Experiment, View
from attnviz.figures import text
from attnviz.labs import equations
from attnviz.labs.equation_sizes import SizesError
from attnviz.labs.equation_tensors import own_tensors
from attnviz.links import from_query, read_query, to_query
from attnviz.models.files import read_file
from attnviz.models.files_refused import FileRefused
from attnviz.tokenizers import TOKENIZERS, clean, tokenize
from tests.fuzz_drawn import equation, file, query, word

MOST = 2.0  # seconds of one case
RUN = Experiment("the cat sat on the mat\na dog ran", d_model=5, d_k=3, d_v=2, n_heads=2).run()
assert RUN.trace is not None
TENSORS = own_tensors(RUN.x, RUN.w_q, RUN.w_k, RUN.w_v, RUN.trace)


class Slow(Exception):
    """A case took too long."""


def try_query(draw: random.Random) -> None:
    """A link is read, what was read is sound, and it can be written and read again."""
    experiment, view, _said = read_query(query(draw))
    assert from_query(f"/{view.page}?{to_query(experiment, view)}") == (experiment, view)


class Tags(HTMLParser):
    """The tags in Plotly's markup."""

    def __init__(self, marked: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(marked)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def try_tokens(draw: random.Random) -> None:
    """Any text is split, linked and shown, and no token makes a tag."""
    typed = draw.choice((" ", "")).join(word(draw) for _ in range(draw.randint(0, 12)))
    for tokenizer in TOKENIZERS:
        for token in tokenize(typed, tokenizer):
            assert Tags(text.label(token)).found == Tags(text.html(token)).found == []
            text.markdown(token).encode("utf-8", "surrogatepass")
        experiment = Experiment(clean(typed), tokenizer=tokenizer)
        assert from_query(to_query(experiment, View()))[0] == experiment
        assert all(experiment.sequences)


def try_equation(draw: random.Random) -> None:
    """An equation is refused in a declared way, or its sums are torch's own."""
    typed, sizes = equation(draw)
    try:
        problem = equations.pose(typed, sizes, TENSORS, {"b": 0, "h": 0})
    except (EquationError, SizesError) as refused:
        str(refused)
        return
    found = equations.result(problem)
    right = torch.einsum(problem.equation.text, *problem.operands)
    assert found.shape == right.shape and torch.equal(found, right)
    equations.read_index(word(draw), found.shape)
    equations.source(problem)


def try_file(draw: random.Random) -> None:
    """A file is read, or refused in a declared way."""
    try:
        for array in read_file(*file(draw)).arrays:
            array.tensor.sum()
    except FileRefused as refused:
        str(refused)


TRIALS: dict[str, Callable[[random.Random], None]] = {
    "queries": try_query,
    "tokens": try_tokens,
    "equations": try_equation,
    "files": try_file,
}


def run(kind: str, cases: range, seed: int, trial: Callable[[random.Random], None] | None = None) -> list[str]:
    """Run cases of a kind; return a line and a traceback for each that failed, and print how slow the slowest was."""

    def late(_signal: int, _frame: object) -> None:
        raise Slow(f"not done after {MOST:g} s")

    failed, slowest = [], (0.0, 0)
    signal.signal(signal.SIGALRM, late)
    for i in cases:
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, MOST)
        try:
            (trial or TRIALS[kind])(random.Random(f"{kind} {seed} {i}"))
        except Exception:
            failed.append(f"--kind {kind} --seed {seed} --first {i}\n{traceback.format_exc(limit=-4)}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        slowest = max(slowest, (time.perf_counter() - start, i))
    print(
        f"{kind:9}  {len(cases):7,} cases, {len(failed)} failed, slowest {1000 * slowest[0]:.0f} ms (case {slowest[1]})"
    )
    return failed


def main() -> int:
    """Run what was asked for; 1 when anything failed."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--cases", type=int, default=100_000, help="of all kinds together (default 100,000)")
    arguments.add_argument("--kind", choices=TRIALS, help="of one kind alone")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--first", type=int, default=0, help="the number of the first case")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")  # libraries warn of what they read; so they may
    kinds = [given.kind] if given.kind else list(TRIALS)
    cases = range(given.first, given.first + max(1, given.cases // len(kinds)))
    failed = [each for kind in kinds for each in run(kind, cases, given.seed)]
    for each in failed[:20]:
        print(each)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
