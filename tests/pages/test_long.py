"""A text of which no whole trace is held: the pages show any window of it, with the numbers of the whole."""

import time
from typing import Any

import numpy as np
import pytest
import torch

from attnviz import long
from attnviz.experiment import Experiment
from attnviz.figures.text import number
from attnviz.limits import (
    EDGES_SHOWN,
    FOUND_SHOWN,
    LIVE_TOKENS,
    LONG_TOKENS,
    TERMS_LISTED,
    TEXT_CHARS,
    TOKENS,
    TOKENS_SHOWN,
)
from attnviz.run import without_trace
from tests.figures import reading
from tests.pages.session import Session

N = 600
WORDS = " ".join(f"w{i * 7 % 97}" for i in range(N))
BLOCKS = ("projections", "scores", "output")


def drawn(session: Session) -> dict[str, np.ndarray]:
    """The numbers of the panels of the board, without the map."""
    charts = {key: figure for key, figure in session.charts().items() if key in BLOCKS}
    return {name: reading.z(figure, name) for figure in charts.values() for name in reading.names(figure)}


def check(session: Session, whole: Experiment, b: int = 0, h: int = 0) -> None:
    """What is drawn is the window of the matrices of the whole run."""
    expected, (s, u) = reading.expected(whole.run(), b, h), (session.view.from_s, session.view.from_u)
    found = drawn(session)
    assert found
    first = {"s": s, "u": u}
    for name, values in found.items():
        letters = {"weights": "su", "scores": "su", "masked": "su", "row_sums": "s ", "key_t": "ku"}.get(name)
        letters = letters or {"x": "s", "query": "s", "output": "s", "key": "u", "value": "u"}.get(name, " ") + " "
        rows, columns = (first.get(letter, 0) for letter in letters)
        window = expected[name][rows : rows + values.shape[0], columns : columns + values.shape[1]].numpy()
        held = np.isfinite(window)
        np.testing.assert_allclose(values[held], window[held], rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
@pytest.mark.parametrize("page", ["explore", "projections", "scores", "output"])
def test_each_page_draws_the_window_of_the_whole_text(page: str, locale: str) -> None:
    where: dict[str, Any] = {"from_s": "400", "from_u": "390", "h": "1"}
    session = Session(page, locale=locale, text=WORDS, n_heads="2", mask="causal", positions="alibi", **where)
    assert session.sound() and session.said() == []
    assert session.view.from_s == 400 and session.linked == (session.experiment, session.view)
    check(session, Experiment(WORDS, n_heads=2, mask="causal", positions="alibi"), h=1)
    assert ("maps-whole" in session.charts()) == (page != "projections")


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": "rope_half", "mask": "window"},
        {"positions": "sinusoidal", "mask": "prefix", "n_heads": 4, "n_kv_heads": 2},
        {"positions": "learned", "scale": "none", "temperature": 2.0},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_masks_positions_and_heads_hold(settings: dict[str, Any]) -> None:
    session = Session("scores", text=WORDS, from_s="570", from_u="560", **{k: str(v) for k, v in settings.items()})
    assert session.sound()
    check(session, Experiment(WORDS, **settings))


def test_a_batch_shows_the_chosen_sequence_and_its_padding() -> None:
    text = WORDS + "\n" + " ".join(["a"] * 300)
    session = Session(text=text, b="1", from_s="290", from_u="290")
    assert session.sound()
    check(session, Experiment(text), b=1)
    assert "pad" in session.words()


def test_the_window_moves_and_a_cell_keeps_its_number() -> None:
    session = Session(text=WORDS)
    session.set("first:from_s", 301)
    assert session.view.from_s == 300
    check(session, Experiment(WORDS))
    session.click("weights", 310, 5)
    assert session.sound() and (session.view.s, session.view.u) == (310, 5)
    trace = Experiment(WORDS).run().trace
    assert trace is not None
    table = terms(session)
    weight = float(trace.weights[0, 0, 310, 5])
    assert len(table.columns) <= TERMS_LISTED + 4
    assert f"the other {N - (len(table.columns) - 3)}" in table.columns
    shares = [read(value) for value in table.iloc[2, 1:-1]]
    assert sum(shares) == pytest.approx(1, abs=2e-3)
    assert number(weight, 4) in session.words()
    session.click("output", 310, 1)
    products = [read(value) for value in terms(session).iloc[2, 1:]]
    assert sum(products[:-1]) == pytest.approx(products[-1], abs=2e-3)
    assert products[-1] == pytest.approx(float(trace.output[0, 0, 310, 1]), abs=1e-4)
    session.open("program")
    assert session.sound() and f"{N} terms" in session.words()


def read(printed: str) -> float:
    """The number that a table prints."""
    return float(printed.replace("−", "-"))


def terms(session: Session) -> Any:
    """The table of the cell's sum."""
    (found,) = [frame for frame in session.tables() if "sum" in frame.columns]
    return found


def test_a_token_is_found_with_its_strongest_partners() -> None:
    session = Session("scores", text=WORDS + " zebra crossing zebra", mask="causal")
    assert "nowhere" in session.set("find", "w1000").words()
    session.set("find", "Zebra")
    place = session.widget("place")
    assert len(place.options) == 2 and "[zebra]" in place.options[1]
    place.set_value(N + 2)
    session.at.run()
    assert session.sound() and session.view.s == N + 2
    trace = Experiment(WORDS + " zebra crossing zebra", mask="causal").run().trace
    assert trace is not None
    row, column = trace.weights[0, 0, N + 2], trace.weights[0, 0, :, N + 2]
    read, readers = (frame.value for frame in session.at.dataframe if "weight" in frame.value.columns)
    np.testing.assert_allclose(read["weight"], row.topk(EDGES_SHOWN).values.numpy(), rtol=1e-4)
    np.testing.assert_allclose(readers["weight"], column.topk(EDGES_SHOWN).values.numpy(), rtol=1e-4, atol=1e-9)
    assert float(row[session.view.u]) == pytest.approx(float(row.max()), rel=1e-4)
    assert session.view.from_s <= session.view.s < session.view.from_s + TOKENS_SHOWN
    session.set("find", "zebra crossing")
    assert len(session.widget("place").options) == 1
    assert len(session.set("find", "w").widget("place").options) == FOUND_SHOWN


def test_the_strongest_pairs_are_those_of_the_map() -> None:
    session = Session(text=WORDS, mask="causal").open("edges")
    trace = Experiment(WORDS, mask="causal").run().trace
    assert session.sound() and trace is not None
    (pairs,) = [frame.value for frame in session.at.dataframe if "weight" in frame.value.columns]
    np.testing.assert_allclose(pairs["weight"], trace.weights.flatten().topk(EDGES_SHOWN).values.numpy(), rtol=1e-4)
    assert pairs.iloc[0, 0].startswith("1 w0") and pairs.iloc[0, 1].startswith("1 w0")


def test_a_number_typed_into_the_window_stands_in_the_whole() -> None:
    session = Session(text=WORDS, from_s="500", from_u="490").open("editor", "tables")
    session.type(3, "m=2", "1.5")
    assert session.experiment.x == (((0, 503, 1), 1.5),)
    check(session, Experiment(WORDS, x=session.experiment.x))
    session.set("difference", True)
    assert session.sound()
    difference = drawn(session)["x"]
    assert (difference != 0).sum() == 1 and difference[3, 1] != 0
    tables = [frame.value for frame in session.at.dataframe]
    assert all(len(table) <= TOKENS_SHOWN for table in tables)
    assert any(table.index[0] == f"501 w{500 * 7 % 97}" for table in tables)


def test_the_labs_keep_the_tokens_of_a_whole_trace() -> None:
    session = Session("scores", text=WORDS, section="masks")
    assert session.sound()
    assert f"{N - TOKENS} tokens are not computed: at most {TOKENS}" in session.said()[0]
    for page in ("roles", "heads", "positions", "decoding", "proof"):
        assert session.go(page).sound()
        assert f"at most {TOKENS}" in session.said()[0]


def test_4096_tokens_are_shown_whole_and_a_click_is_quick() -> None:
    text = " ".join(f"w{i * i % 997}" for i in range(LIVE_TOKENS))
    session = Session(from_s="4000", mask="causal").set("text_line", text)
    assert session.sound() and len(session.said()) == 1  # the text is not in the link
    session.click("weights", 4010, 7)
    began = time.perf_counter()
    session.click("weights", 4005, 3)
    assert time.perf_counter() - began < 3
    held = long.of(without_trace(session.experiment), session.experiment, 0, 0).long
    assert held is not None
    np.testing.assert_allclose(drawn(session)["weights"][5], held.rows(4005, 4006).weights[0, :24], rtol=1e-4)
    sent = sum(e.proto.ByteSize() for e in session.at.get("plotly_chart")) + len(str(session.bridge))
    assert sent < 500_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" ".join(["word"] * 200_000), f"{TEXT_CHARS:,} characters"),
        ("x" * 2**20, f"{TEXT_CHARS:,} characters"),
        ("a b " * 20_000, f"at most {LONG_TOKENS}"),
    ],
    ids=["200,000 words", "1 MB token", "40,000 words"],
)
def test_what_is_too_long_is_said_and_the_page_stays(text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The map of so many tokens takes its time on another thread, which these do not wait for.
    monkeypatch.setattr("attnviz.ui.long.map.show", lambda *_given, **_options: None)
    session = Session("scores").set("text_line", text)
    assert session.sound()
    assert any(words in sentence for sentence in session.said())
    assert session.widget("text_line").value == text  # nothing typed is lost
    assert session.set("text_line", "a b").said() == []


def test_a_batch_that_exceeds_the_bytes_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long, "LONG_BYTES", 4 * 700 * (2 * 8 + 12))
    session = Session("projections", text="\n".join(["a " * 1000] * 2))
    assert session.sound()
    assert "600 tokens are not computed" in session.said()[0]
    assert torch.tensor(drawn(session)["x"]).shape == (TOKENS_SHOWN, 8)
