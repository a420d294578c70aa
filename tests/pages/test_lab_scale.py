"""The scale section: what it says and draws is what the lab's functions return, for the settings of its controls."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.figures.panels import within
from attnviz.figures.text import number
from attnviz.labs.scale import SCALINGS, SIZES, averages, drawn, factors, histogram, own, rows
from tests.figures.reading import array
from tests.pages.session import Session

CURVES = ("spread", "largest", "entropy", "gradient")
NAMES = ["off", "1/√d_k", "1/d_k"]  # of SCALINGS
LOW, MIDDLE, HIGH = range(3)


def scale(**query: str) -> Session:
    session = Session("scores", section="scale", **query)
    assert session.sound()
    return session


def traces(session: Session, chart: str) -> list[dict[str, Any]]:
    """The lines of a chart with their numbers: those of the scalings, and the own row's point last."""
    found = [t for t in session.charts()[f"scale-{chart}"]["data"] if t["mode"] != "lines" or t["line"]["width"]]
    return [t | {"x": array(t["x"]), "y": array(t["y"])} for t in found]


def band(session: Session, chart: str) -> list[np.ndarray]:
    return [array(t["y"]) for t in session.charts()[f"scale-{chart}"]["data"] if not t["line"]["width"]]


def mine(session: Session) -> Any:
    run = session.experiment.run()
    assert run.trace is not None
    view = within(session.view, run)
    seen = None if run.mask is None else run.mask[view.b, 0, view.s]
    experiment = session.experiment
    scores = run.trace.scores[view.b, view.h, view.s]
    return own(scores, experiment.d_k, seen=seen, temperature=experiment.temperature)


def assert_drawn(session: Session, n_keys: int, draws: int) -> None:
    experiment = session.experiment
    made = averages(n_keys, draws, experiment.seed, temperature=experiment.temperature)
    at = SCALINGS.index(experiment.scale)
    for chart in CURVES:
        shares = getattr(made, chart)
        *curves, point = traces(session, chart)
        assert [curve["name"] for curve in curves] == NAMES
        for i, curve in enumerate(curves):
            assert curve["x"].tolist() == list(SIZES)
            assert np.array_equal(curve["y"], shares[MIDDLE, i] if chart != "spread" else shares[i])
            assert curve["line"]["dash"] == ("solid" if i == at else "dash")
        assert point["x"].tolist() == [experiment.d_k]
        assert point["y"].tolist() == [float(getattr(mine(session), chart)[at])]
        if chart != "spread":
            low, high = band(session, chart)
            assert np.array_equal(low, shares[LOW, at]) and np.array_equal(high, shares[HIGH, at])


def assert_table(session: Session) -> None:
    (table,) = session.tables()
    cells = table.to_numpy().tolist()
    experiment, found = session.experiment, mine(session)
    columns = [factors(experiment.d_k, experiment.temperature), *found]
    for i, row in enumerate(cells):
        assert row[1:] == [number(float(column[i]), 4) for column in columns]
        assert ("(chosen)" in row[0]) == (SCALINGS[i] == experiment.scale)


def test_the_charts_and_the_table_follow_the_settings() -> None:
    session = scale()
    assert_drawn(session, 6, 200)
    assert_table(session)
    session.set("scale", "none").set("draws", 60).set("at:s", 4)
    assert session.view.s == 3 and session.linked[1].lab.draws == 60
    assert_drawn(session, 6, 60)
    assert_table(session)
    session.set("text_line", "a b c").set("temperature", 2.5).set("d_k", 5)
    assert_drawn(session, 3, 60)
    assert_table(session)
    assert "60 rows of 3 scores" in session.words() and "divided by the temperature 2.5" in session.words()


