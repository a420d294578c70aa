"""Multi-head and decoding taken home: in every state the program computes the numbers on screen."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from attnviz.experiment import Experiment, View
from attnviz.export.calls import unmade
from attnviz.links import to_query
from attnviz.ui.labs import home
from tests.pages.labs import LABS
from tests.pages.session import Session
from tests.pages.test_lab_home import ABOUT, check_program, opened, published, ran

HEADS = {str(lab): lab for lab in LABS if lab.page in ("heads", "decoding")}
PADDED = "the cat\nthe cat sat on a mat"
CELLS: Any = {
    "x": (((0, 1, 0), 2.0),),
    "w_q": (((0, 1), 3.0),),
    "k": (((0, 1, 0), 9.0), ((1, 1, 2), 5.0)),
    "v": (((0, 0, 1), -4.0),),
}
STATES: dict[str, dict[str, str]] = {
    "one head": {"n_heads": "1", "h": "6", "mask": "causal"},
    "one head, ALiBi, drawn": {"n_heads": "1", "h": "2", "mask": "drawn", "drawn": "2.MA", "positions": "alibi"},
    "a row that sees nothing": {"n_heads": "2", "mask": "drawn", "drawn": "2.MA", "text": "the cat"},
    "one head, a row that sees nothing": {"n_heads": "1", "mask": "drawn", "drawn": "2.MA", "text": "the cat"},
    "one head, padded, window": {"n_heads": "1", "text": PADDED, "mask": "window", "window_left": "1"},
    "grouped": {"n_heads": "4", "n_kv_heads": "2", "h": "3", "kv_heads": "1", "shared_by": "first"},
    "grouped, rotated, prefix": {"n_heads": "6", "n_kv_heads": "3", "h": "4", "positions": "rope_interleaved"},
    "padded, second": {"n_heads": "4", "text": PADDED, "b": "1", "mask": "prefix", "positions": "alibi"},
    "padded, first": {"n_heads": "4", "n_kv_heads": "1", "text": PADDED, "b": "0", "mask": "causal"},
    "Chinese": {"lang": "zh", "text": "我 爱 你", "n_heads": "2", "positions": "sinusoidal", "context": "猫 坐"},
    "one token": {"text": "cat", "decoded": "1", "n_heads": "2"},
    "long": {"text": " ".join(f"w{i}" for i in range(30)), "decoded": "30", "n_heads": "2", "positions": "rope_half"},
}


def edited(n_heads: int, n_kv_heads: int | None = None, **more: Any) -> dict[str, str]:
    experiment = Experiment(PADDED, n_heads=n_heads, n_kv_heads=n_kv_heads, **CELLS, **more)
    return dict(parse_qsl(to_query(experiment, View(b=0))))


STATES["typed, one head"] = edited(1, positions="rope_half")
STATES["typed, grouped"] = edited(4, 2, mask="causal")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("lab", HEADS)
def test_the_program_computes_the_numbers_in_every_state(lab: str, state: str) -> None:
    reveal = ",".join(map(str, HEADS[lab].questions))
    check_program(opened(HEADS[lab], **{"reveal": reveal, **STATES[state]}))


def alone(session: Session, key: str, value: int) -> list[str]:
    """Let a part of the lab run alone, and return what is computed then, once the program has run."""
    session.widget(key).set_value(value)
    session.at.run()
    now = published(session)
    assert not session.at.exception and not unmade(now.calls, home.shown(now), now.computed.run)
    names = [call.name for call in now.calls]
    assert set(names) <= ran(str(home.made("py", now, ABOUT))).keys()
    check_program(session._whole())
    assert [call.name for call in published(session).calls] == names
    return names


@pytest.mark.parametrize("reveal", ["", "26"])
def test_it_follows_the_number_of_key_value_heads(reveal: str) -> None:
    session = opened(HEADS["heads-shared"], n_heads="4", reveal=reveal)
    for n in (1, 4, 2):
        names = alone(session, "kv_heads", n)
        assert f"kv_heads_{n}" in names and ("kv_heads_1" in names) == (n == 1 or bool(reveal))


def test_it_follows_the_step() -> None:
    session = opened(HEADS["decoding"])
    for n in (1, 6, 3):
        assert ("change_causal" in alone(session, "decoded", n)) == (n > 1)


def test_it_follows_the_head_and_the_sharpness() -> None:
    session = opened(HEADS["heads-average"], n_heads="1", mask="causal", reveal="23")
    session.set("sharpness", 1.5).set("h", 4)
    assert "print(layer.weights[4])" in check_program(session)
    assert "opposed = opposite(layer.masked[4], 1.5)" in check_program(session)


def test_the_readers_own_heads_are_pieces_of_the_attention() -> None:
    program = check_program(opened(HEADS["heads-average"], n_heads="2", h="1", mask="causal"))
    assert "opposed = opposite(masked[0, 1], 3.0)" in program and "print(a[0, 1])" in program
    assert "layer" not in program
