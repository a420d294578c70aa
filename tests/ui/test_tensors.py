"""Every cause, refusal and misfit has its words in both languages; work on tensors is one session's alone."""

import math
import threading
import time
from collections.abc import Iterator

import pytest
import torch

from attnviz import locale
from attnviz.core.diagnosis import Finding
from attnviz.core.diagnosis_causes import STEPS
from attnviz.core.diagnosis_pairs import PAIRS
from attnviz.core.diagnosis_weights import NUMBERS
from attnviz.models.files_axes import AXES, bring
from attnviz.models.files_mask import MISFITS, Misfit
from attnviz.models.files_refused import CODES
from attnviz.ui.tensors import causes, report, words
from attnviz.ui.tensors.jobs import Job, Line

VALUES = {"name": "a*b", "file": "x_y.npz", "kinds": ".npy", "most": 3 * 2**20, "got": 5, "why": "why", "low": 2}
VALUES |= {"high": 5, "content": "zip", "line": 3}
NUMBERS_OF = {"query": 1, "key": 2, "value": 3, "expected": (4, 5), "got": (6,), "heads": 7, "n": 8, "name": "weights"}


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    locale.use("en")


def in_both(make: object) -> tuple[str, str]:
    said = []
    for lang in ("en", "zh"):
        locale.use(lang)
        said.append(make())  # type: ignore[operator]
    return said[0], said[1]


@pytest.mark.parametrize("value", [None, 1.0, -1.0, -1e4, 0.1])
@pytest.mark.parametrize("code", [*STEPS, *NUMBERS])
def test_every_cause_has_a_sentence_of_its_own_in_both_languages(code: str, value: float | None) -> None:
    english, chinese = in_both(lambda: causes.sentence(Finding(code, 1.0, 0.0, value=value)))
    for said in (english, chinese):
        assert said.startswith("**") and "{" not in said and "\n" not in said
    assert english != chinese and any("\u4e00" <= c <= "\u9fff" for c in chinese)


def test_no_two_causes_have_the_same_words() -> None:
    every = [causes.words(code) for code in (*STEPS, *NUMBERS)]
    assert len(set(every)) == len(every)
    assert causes.words("mask_finite", -1e4) != causes.words("mask_finite")


def test_the_number_of_a_cause_is_in_its_sentence() -> None:
    assert "0.2917" in causes.sentence(Finding("scale_other", 1.0, 0.0, value=0.29171))
    assert "12.5 %" in causes.sentence(Finding("dropout_on", 1.0, 0.0, value=0.125))
    assert "−1e4" in causes.sentence(Finding("mask_finite", 1.0, 0.0, value=-1e4))
    assert "1,200 cells" in causes.sentence(Finding("leak", 1.0, 0.0, value=1200.0))
    assert "does not see itself" in causes.sentence(Finding("causal_off_by_one", 1.0, 0.0, value=-1.0))


def test_both_causes_of_every_pair_are_worded() -> None:
    for pair in sorted(PAIRS):
        assert all(causes.words(code) for code in pair)


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_of_a_file_is_one_sentence_in_both_languages(code: str) -> None:
    english, chinese = in_both(lambda: words.refused(code, dict(VALUES)))
    for said in (english, chinese):
        assert "{" not in said and "\n" not in said and "x\\_y\\.npz" in said
    assert english != chinese


@pytest.mark.parametrize("code", MISFITS)
def test_every_misfit_is_one_sentence_in_both_languages(code: str) -> None:
    english, chinese = in_both(lambda: words.misfit(Misfit(code, **NUMBERS_OF)))
    for said in (english, chinese):
        assert "{" not in said and "\n" not in said
    assert english != chinese


def test_what_a_file_says_of_itself_is_data() -> None:
    said = words.refused("objects", {"file": ":red[a]", "name": "$x$ `code`"})
    assert ":red[" not in said and "$x$" not in said and "`code`" not in said


def test_every_step_is_called() -> None:
    assert {STEPS[code] for code in STEPS} <= set(report.steps())


def test_shares_are_written_short() -> None:
    assert [report.amount(x) for x in (0.5, 1.25e-7, math.inf, math.nan, 0.0)] == ["0.5", "1.2e−7", "∞", "∞", "0"]


def test_every_way_to_read_axes_is_worded() -> None:
    from attnviz.fields import CHOICES
    from attnviz.ui.tensors.arrays import _ways

    assert set(_ways(vectors=True)) == set(AXES) == set(CHOICES["axes"]) - {"auto"}
    assert bring({"weights": torch.eye(2)}).axes == "plain"


# ---- work off the script threads ----


def test_work_is_done_in_its_turn_on_another_thread() -> None:
    line, order = Line(), []
    gate = threading.Event()

    def work(name: str) -> object:
        gate.wait(5)
        order.append(name)
        return threading.current_thread().name

    jobs = [line.ask(name, lambda tell, name=name: work(name), lambda: True) for name in "abc"]  # type: ignore[misc]
    assert [line.ahead(job) for job in jobs[1:]] == [1, 2]
    gate.set()
    assert all(job is not None and job.done.wait(5) for job in jobs)
    assert order == ["a", "b", "c"] and jobs[0].result == "attnviz-tensors"  # type: ignore[union-attr]


def test_work_ends_when_nobody_waits() -> None:
    line = Line()
    there = [True]

    def work(tell: object) -> None:
        while True:
            tell(1)  # type: ignore[operator]
            time.sleep(0.01)

    gone = line.ask("gone", work, lambda: there[0])
    left = line.ask("left", work, lambda: True)
    assert gone is not None and left is not None
    there[0] = False
    assert gone.done.wait(5) and gone.left and gone.result is None
    left.left = True
    assert left.done.wait(5) and left.result is None


def test_an_error_is_kept_and_the_next_job_runs() -> None:
    line = Line()

    def bad(_tell: object) -> None:
        raise ValueError("what does not fit")

    def broken(_tell: object) -> None:
        raise RuntimeError("nobody foresaw it")

    jobs = [line.ask(name, work, lambda: True) for name, work in (("bad", bad), ("broken", broken))]
    last = line.ask("good", lambda _tell: 3, lambda: True)
    assert last is not None and last.done.wait(5) and last.result == 3
    assert str(jobs[0].failure) == "what does not fit" and jobs[1].broken  # type: ignore[union-attr]


def test_a_full_line_takes_no_more() -> None:
    line, gate = Line(waiting=1), threading.Event()
    first = line.ask("first", lambda _tell: gate.wait(5), lambda: True)
    assert line.ask("second", lambda _tell: 2, lambda: True) is not None
    assert line.ask("third", lambda _tell: 3, lambda: True) is None
    gate.set()
    assert isinstance(first, Job) and first.done.wait(5)