@pytest.mark.parametrize(("chosen", "d_k"), [("sqrt", 64), ("none", 512), ("d_k", 100)])
def test_the_histograms(chosen: str, d_k: int) -> None:
    session = scale(scale=chosen, draw_d_k=str(d_k))  # 100 is no step of the slider
    assert session.widget("draw_d_k").value == d_k and session.view.lab.draw_d_k == d_k
    scaled = drawn(d_k, 6, 200, 0) * factors(d_k)[:, None, None]
    of_scores = scaled[SCALINGS.index(chosen)]
    (bars,) = session.charts()["scale-drawn"]["data"]
    end = max(4, np.ceil(float(of_scores.abs().max())))
    middles, shares = histogram(of_scores, -end, end, 41)
    assert np.array_equal(array(bars["x"]), middles) and np.array_equal(array(bars["y"]), shares)
    assert array(bars["y"]).sum() == pytest.approx(1)
    title = session.charts()["scale-drawn"]["layout"]["title"]["text"]
    assert f"standard deviation {number(float(of_scores.std(correction=0)), 2)}" in title
    for bars, largest in zip(session.charts()["scale-rows"]["data"], rows(scaled).largest, strict=True):
        assert np.array_equal(array(bars["y"]), histogram(largest, 0, 1, 10)[1])
    session.set("draw_d_k", 4)
    assert session.linked[1].lab.draw_d_k == 4 and session.widget("draw_d_k").options == [str(d) for d in SIZES]


@pytest.mark.parametrize("text", ["the cat sat on the mat", "a b"])
def test_the_reveal_gives_the_numbers_of_the_draws(text: str) -> None:
    session = scale(text=text, reveal="3", temperature="3")  # what it claims is about no temperature
    n = len(text.split())
    made, words = averages(n, 200, 0), session.words()
    spread, largest, slope = made.spread[:, -1], made.largest[MIDDLE, :, -1], made.gradient[MIDDLE, :, -1]
    assert f"a standard deviation of {number(float(spread[0]), 2)} (√512 = 22.6)" in words
    assert f"by √d_k it is {number(float(spread[1]), 2)}" in words
    assert f"gives {number(float(largest[0]), 4)} to one of its {n} keys" in words
    assert f"the gradient of its softmax is {number(float(slope[0]), 4)}" in words
    assert f"its largest weight is {number(float(largest[2]), 4)}, almost an even {number(1 / n, 4)}" in words
    assert f"it is {number(float(largest[1]), 4)}, with a gradient of {number(float(slope[1]), 4)}" in words


def test_one_token_a_batch_and_grouped_heads() -> None:
    session = scale(text="a", reveal="3")  # rows of one key would all have the weight 1
    assert_drawn(session, 2, 200)
    assert [row[3] for row in session.tables()[0].to_numpy().tolist()] == ["1.0000"] * 3
    session = scale(text="a b c d\ne f", b="1", n_heads="4", n_kv_heads="2", h="3", s="1")
    assert_drawn(session, 2, 200)  # as many keys as this sequence has tokens, without padding
    assert_table(session)


def test_a_row_that_sees_nothing_and_numbers_beyond_float32() -> None:
    session = scale(text="a b", mask="drawn", drawn="2.IA")
    assert [row[2:] for row in session.tables()[0].to_numpy().tolist()] == [["0.0000"] * 4] * 3
    session = scale(edits="x~0.0.0_1e30")
    assert all(row[3] == "NaN" for row in session.tables()[0].to_numpy().tolist())


def test_the_letters_and_a_bad_link() -> None:
    session = scale(letters="bij", draws="5", draw_d_k="1000")
    assert session.widget("at:s").label == "query token i = the"
    assert len(session.said()) == 1 and "draws = 5" in session.said()[0] and "draw\\_d\\_k = 1000" in session.said()[0]
    assert session.view.lab.draws == 200 and session.view.lab.draw_d_k == 64


def test_an_emptied_number_box_keeps_the_number_before_it() -> None:
    session = scale(draws="100", s="2").set("draws", None).set("at:s", None)
    assert session.view.lab.draws == 100 and session.view.s == 2
    assert session.widget("draws").value == 100 and session.widget("at:s").value == 3


def test_a_table_holds_the_numbers_of_its_chart() -> None:
    session = scale(scale="d_k").open_tables()
    frames = [frame.value for frame in session.at.dataframe]
    made = averages(6, 200, 0)
    for frame, values in zip(frames, (made.spread, *(part[MIDDLE] for part in made[1:])), strict=False):
        assert torch.equal(torch.tensor(frame[NAMES].to_numpy()).mT, values)
        assert frame.columns[-1] == "your own row" and frame["your own row"].count() == 1
        band = [name for name in frame.columns if "% of rows" in name]
        assert not band or bool((frame[band[0]] <= frame[band[1]]).all())
    for frame, name in zip(frames[4:], ("drawn", "rows"), strict=True):
        data = session.charts()[f"scale-{name}"]["data"]
        assert np.array_equal(frame.to_numpy().T, [array(bars["y"]) for bars in data])
