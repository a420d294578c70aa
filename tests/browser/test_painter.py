"""The mask painter under a real pointer: a click paints, undo takes it back, the link and Explore have the mask."""

import numpy as np
from torch import Tensor

from attnviz.core.masks import causal
from attnviz.drawing import read_drawing
from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader

PAINTER = "/scores?section=masks&mask=causal"


def drawn(reader: Reader) -> list[list[bool]]:
    return [list(row) for row in read_drawing(reader.state()[0].drawn)]


def _arrives(reader: Reader, painted: Tensor) -> None:
    """Wait for a mask to be in the link, and fail when it never is."""
    reader.until(lambda: reader.state()[0].drawn != "" and drawn(reader) == painted.tolist())
    assert drawn(reader) == painted.tolist()


def _explore_shows(reader: Reader, painted: Tensor) -> None:
    assert ((np.array(reader.values("scores", "weights")) > 0) == painted.numpy()).all()
    assert reader.chosen("mask") == "drawn"


def test_a_click_paints_undo_takes_it_back_and_explore_shows_it(open_app: OpenApp) -> None:
    reader = open_app(PAINTER)
    painted = causal(6, 6)
    reader.click("painter", "mask", 1, 4)
    painted[1, 4] = True
    _arrives(reader, painted)
    assert reader.values("painter", "mask") == painted.int().tolist()
    assert reader.chosen("mask") == "drawn"
    reader.click("painter", "mask", 5, 0)
    painted[5, 0] = False
    _arrives(reader, painted)
    assert "drawn=" in reader.link()

    reader.button("Undo").click()
    reader.rest()
    painted[5, 0] = True
    _arrives(reader, painted)
    assert reader.values("painter", "mask") == painted.int().tolist()

    link = reader.link()
    reader.go("Explore")
    _explore_shows(reader, painted)
    reader.go("Scores to weights")
    reader.button("Undo").click()
    reader.rest()
    assert reader.chosen("mask") == "causal" and reader.button("Undo").is_disabled()
    _explore_shows(reader.open(link.replace("/scores", "/")), painted)


def test_a_finger_paints_on_a_phone_and_the_keyboard_everywhere(open_app: OpenApp) -> None:
    reader = open_app(PAINTER, viewport=(390, 844))
    painted = causal(6, 6)
    reader.click("painter", "mask", 3, 5)
    painted[3, 5] = True
    _arrives(reader, painted)
    reader.set_number("painted_s", 2)
    reader.set_number("painted_u", 1)
    reader.button("Hide the cell").press("Enter")
    painted[1, 0] = False
    _arrives(reader, painted)
