"""The page on which a model is trained: for real, to the threshold, replayed, read anew, stopped."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader

MINUTES = 180_000  # ms


def train(reader: Reader) -> None:
    """Press the button and wait until the training has ended."""
    reader.keyed("train").get_by_role("button").click()
    reader.until(lambda: reader.state()[1].lab.ran)
    assert reader.state()[1].lab.ran
    expect(reader.keyed("stop-training")).to_have_count(0, timeout=MINUTES)
    expect(reader.keyed("take-home")).to_be_visible()
    reader.rest()


def induction(reader: Reader) -> float:
    """The largest induction score that the page prints."""
    said = reader.page.get_by_text(re.compile("induction 0\\.[0-9]+")).first.inner_text()
    return max(float(found) for found in re.findall("induction (0\\.[0-9]+|1\\.[0-9]+)", said))


def test_two_heads_are_trained_to_the_threshold_replayed_and_read(open_app: OpenApp) -> None:
    reader = open_app("/training?lang=en&steps=200")
    train(reader)
    assert induction(reader) > 0.8
    trained = picture(reader)

    slider = reader.keyed("at_step").get_by_role("slider")
    slider.focus()
    reader.page.keyboard.press("Home")
    reader.until(lambda: reader.state()[1].lab.at_step == 0)
    assert picture(reader) != trained
    reader.page.keyboard.press("End")
    reader.until(lambda: reader.state()[1].lab.at_step == 200)
    assert picture(reader) == trained

    reader.keyed("sequence").locator("input").fill("xyzxyz")
    reader.until(lambda: reader.state()[1].lab.sequence == "xyzxyz")
    read = picture(reader)
    assert read != trained
    expect(reader.page.get_by_text("2 of 2")).to_be_visible()

    reader.choose("language", "中文")
    expect(reader.page.get_by_text("2 处里，它答对了 2")).to_be_visible()
    assert picture(reader) == read and induction(reader) > 0.8


def picture(reader: Reader) -> str:
    """The heatmaps of all heads, as the browser drew them."""
    images = reader.page.locator(".st-key-maps-trained .heatmaplayer image")
    return " ".join(
        filter(None, (image.get_attribute("xlink:href") or image.get_attribute("href") for image in images.all()))
    )


def test_a_second_training_is_stopped_midway_and_keeps_what_it_learned(open_app: OpenApp) -> None:
    reader = open_app("/training?steps=10")
    train(reader)
    reader.keyed("more-training").get_by_role("button").first.click()
    box = reader.keyed("steps").locator("input")
    box.fill("2000")
    box.press("Enter")
    reader.until(lambda: reader.state()[1].lab.steps == 2000)
    reader.page.keyboard.press("Escape")
    reader.keyed("train").get_by_role("button").click()
    stop = reader.keyed("stop-training").get_by_role("button")
    expect(reader.page.get_by_text(re.compile("Step [1-9][0-9]* of 2000"))).to_be_visible(timeout=MINUTES)
    stop.click()
    expect(reader.page.get_by_text(re.compile("Stopped at step [1-9][0-9]*"))).to_be_visible(timeout=MINUTES)
    expect(reader.keyed("take-home")).to_be_visible(timeout=MINUTES)


def test_a_layer_opens_in_explore_and_the_weights_come_home(open_app: OpenApp) -> None:
    reader = open_app("/training?sequence=abab&steps=10")
    with reader.page.expect_download(timeout=MINUTES) as started:
        reader.keyed("take-home").get_by_role("button").click()
    assert started.value.suggested_filename == "attnviz-repeat-step-0.safetensors"
    reader.keyed("to-explore").get_by_role("button").click()
    expect(reader.page.locator(".st-key-block-projections .js-plotly-plot")).to_be_visible(timeout=MINUTES)
    reader.rest()
    assert reader.state()[0].text == "a b a b"
