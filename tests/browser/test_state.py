"""What was typed and chosen is kept: by other pages, by Back, by a reload, and by a server that has just started."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from attnviz.presets import preset
from tests.browser import expected
from tests.browser.conftest import PATIENCE, OpenApp
from tests.browser.harness import LISTEN, Server, Watch, running_app
from tests.browser.reader import Reader

NAMES = ("Projections", "Scores to weights", "Weights to output", "Explore")
PATHS = ("/projections", "/scores", "/output", "/")


def test_pages_share_the_experiment_and_the_link_follows(open_app: OpenApp) -> None:
    reader = open_app().write("the cat the cat")
    reader.choose("mask", "causal").choose("scale", "off").click("scores", "weights", 3, 1)
    experiment, view = reader.state()
    for name, path, block in zip(NAMES[:3], PATHS[:3], ("projections", "scores", "output"), strict=True):
        reader.go(name)
        assert reader.link().split("?")[0].endswith(path) and reader.state()[0] == experiment
        assert (reader.state()[1].s, reader.state()[1].u) == (view.s, view.u)
        expect(reader.line).to_have_value("the cat the cat")
        assert reader.chosen("mask") == "causal" and reader.chosen("scale") == "off"
        expected.shows(reader, experiment, blocks=(block,))
    reader.write("changed here").go("Explore")
    expect(reader.line).to_have_value("changed here")
    assert reader.state()[0].text == "changed here" and reader.state()[0].mask == "causal"
    reader.page.reload()
    reader.rest()
    expect(reader.line).to_have_value("changed here")
    assert reader.state()[0].mask == "causal" and reader.chosen("scale") == "off"


def test_several_sequences_and_the_chosen_one_survive_page_switches(open_app: OpenApp) -> None:
    text = "the cat sat\na dog"
    reader = open_app("/?text=the+cat+sat%0Aa+dog&n_heads=2&b=1&h=1")
    for name in NAMES:
        reader.go(name)
        expect(reader.area).to_have_value(text)
        assert (reader.chosen("b"), reader.chosen("h"), reader.number("n_heads")) == ("2", "2", 2), name
        assert reader.state()[0].text == text and (reader.state()[1].b, reader.state()[1].h) == (1, 1), name


def test_back_never_loses_what_was_typed(open_app: OpenApp) -> None:
    reader = open_app("/?d_k=2")
    for text in ("one", "one two", "one two three"):
        reader.write(text)
    reader.go("Projections").write("one two three four")
    reader.page.go_back()
    expect(reader.page.get_by_role("heading", name="Explore", level=1)).to_be_visible()
    reader.rest()
    expect(reader.line).to_have_value("one two three four")
    assert reader.state()[0].text == "one two three four" and reader.state()[0].d_k == 2
    reader.page.goto("about:blank")
    reader.page.go_back()
    reader.rest()
    expect(reader.line).to_have_value("one two three four")
    assert reader.state()[0].d_k == 2


@pytest.fixture
def just_started(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    """A reader before a server that nobody has used yet."""
    watch = Watch()
    with running_app(tmp_path / "log") as server:
        context = browser.new_context(base_url=server.url, locale="en-US", viewport={"width": 1440, "height": 1000})
        context.add_init_script(LISTEN)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watch.follow(page)
        page.goto("/")
        yield Reader(page).rest()
        context.close()
        _quiet(server, watch)


def _quiet(server: Server, watch: Watch) -> None:
    assert watch.problems == [] and "Traceback" not in server.log()


@pytest.mark.parametrize("change", ["preset", "mask"])
def test_the_first_change_after_a_start_reaches_the_link(just_started: Reader, change: str) -> None:
    if change == "preset":
        just_started.take_preset("chinese")
        assert just_started.state()[0] == preset("chinese")
    else:
        just_started.choose("mask", "causal")
        assert just_started.link().endswith("/?mask=causal")


def test_twenty_page_switches_on_a_server_just_started_lose_nothing(just_started: Reader) -> None:
    reader = just_started.write("the cat the 猫")
    reader.choose("mask", "window").set_number("window_left", 1).click("scores", "weights", 2, 1)
    query = reader.link().partition("?")[2]
    experiment, view = reader.state()
    assert (experiment.text, experiment.mask, experiment.window_left) == ("the cat the 猫", "window", 1)
    for i in range(20):
        reader.go(NAMES[i % 4])
        path, _, now = reader.link().partition("?")
        assert now == query and path.endswith(PATHS[i % 4]), (i, reader.link())
        expect(reader.line).to_have_value("the cat the 猫")
        assert reader.number("window_left") == 1
    expected.shows(reader, experiment)
    assert reader.state() == (experiment, view)
