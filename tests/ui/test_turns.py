"""Runs of pages one after another: no two at once, in the order asked for, and no long one that holds the others up."""

import threading
import time

import pytest

from attnviz.ui import turns


class Crowd:
    """Runs that note when they begin and end; each begins when the one before it has asked for its turn."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, int]] = []
        self.inside = self.most = 0
        self._lock = threading.Lock()

    def run(self, i: int, seconds: float = 0.01) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.noted.append(("begin", i))
        time.sleep(seconds)
        with self._lock:
            self.inside -= 1
            self.noted.append(("end", i))


def started(run: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=run, args=args, daemon=True)
    thread.start()
    return thread


def test_no_two_runs_go_on_at_once() -> None:
    crowd = Crowd()
    threads = [started(turns.in_turn(crowd.run), i) for i in range(20)]
    for thread in threads:
        thread.join(10)
    assert crowd.most == 1
    assert sorted(crowd.noted) == sorted((what, i) for what in ("begin", "end") for i in range(20))


def test_a_long_run_holds_the_others_up_no_longer_than_their_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    crowd, over = Crowd(), threading.Event()
    long = started(turns.in_turn(over.wait), 10)
    time.sleep(0.02)
    start = time.perf_counter()
    turns.in_turn(crowd.run)(1)
    assert 0.05 <= time.perf_counter() - start < 2
    assert long.is_alive()  # it still had its turn
    over.set()
    long.join(10)
    assert turns._turn.acquire(timeout=1)  # the one that did not wait it out did not give back what it had not
    turns._turn.release()


def test_a_fragment_inside_a_run_waits_for_no_turn_of_its_own() -> None:
    inner = turns.in_turn(lambda: threading.get_ident())
    outer = turns.in_turn(lambda: (inner(), inner()))
    start = time.perf_counter()
    assert outer() == (threading.get_ident(), threading.get_ident())
    assert time.perf_counter() - start < turns.PATIENCE


def test_the_turn_is_given_back_however_a_run_ends() -> None:
    @turns.in_turn
    def stopped() -> None:
        raise KeyboardInterrupt  # Streamlit ends runs by exceptions, not all of which are an Exception

    for _again in range(3):
        with pytest.raises(KeyboardInterrupt):
            stopped()
    assert not turns._turn.locked()
    assert turns.in_turn(lambda: "next")() == "next"
