"""The fuzz command, in small: `python -m tests.fuzz` tries a hundred thousand cases."""

import random
import time

import pytest

from tests import fuzz


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", fuzz.TRIALS)
def test_whatever_comes_from_outside_is_taken_or_refused(kind: str) -> None:
    assert fuzz.run(kind, range(100), seed=1) == []


def test_an_error_and_a_hang_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "MOST", 0.05)

    def broken(_draw: random.Random) -> None:
        raise ZeroDivisionError

    def hanging(_draw: random.Random) -> None:
        time.sleep(1)

    (error,) = fuzz.run("tokens", range(7, 8), 0, broken)
    assert error.startswith("--kind tokens --seed 0 --first 7\n") and "ZeroDivisionError" in error
    (late,) = fuzz.run("tokens", range(1), 0, hanging)
    assert "not done after 0.05 s" in late
