"""A lab's own controls, moved twice: nothing is lost, the address follows, what they do not concern stands still."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader


def choose(reader: Reader, key: str, n: int) -> None:
    reader.keyed(key).get_by_role("radio").nth(n).click()
    reader.rest()


def drawn(reader: Reader, key: str) -> str:
    """The heatmaps of one figure, as the browser drew them."""
    images = reader.page.locator(f".st-key-{key} .heatmaplayer image")
    return " ".join(filter(None, (i.get_attribute("xlink:href") or i.get_attribute("href") for i in images.all())))


def test_an_order_that_is_typed_twice_is_taken_twice(open_app: OpenApp) -> None:
    reader = open_app("/positions?text=a+b+c")
    box = reader.keyed("order").locator("input")
    for order in ("3 2 1", "2 1 3", "3 1 2"):
        box.fill(order)
        box.press("Enter")
        reader.until(lambda order=order: reader.state()[1].lab.order == order)  # type: ignore[misc]
        assert reader.state()[1].lab.order == order and box.input_value() == order


def test_what_was_typed_into_a_lab_outlives_an_emptied_text(open_app: OpenApp) -> None:
    reader = open_app("/positions?text=a+b+c")
    order, text = reader.keyed("order").locator("input"), reader.keyed("text_line").locator("input")
    order.fill("3 2 1")
    order.press("Enter")
    reader.until(lambda: reader.state()[1].lab.order == "3 2 1")
    text.fill("")
    reader.until(lambda: not reader.state()[0].sequences)
    expect(order).to_have_count(0)
    text.press_sequentially("x y z", delay=60)
    reader.until(lambda: reader.state()[0].text == "x y z")
    expect(order).to_have_value("3 2 1")
    assert text.input_value() == "x y z" and reader.state()[1].lab.order == "3 2 1"


def test_the_axis_of_the_softmax_changes_its_maps_and_no_others(open_app: OpenApp) -> None:
    reader = open_app("/scores?section=softmax&text=the+cat+sat")
    before = {key: drawn(reader, key) for key in ("maps-axis", "maps-dropout")}
    assert all(before.values())
    for n, axis in ((1, "s"), (0, "u"), (1, "s")):
        choose(reader, "axis", n)
        reader.until(lambda axis=axis: reader.state()[1].lab.axis == axis)  # type: ignore[misc]
        assert reader.state()[1].lab.axis == axis
        assert (drawn(reader, "maps-axis") == before["maps-axis"]) == (axis == "u")
    assert drawn(reader, "maps-dropout") == before["maps-dropout"]


@pytest.mark.parametrize("opened", [False, True])
def test_a_hidden_score_and_when_it_is_hidden_follow_the_reader(open_app: OpenApp, opened: bool) -> None:
    reader = open_app("/scores?section=masks&text=the+cat+sat&mask=causal")
    if opened:  # the tables, which stand outside of what runs alone
        reader.unfold("home").choose("home_part", "Tables")
        reader.rest()
    choose(reader, "hidden_value", 2)
    reader.until(lambda: reader.state()[1].lab.hidden_value == "-1")
    assert reader.state()[1].lab.hidden_value == "-1"
    choose(reader, "hidden_when", 1)
    reader.until(lambda: reader.state()[1].lab.hidden_when == "after")
    assert reader.state()[1].lab.hidden_when == "after"
    choose(reader, "hidden_when", 0)
    choose(reader, "hidden_value", 0)
    reader.until(lambda: reader.state()[1].lab.hidden_value == "-inf")
    assert reader.state()[1].lab.hidden_value == "-inf" and reader.state()[1].lab.hidden_when == "before"


def test_an_answer_above_follows_what_runs_alone_below(open_app: OpenApp) -> None:
    reader = open_app("/positions?text=a+b+c&reveal=16&order=2+1+3")
    answer, other = reader.keyed("question-16"), drawn(reader, "maps-positions")
    assert "Shuffled, your weights keep" in answer.inner_text() and other
    before, elements = answer.inner_text(), answer.locator('[data-testid="stElementContainer"]').count()
    for order in ("3 1 2", "2 3 1", "1 2 3"):
        reader.keyed("order").locator("input").fill(order)
        reader.keyed("order").locator("input").press("Enter")
        reader.until(lambda order=order: reader.state()[1].lab.order == order)  # type: ignore[misc]
        assert answer.locator('[data-testid="stElementContainer"]').count() == elements  # replaced, not added
    assert "Read backwards, your weights keep" in answer.inner_text() != before
    assert drawn(reader, "maps-positions") == other and reader.keyed("maps-shuffled").count() == 0


def test_a_click_in_a_part_moves_the_whole_lab(open_app: OpenApp) -> None:
    reader = open_app("/output?section=value&text=the+cat+sat&reveal=8")
    choose(reader, "value_is", 1)
    said = reader.keyed("question-8").inner_text()
    reader.page.locator(".st-key-maps-value .nsewdrag").first.click(position={"x": 60, "y": 60})
    reader.until(lambda: reader.state()[1].s > 0)
    view = reader.state()[1]
    assert min(view.s, view.u) > 0 and view.lab.value_is == "k"
    assert reader.keyed("question-8").inner_text() != said
