"""Every cause, refusal and misfit has its words in both languages; work on tensors is one session's alone."""

import math
import threading
import time
from collections.abc import Iterator

import pytest
import torch

from attnviz import locale
from attnviz.core.diagnosis import Diagnosis, Finding
from attnviz.core.diagnosis_causes import STEPS
from attnviz.core.diagnosis_lines import LINES
from attnviz.core.diagnosis_pairs import PAIRS
from attnviz.core.diagnosis_weights import NUMBERS
from attnviz.lab import Lab
from attnviz.models.files_axes import AXES, bring
from attnviz.models.files_mask import MISFITS, Misfit
from attnviz.models.files_refused import CODES
from attnviz.ui.tensors import causes, report, words
from attnviz.ui.tensors.given import Given
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


@pytest.mark.parametrize(
    ("code", "one", "more"),
    [
        ("nan", "1 row holds NaN", "3 rows hold NaN"),
        ("negative", "1 number is below 0", "3 numbers are below 0"),
        ("infinite", "1 is no weight", "3 of them are no weights"),
        ("rows_empty", "1 row is 0, though it may", "3 rows are 0, though they may"),
        ("leak", "1 cell that should be hidden has", "3 cells that should be hidden have"),
        ("rounded", "as far as 1 decimal tells", "as far as 3 decimals tell"),
    ],
)
def test_one_is_not_many(code: str, one: str, more: str) -> None:
    assert one in causes.sentence(Finding(code, 1.0, 1.0, value=1.0))
    assert more in causes.sentence(Finding(code, 1.0, 1.0, value=3.0))


def test_nan_is_not_mended_by_hiding_it() -> None:
    assert "inf or NaN in the queries or keys" in causes.sentence(Finding("nan", 1.0, 1.0, value=1.0))
    assert not {"nan", "sums_off", "rows_empty", "leak", "rounded"} & set(LINES)


def brought(**arrays: torch.Tensor) -> Given:
    found = bring(arrays)
    names = ("the", "cat")
    return Given("name", found, 1 if found.main.shape[0] > 1 else 0, 0, 0, names, names, Lab())


def test_the_first_row_that_is_nan_is_named() -> None:
    weights = torch.full((3, 1, 4, 2, 2), 0.5)
    given = brought(weights=weights)
    assert report._where(given, (0, 1, 1), (0, 0)) == "The first is in layer 2, head 2: query 2, “cat”."
    assert "head 4: query 1, “the”." in report._where(given, (0, 0, 0), (0, 3))  # a head that was cut out
    given = brought(weights=weights.expand(3, 5, 4, 2, 2))._replace(queries=("1", "2"))
    assert report._where(given, (1, 1, 1), (2, 0)) == "The first is in sequence 4, layer 2, head 2: query 2."


def test_a_box_says_whether_it_is_about_the_weights_or_the_output() -> None:
    x, both = torch.eye(2)[None], ("weights", "output")
    given = brought(q=x, k=x, v=x, weights=x, output=x)
    of = {
        claims: report._about(given, Finding("nan", 1.0, 0.0, claims=claims))
        for claims in (both, *((c,) for c in both))
    }
    assert of == {both: "", ("weights",): "Weights: ", ("output",): "Output: "}
    assert report._about(brought(q=x, k=x, v=x, weights=x), Finding("nan", 1.0, 0.0, claims=("weights",))) == ""
    assert "explains the output**" in report._unexplained("output", 0.5) and "up to 0.5 of" in report._unexplained(
        "output", 0.5
    )
    assert "NaN or infinite" in report._unexplained("weights", math.inf) and "∞" not in report._unexplained(
        "weights", math.inf
    )


def test_two_mistakes_are_told_one_after_the_other() -> None:
    one, two = Finding("scale_missing", 1.3, 1.0), Finding("mask_missing", 1.0, 2e-7)
    first, second = (report._explained((one, two), i, False) for i in (0, 1))
    assert "1.3 → 1, with this mistake made on purpose alone; the next one explains the rest" in first
    assert "1 → 2e−7, with this mistake made on purpose besides those above" in second
    assert report._explained((two,), 0, False).endswith("1 → 2e−7, with this mistake made on purpose.")
    apart = (one._replace(claims=("weights",)), two._replace(claims=("output",)))
    assert all("purpose." in report._explained(apart, i, False) for i in (0, 1))  # each explains numbers of its own


def test_what_no_mistake_gives_is_not_said_to_come_of_one() -> None:
    assert report._explained((Finding("nan", math.inf, math.inf),), 0, False) == ""
    assert "differ by 0 of" in report._explained((Finding("rows_nan", math.inf, 0.0),), 0, False)


def test_what_is_rounded_is_right_as_far_as_it_tells() -> None:
    x = torch.eye(2)[None]
    rounded = Finding("rounded", 4e-5, 4e-5, value=4.0, claims=("weights",))
    found = Diagnosis((rounded,), True, None, residual=4e-5)
    (said,) = report._right(brought(weights=x), True, found)
    assert "no mistake, as far as 4 decimals tell" in said and "sum to 1 but for 4e−5" in said
    (said,) = report._right(brought(q=x, k=x, v=x, weights=x, output=x), False, found)
    assert said.startswith("Weights: **Right, as far as 4 decimals tell**") and "4e−5 of the largest number" in said
    (said,) = report._right(brought(q=x, k=x, weights=x), False, Diagnosis((), True, None, residual=1e-7))
    assert said.startswith("**Correct**") and "1e−7 of the largest number" in said


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
