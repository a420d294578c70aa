"""What becomes of a hidden score: the maps are the lab's own numbers, and each answer holds numbers just computed."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.experiment import Experiment
from attnviz.figures.text import number
from attnviz.labs.masks import for_multihead, hide, leak, nowhere, renormalised
from tests.figures.reading import finite
from tests.pages.session import Session

CAT = "the cat sat on the mat"
BATCH = "the cat sat on the mat\nthe dog ran"


def section(**query: str) -> Session:
    return Session("scores", section="masks", **query)


def given() -> tuple[Tensor, Tensor, Tensor]:
    """The scaled scores and values of the page's first text, and the causal mask."""
    trace = Experiment(CAT).run().trace
    assert trace is not None
    return trace.scaled[0, 0], trace.value[0, 0], masks.causal(6, 6)


@pytest.mark.parametrize("value", ["-inf", "-10", "-1", "0"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_maps_are_those_of_the_lab(value: str, when: str) -> None:
    session = section(mask="causal").set("hidden_value", value).set("hidden_when", when)
    found = hide(*given(), hidden=float(value), after=when == "after")
    drawn_maps = session.maps()
    for name in ("scores", "weights", "output"):
        np.testing.assert_array_equal(drawn_maps[name], finite(getattr(found, name)))
    assert (session.linked[1].lab.hidden_value, session.linked[1].lab.hidden_when) == (value, when)
    leaks, sums = leak(found.weights, given()[2]), found.weights.sum(-1)
    assert leaks is not None
    assert f"{number(float(sums.min()), 4)} at least and {number(float(sums.max()), 4)} at most" in session.words()
    total = "0" if leaks.total == 0 else number(leaks.total, 4)
    assert f"hidden cells hold **{total}** of {number(float(sums.sum()), 4)}" in session.words()
    assert (total == "0") == (when == "after" or value == "-inf")


def test_question_11_shows_what_each_value_leaks() -> None:
    words = section(mask="causal", reveal="11").words()
    weights = hide(*given(), hidden=0.0).weights
    found = leak(weights, given()[2])
    assert found is not None and found.above is not None
    s, hidden, seen = found.above
    assert f"gives {number(float(weights[s, hidden]), 4)} to" in words
    assert f"only {number(float(weights[s, seen]), 4)} to" in words
    for value, shown in ((-10.0, "−10"), (-1.0, "−1"), (0.0, "0")):
        leaks = leak(hide(*given(), hidden=value).weights, given()[2])
        assert leaks is not None
        assert f"{shown}|{number(leaks.largest, 4)}|{number(leaks.total, 4)}" in words
    assert "−∞|0|0" in words


def test_question_12_shows_both_and_that_dividing_by_the_sums_mends_it() -> None:
    session = section(mask="causal", reveal="12")
    drawn_maps = session.maps()
    before, after = hide(*given()).weights, hide(*given(), after=True).weights
    for name, expected in (("before", before), ("after", after), ("again", renormalised(after))):
        np.testing.assert_array_equal(drawn_maps[name], expected.numpy())
    np.testing.assert_allclose(drawn_maps["again"], drawn_maps["before"], atol=1e-6)
    least = float(after.sum(-1).min())
    assert (
        f"had given {number(1 - least, 4)} to hidden keys, so that its row sums to {number(least, 4)}"
        in session.words()
    )
    np.testing.assert_array_equal(drawn_maps["rows of after"][:, 0], after.sum(-1).numpy())


def test_question_13_hides_a_row_and_shows_nan_and_0() -> None:
    session = section(mask="causal", reveal="13", s="2")
    assert "Your mask has no such row: here “sat” reads nothing" in session.words()
    shown = session.maps()
    session.press("hide-row")
    assert not session.maps()["mask"][2].any() and "has no such row" not in session.words()
    with pytest.raises(KeyError):
        session.widget("hide-row")
    mask = given()[2].clone()
    mask[2] = False
    found = nowhere(*given()[:2], mask)
    for drawn_maps in (shown, session.maps()):
        for name in ("plain", "safe", "plain_output", "safe_output"):
            np.testing.assert_array_equal(drawn_maps[name], finite(getattr(found, name)))
    words = session.words()
    assert "the gradient of 24 of 24 numbers of V is NaN" in words and "gives 0.1667 to each key" in words


def test_question_14_shows_the_masks_of_torchs_layer() -> None:
    session = section(text=BATCH, b="1", mask="causal", reveal="14")
    masks_ = for_multihead(given()[2], (6, 3))
    drawn_maps = session.maps()
    np.testing.assert_array_equal(drawn_maps["attn_mask"], masks_.attn_mask[:3].numpy())
    np.testing.assert_array_equal(drawn_maps["key_padding_mask"], masks_.key_padding_mask.numpy())
    np.testing.assert_array_equal(drawn_maps["both"], masks_.both[1, :3].numpy())
    np.testing.assert_array_equal(drawn_maps["meant"], session.experiment.run().trace.weights[1, 0, :3].numpy())  # type: ignore[union-attr]
    assert (drawn_maps["turned"][masks_.both[1, :3].numpy() == 0] == 0).all()
    words = session.words()
    assert "hides whole columns of its map: 3 here" in words and "either says so: 12 of 18" in words
    assert "gives 3.0000 of 3.0000 of all attention" in words and "should be hidden and get 0." in words


def test_question_14_takes_the_last_tokens_for_padding_where_none_is() -> None:
    session = section(mask="causal", reveal="14", padded="0")
    assert not session.maps()["key_padding_mask"].any() and "wholly hidden, and NaN: 1" in session.words()
    assert np.isnan(session.maps()["turned"][5]).all()
    session.set("padded", 4)
    assert session.maps()["key_padding_mask"].tolist() == [[0, 0, 1, 1, 1, 1]]


# ---- where nothing is hidden ----


def test_the_causal_mask_stands_in_while_nothing_is_hidden() -> None:
    session = section(reveal="11,12,13,14", hidden_value="0")
    assert "the causal mask stands in below" in session.words() and session.maps()["mask"].all()
    np.testing.assert_array_equal(session.maps()["weights"], hide(*given(), hidden=0.0).weights.numpy())
    session.click("mask", 1, 1)
    assert "stands in" not in session.words()
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[1, 1] = False
    np.testing.assert_array_equal(session.maps()["before"], hide(*given()[:2], mask).weights.numpy())


def test_one_token_alone_is_told_to_find_company() -> None:
    session = section(text="cat", reveal="11,12,13,14")
    assert session.sound() and "add a word" in session.words()
    session.click("mask", 0, 0)
    assert session.sound() and session.maps()["mask"].tolist() == [[0]]


def test_grouped_heads_and_a_click_on_another_map() -> None:
    session = section(n_heads="4", n_kv_heads="2", h="3", mask="causal").click("weights", 4, 2)
    trace = session.experiment.run().trace
    assert trace is not None and (session.view.s, session.view.u) == (4, 2) and session.experiment.mask == "causal"
    np.testing.assert_allclose(session.maps()["output"], trace.output[0, 3].numpy(), atol=1e-6)
