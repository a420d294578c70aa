"""The jobs that read models, what a link may knock out, and how refusals are worded."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from attnviz import locale
from attnviz.models import registry
from attnviz.models.knockouts import Knockout
from attnviz.models.reading import LayerRead, Part, Reading
from attnviz.models.refusals import _SENTENCES, CODES, Refused
from attnviz.models.tokens import Token
from attnviz.ui.models import silencing
from attnviz.ui.models.jobs import Job, Reader, Wanted
from attnviz.ui.models.refused import word


def tokens(n: int) -> tuple[Token, ...]:
    return tuple(Token(i, str(i), str(i), (i, i + 1)) for i in range(n))


def part(kind: str, layers: int = 2, heads: int = 3, n: int = 4, m: int = 4) -> Part:
    read = LayerRead(torch.zeros(heads, n, 2), torch.zeros(heads, m, 2), torch.ones(heads, m, 2))
    return Part(kind, (read,) * layers, tokens(n), tokens(m))


# ---- what a link knocks out ----


def test_what_is_written_is_read_again() -> None:
    held = (Knockout("decoder", 1, 2), Knockout("encoder", 0), Knockout("cross", 1, 0, 3, 5))
    parts = (part("encoder"), part("decoder"), part("cross", m=6))
    assert silencing.read(silencing.write(held), parts) == (held, 0)


@pytest.mark.parametrize(
    "text",
    ["d2", "d0.3", "d0.0:4-0", "d0.0:0-4", "e0", "x0.0", "d-1", "d0.0:1", "d0.0.0", "d٣", "d0.0,d0.0", "<script>"],
)
def test_what_does_not_fit_is_counted_and_left_out(text: str) -> None:
    held, n_other = silencing.read(text, (part("decoder"),))
    assert n_other == 1 and len(held) == text.count(",")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("d1.0,d1", "d1"),
        ("d0.1:2-1,d1.0,d0.1", "d1.0,d0.1"),
        ("d0.1:2-1,d0.2:2-1,d0", "d0"),
        ("d1,d1.0", "d1"),
        ("d0.1,d0.1:2-1,d0.2", "d0.1,d0.2"),
    ],
)
def test_what_a_layer_or_a_head_holds_is_not_knocked_out_twice(text: str, left: str) -> None:
    assert silencing.write(silencing.read(text, (part("decoder"),))[0]) == left


def test_no_more_is_knocked_out_than_the_limit() -> None:
    every = ",".join(f"d{layer}.{head}" for layer in range(9) for head in range(9))
    held, n_other = silencing.read(every, (part("decoder", layers=9, heads=9),))
    assert len(held) == 20 and n_other == 61


# ---- words ----


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_is_worded_with_its_values(code: str) -> None:
    """A value that is markup shows literally, in both languages."""
    values = dict.fromkeys(re.findall(r"{(\w+)", _SENTENCES[code]), "*a* $x$")
    for lang in locale.LANGUAGES:
        locale.use(lang)
        said = word(Refused(code, **values))
        assert "{" not in said and "*a*" not in said.replace("\\*a\\*", "")


def test_a_model_of_the_hub_is_called_by_its_name() -> None:
    assert word(Refused("unknown", model="hf:no/such")).startswith("no\\/such: there is no such model")


# ---- jobs ----


def there() -> bool:
    return True


class Slow:
    """A registry whose reads wait until they are let go, and count."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.read_: list[str] = []
        self.stopped: list[str] = []

    def read(self, code: str, text: str, pair: Any, *, knockouts: Any, progress: Callable[[float], None]) -> Reading:
        self.read_.append(text)
        for step in range(100_000):
            try:
                progress(min(0.9, step / 100))
            except Exception:
                self.stopped.append(text)
                raise
            if self.go.wait(0.005):
                break
        return Reading(code, (text,), (part("decoder"),))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(registry, "read", made.read)
    yield made
    made.go.set()


def asked(reader: Reader, wanted: Wanted, owner: str = "me", alive: Callable[[], bool] = there) -> Job:
    job = reader.ask(wanted, owner, alive)
    assert job is not None
    return job


def test_one_after_another_and_the_same_once(slow: Slow) -> None:
    """Two who ask the same share a job; what was read is kept, and each has its overview."""
    reader = Reader()
    first = asked(reader, Wanted("m", "a"))
    second = asked(reader, Wanted("m", "b"))
    assert asked(reader, Wanted("m", "b"), "you") is second
    assert reader.ahead(second) == 1 and not second.done.is_set()
    slow.go.set()
    assert first.done.wait(60) and second.done.wait(60)
    assert slow.read_ == ["a", "b"]
    assert asked(reader, Wanted("m", "a"), "you") is first
    assert first.overviews["decoder"].maps.shape == (2, 3, 4, 4)


def test_a_job_for_which_nobody_waits_is_stopped(slow: Slow) -> None:
    """By a stop, or since the browser is gone: it has no reading, and another asks anew."""
    reader = Reader()
    job = asked(reader, Wanted("m", "a"))
    while not slow.read_:
        time.sleep(0.005)
    reader.leave(job, "me")
    assert job.done.wait(60) and job.reading is None and slow.stopped == ["a"]
    gone = asked(reader, Wanted("m", "b"), alive=lambda: False)
    assert gone.done.wait(60) and gone.reading is None and slow.read_ == ["a"]
    slow.go.set()
    again = asked(reader, Wanted("m", "a"))
    assert again.done.wait(60) and again.reading is not None


def test_the_line_has_an_end_and_what_is_kept_a_limit(slow: Slow) -> None:
    reader = Reader(keeps=1, waiting=2)
    jobs = [asked(reader, Wanted("m", text)) for text in "ab"]
    assert reader.ask(Wanted("m", "c"), "me", there) is None
    slow.go.set()
    assert all(job.done.wait(60) for job in jobs)
    assert asked(reader, Wanted("m", "b")) is jobs[1]
    again = asked(reader, Wanted("m", "a"))
    assert again is not jobs[0] and again.done.wait(60)


def test_an_error_that_nobody_foresaw_ends_the_job_and_not_the_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_args: Any, **_kwargs: Any) -> Reading:
        raise KeyError("weights")

    reader = Reader()
    monkeypatch.setattr(registry, "read", fails)
    job = asked(reader, Wanted("m", "a"))
    assert job.done.wait(60) and job.broken and job.reading is None
    assert "KeyError" in caplog.text
    monkeypatch.undo()
    refused = asked(reader, Wanted("no such", "a"))
    assert refused.done.wait(60) and refused.failure is not None and refused.failure.code == "model"
