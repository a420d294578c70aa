"""The page about what a weight proves says and draws what its experiment computes."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.experiment import Experiment
from attnviz.figures.text import number
from attnviz.labs.proof import along, knock_out, misled, movement, rank_correlation
from tests.figures.reading import array
from tests.pages.session import Session

CAT = Experiment("the cat sat on the mat")


def parts(experiment: Experiment, b: int = 0, h: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The masked scores, weights and values of one head."""
    trace, n = experiment.run().trace, len(experiment.sequences[b])
    assert trace is not None
    kv = h * trace.value.shape[1] // trace.query.shape[1]
    return trace.masked[b, h, :n, :n], trace.weights[b, h, :n, :n], trace.value[b, kv]


def close(found: Any, expected: torch.Tensor) -> None:
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


def check_maps(session: Session, experiment: Experiment, b: int, h: int, s: int, u: int, what: str) -> None:
    masked, weights, value = parts(experiment, b, h)
    after, maps = knock_out(masked, value[: len(masked)], s, u, what), session.maps()
    value = value[: len(masked)]
    close(maps["weights"], weights)
    close(maps["added"], weights * value.norm(dim=-1))
    close(maps["moved"], movement(masked, value))
    rows = slice(s, s + 1) if what == "edge" else slice(None)
    close(maps["weights_before"], weights[rows])
    close(maps["weights_after"], after.weights[rows])
    close(maps["output_before"], (weights @ value)[rows])
    close(maps["output_after"], after.output[rows])
    start = {p["name"]: p["start"] for chart in session.bridge["charts"] for p in chart["panels"]}
    assert start["output_after"] == [s if what == "edge" else 0, 0]


def test_the_maps_follow_the_chosen_edge_and_what_is_knocked_out() -> None:
    session = Session("proof", mask="causal")
    experiment = Experiment(CAT.text, mask="causal")
    assert session.sound() and session.said() == []
    session.set("s", 5).set("u", 3)
    check_maps(session, experiment, 0, 0, 4, 2, "edge")
    session.set("knocked", "token")
    check_maps(session, experiment, 0, 0, 4, 2, "token")
    assert (session.view.s, session.view.u) == (4, 2)
    assert session.linked[1].lab.knocked == "token" and session.linked[1].s == 4
    session.click("moved", 5, 1)
    check_maps(session, experiment, 0, 0, 5, 1, "token")
    assert (session.widget("s").value, session.widget("u").value) == (6, 2)


def test_grouped_heads_and_a_padded_batch() -> None:
    fields: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_v": 3}
    query = {name: str(value) for name, value in fields.items()}
    session = Session("proof", text="the cat sat on\na b c", b="1", h="3", s="3", u="1", **query)
    assert session.sound() and session.maps()["weights"].shape == (3, 3)
    check_maps(session, Experiment("the cat sat on\na b c", **fields), 1, 3, 2, 1, "edge")


@pytest.mark.parametrize("s", range(6))
def test_the_reveal_says_of_the_row_what_is_so(s: int) -> None:
    masked, weights, value = parts(CAT)
    moved = movement(masked, value)
    words = Session("proof", reveal="24", s=str(s)).words()
    wrong = misled(weights, moved)
    assert 0 < int(wrong.sum()) < 6, "both cases are tested"
    rho = rank_correlation(weights[s], moved[s])
    assert rho is not None and f"rank correlation of {number(rho, 2)}" in words
    assert f"In {int(wrong.sum())} of the 6 rows" in words
    assert number(float(weights[s].max()), 4) in words and number(float(moved[s].max()), 4) in words
    assert ("the two agree" in words) != bool(wrong[s])


def test_the_row_is_ranked_by_weight_and_the_column_by_row() -> None:
    masked, weights, value = parts(CAT)
    session = Session("proof", s="3", u="2")
    order = weights[3].argsort(descending=True, stable=True)
    for key, expected in {
        "weight": weights[3, order],
        "added": (weights * value.norm(dim=-1))[3, order],
        "along": along(weights, value)[3, order],
        "moved": movement(masked, value)[3, order],
    }.items():
        close(array(session.charts()[f"rank-{key}"]["data"][0]["y"]), expected)
    session.open_tables()
    (frame,) = [frame.value for frame in session.at.dataframe if "rank: weight" in frame.value]
    assert sorted(frame["rank: weight"]) == [1.5, 1.5, 3, 4, 5, 6]  # “the” twice, and first
    assert str(frame.index[0]).startswith(str(int(order[0]) + 1))
    session.set("knocked", "token")
    close(array(session.charts()["rank-weight"]["data"][0]["y"]), weights[:, 2])
    close(array(session.charts()["rank-moved"]["data"][0]["y"]), knock_out(masked, value, 3, 2, "token").moved)


def test_it_says_what_the_knocked_out_edge_or_token_did() -> None:
    masked, weights, value = parts(CAT)
    session = Session("proof", s="1", u="3")
    after = knock_out(masked, value, 1, 3, "edge")
    assert f"its weight {number(float(weights[1, 3]), 4)} goes to" in session.words()
    assert f"moves by {number(float(after.moved[1]), 4)}; no other row moves" in session.words()
    session.set("knocked", "token")
    after = knock_out(masked, value, 1, 3, "token")
    row = int(after.moved.argmax())
    assert f"by {number(float(after.moved.mean()), 4)} on average, and most in row {row + 1}" in session.words()
    assert f"by {number(float(after.moved[row]), 4)}" in session.words()


def test_a_row_of_one_key_a_hidden_edge_and_a_hidden_row() -> None:
    session = Session("proof", reveal="24", mask="causal")
    assert "no weight is left" in session.words() and "Choose a row that sees more" in session.words()
    assert session.maps()["output_after"][0].tolist() == [0, 0, 0, 0]
    assert array(session.charts()["rank-weight"]["data"][0]["y"]).tolist() == [1]
    session.set("u", 2)
    assert "hidden by the mask already: nothing moves" in session.words()
    hidden = Session("proof", text="a b", mask="drawn", drawn="2.IA", reveal="24")
    row = int((hidden.maps()["weights"] == 0).all(axis=1).argmax())
    hidden.set("s", row + 1)
    assert hidden.sound() and "may see no key: its weights are 0" in hidden.words()
    assert "rank-weight" not in hidden.charts()


def test_of_a_long_text_windows_are_drawn_and_the_best_keys_ranked() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    session = Session("proof", text=text, s="40", from_s="30", from_u="5", reveal="24")
    masked, weights, value = parts(Experiment(text))
    close(session.maps()["moved"], movement(masked, value)[30:54, 5:29])
    close(array(session.charts()["rank-weight"]["data"][0]["y"]), weights[40].sort(descending=True).values[:24])
    assert "24 of 60 are drawn" in session.words() and "of the 60 rows" in session.words()
    session.set("knocked", "token")
    close(array(session.charts()["rank-weight"]["data"][0]["y"]), weights[30:54, 0])
