"""The board of a notebook: all three blocks in one figure, the same numbers, nothing over anything."""

import itertools

import numpy as np
import pytest

import attnviz
from attnviz.experiment import Experiment, View
from attnviz.figures.colours import DARK
from attnviz.figures.layout import BLOCKS
from tests.figures import reading

CAT = "the cat sat on the mat"


def test_the_board_of_a_notebook_holds_every_panel_with_the_numbers_of_the_page() -> None:
    experiment = Experiment(CAT, mask="causal", n_heads=2)
    figure = reading.received(attnviz.board(experiment, View(h=1)))
    all_names = [name for block in BLOCKS.values() for row in block for name in row if name]
    assert sorted(reading.names(figure)) == sorted(all_names)  # queries, values and weights stand in two blocks
    for block in BLOCKS:
        alone = reading.board(experiment, block, View(h=1))
        for name in reading.names(alone):
            same = [
                trace
                for trace in figure["data"]
                if trace["type"] == "heatmap"
                and trace["name"] == name
                and np.array_equal(reading.array(trace["z"]), reading.z(alone, name), equal_nan=True)
            ]
            assert same, name


def test_the_blocks_of_a_notebook_stand_below_one_another() -> None:
    figure = reading.received(attnviz.board(Experiment("a b c\nd"), View(b=1)))
    cells = []
    for trace in figure["data"]:
        if trace["type"] == "heatmap" and trace["name"] not in ("−∞", "∞", "NaN"):
            x = figure["layout"]["xaxis" + trace["xaxis"][1:]]["domain"]
            y = figure["layout"]["yaxis" + trace["yaxis"][1:]]["domain"]
            assert 0 <= x[0] < x[1] <= 1 and 0 <= y[0] < y[1] <= 1
            cells.append((trace["name"], x, y))
    for (_, x, y), (_, x2, y2) in itertools.combinations(cells, 2):
        assert min(x[1], x2[1]) <= max(x[0], x2[0]) + 1e-9 or min(y[1], y2[1]) <= max(y[0], y2[0]) + 1e-9
    # Each block has scales of its own, and weights are 0 to 1 in both of theirs.
    scales = {t["coloraxis"] for t in figure["data"] if t["name"] == "weights"}
    assert all((figure["layout"][s]["cmin"], figure["layout"][s]["cmax"]) == (0, 1) for s in scales)


def test_the_letters_the_theme_and_the_place_of_a_view_are_followed() -> None:
    figure = reading.received(attnviz.board(Experiment(CAT), View(letters="bij", b=7, h=7, s=400), dark=True))
    assert "a (i=6, j=6)" in reading.titles(figure)
    assert figure["layout"]["font"]["color"] == DARK.ink


def test_a_long_text_says_which_tokens_are_drawn_and_a_view_draws_others() -> None:
    experiment = Experiment(" ".join(map(str, range(600))), mask="causal")
    first = reading.received(attnviz.board(experiment))
    assert first["layout"]["title"]["text"] == "600 tokens: query tokens 1 to 24 and key tokens 1 to 24 are drawn."
    later = reading.received(attnviz.board(experiment, View(from_s=590, from_u=48)))
    assert later["layout"]["title"]["text"] == "600 tokens: query tokens 577 to 600 and key tokens 49 to 72 are drawn."
    trace = experiment.run().trace
    assert trace is not None
    drawn = [reading.array(one["z"]) for one in later["data"] if one.get("name") == "scores"]
    assert drawn and all(np.array_equal(z, trace.scores[0, 0, 576:600, 48:72].numpy()) for z in drawn)


def test_the_line_about_the_tokens_takes_no_room_from_the_panels() -> None:
    boards = {n: reading.received(attnviz.board(Experiment("w " * n)))["layout"] for n in (24, 25)}
    assert "title" not in boards[24] or "text" not in boards[24]["title"]
    assert boards[24]["yaxis"]["domain"] == boards[25]["yaxis"]["domain"]
    assert boards[25]["height"] - boards[25]["margin"]["t"] == boards[24]["height"] - boards[24]["margin"]["t"]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_no_token_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="experiment must have at least one token"):
        attnviz.board(Experiment(text))


def test_too_much_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="fitting"):
        attnviz.board(Experiment("w " * 3000, n_heads=8))
