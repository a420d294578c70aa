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


def idle() -> bool:
    """Say whether nobody runs or waits."""
    return turns.turns._running is None and not turns.turns._waiting


def started(run: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=run, args=args, daemon=True)
    thread.start()
    return thread


def test_no_two_runs_go_on_at_once() -> None:
    crowd = Crowd()
    threads = [started(turns.in_turn(crowd.run), i) for i in range(20)]
    for thread in threads:
        thread.join(10)
    assert crowd.most == 1 and idle()
    assert sorted(crowd.noted) == sorted((what, i) for what in ("begin", "end") for i in range(20))


def test_a_long_run_goes_on_beside_the_next_and_the_others_keep_their_order() -> None:
    crowd, over = Crowd(), threading.Event()
    long = started(turns.in_turn(over.wait), 10)
    time.sleep(0.01)
    threads = []
    for i in range(5):
        threads.append(started(turns.in_turn(crowd.run), i))
        time.sleep(0.005)
    for thread in threads:
        thread.join(10)
    assert long.is_alive() and crowd.most == 1
    assert [i for what, i in crowd.noted if what == "begin"] == [0, 1, 2, 3, 4]
    over.set()
    long.join(10)
    assert idle()  # the long one gave back nothing that was another's


def test_a_fragment_inside_a_run_waits_for_no_turn_of_its_own() -> None:
    inner = turns.in_turn(lambda: threading.get_ident())
    outer = turns.in_turn(lambda: (inner(), inner()))
    start = time.perf_counter()
    assert outer() == (threading.get_ident(), threading.get_ident())
    assert time.perf_counter() - start < turns.LONG


def test_a_run_that_only_waits_lets_the_others_run_and_goes_on_in_its_turn() -> None:
    crowd, done = Crowd(), threading.Event()

    @turns.in_turn
    def waits() -> bool:
        found = turns.wait_for(done, 10)
        crowd.run(9)
        return found

    waiting = started(waits)
    time.sleep(0.01)
    start = time.perf_counter()
    turns.in_turn(crowd.run)(0)
    assert time.perf_counter() - start < turns.LONG  # no need to wait until it counts as long
    last = started(turns.in_turn(crowd.run), 1, turns.LONG / 2)
    time.sleep(0.005)
    done.set()
    for thread in (waiting, last):
        thread.join(10)
    assert crowd.most == 1 and idle()
    assert [i for what, i in crowd.noted if what == "begin"] == [0, 1, 9]


def test_the_turn_is_given_back_however_a_run_ends() -> None:
    @turns.in_turn
    def stopped() -> None:
        raise KeyboardInterrupt  # Streamlit ends runs by exceptions, not all of which are an Exception

    for _again in range(3):
        with pytest.raises(KeyboardInterrupt):
            stopped()
    assert idle()
    assert turns.in_turn(lambda: "next")() == "next"
