"""Typing: the maps follow, each number is the one that torch computes, and nothing disturbs the hands."""

import pytest
import torch
from playwright.sync_api import expect

from attnviz.experiment import Experiment
from attnviz.presets import PRESETS, preset
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.figure import ALL_PANELS
from tests.browser.reader import Reader


def test_typing_changes_the_maps_without_enter_and_the_caret_stays(reader: Reader) -> None:
    expected.shows(reader, Experiment("the cat sat on the mat"))
    reader.line.click()
    reader.page.keyboard.press("Home")
    reader.page.keyboard.type("a big ", delay=20)
    reader.page.wait_for_timeout(150)  # a run begins while more is typed
    reader.page.keyboard.type("red 🙂 ", delay=40)
    reader.page.wait_for_timeout(180)
    reader.page.keyboard.type("猫", delay=20)
    reader.rest()
    expect(reader.line).to_be_focused()
    expect(reader.line).to_have_value("a big red 🙂 猫the cat sat on the mat")
    caret = reader.line.evaluate("box => [box.selectionStart, box.selectionEnd]")
    assert caret == [len("a big red 🙂 猫") + 1] * 2  # JavaScript counts an emoji twice
    expected.shows(reader, Experiment("a big red 🙂 猫the cat sat on the mat"))
    assert reader.state()[0].text == "a big red 🙂 猫the cat sat on the mat"
    reader.page.keyboard.press("Backspace")
    reader.rest()
    expect(reader.line).to_have_value("a big red 🙂 the cat sat on the mat")


@pytest.mark.parametrize(
    ("query", "h"),
    [
        ("text=the+cat+the+cat", 0),
        ("text=我喜欢+cats&n_heads=4&n_kv_heads=2&d_k=3&d_v=2&mask=causal&positions=sinusoidal&h=3&temperature=0.5", 3),
    ],
)
def test_every_number_on_the_board_is_the_tensors_and_is_printed_rounded(open_app: OpenApp, query: str, h: int) -> None:
    reader = open_app(f"/?{query}")
    experiment, view = reader.state()
    assert view.h == h
    expected.shows(reader, experiment, h=h)
    run = experiment.run()
    for block, name in ALL_PANELS:
        right, printed = expected.tensor(run, name, h=h), reader.digits(block, name)
        assert len(printed) == right.numel(), (block, name, printed)
        assert all(expected.prints(text, right[at].item()) for at, text in printed.items()), (block, name, printed)


def test_several_sequences_are_padded_and_one_is_chosen(reader: Reader) -> None:
    lines = "the cat sat on\nthe dog\nbirds sing loud"
    reader.flip("several")
    expect(reader.area).to_have_value("the cat sat on the mat")
    reader.area.fill(lines)
    reader.area.press("Control+Enter")
    reader.rest()
    experiment = Experiment(lines)
    assert reader.state()[0] == experiment
    reader.choose("b", "2")
    expected.shows(reader, experiment, b=1)
    assert reader.state()[1].b == 1
    assert reader.ticks("scores", "weights", "x") == ["the", "dog", "[pad]", "[pad]"]
    masked = reader.digits("scores", "masked")
    assert {at for at, text in masked.items() if text == "−∞"} == {(s, u) for s in range(4) for u in (2, 3)}
    assert all(reader.values("scores", "weights")[s][u] == 0 for s in range(4) for u in (2, 3))
    reader.area.fill(lines + "\none more")
    reader.button("Apply").click()
    reader.rest()
    assert reader.state()[0].text == lines + "\none more"
    expected.shows(reader, Experiment(lines + "\none more"), b=1)
    reader.flip("several")
    expect(reader.line).to_have_value(lines.replace("\n", " ") + " one more")
    reader.flip("several")
    expect(reader.area).to_have_value(lines + "\none more")  # what one line cannot hold comes back


def test_every_preset_opens(reader: Reader) -> None:
    for code in PRESETS:
        reader.take_preset(code)
        assert reader.state()[0] == preset(code), code
        expected.shows(reader, preset(code))
        box = reader.area if "\n" in preset(code).text else reader.line
        expect(box).to_have_value(preset(code).text)
        if code == "worked":
            published = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
            assert torch.allclose(torch.tensor(reader.values("output", "output")), torch.tensor(published), atol=5e-5)
