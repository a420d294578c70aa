"""Whatever is typed or pasted: the page stands, the text stays in the box, a token is shown as it is and never run."""

import pytest
from playwright.sync_api import expect

from attnviz.figures.text import cut, visible
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock
from tests.browser.reader import Reader

ODD = (
    "one",
    "👩‍🚀 🚀 👋🏽 🇫🇷 ❤️‍🔥",
    "<script>alert(1)</script> <b> </s> <img/src=x/onerror=alert(1)>",
    "$x$ :red[x] *a* _b_ `c` [d](e) # -> -- >= &amp; &lt; ~~f~~ :material/home:",
    "مرحبا بالعالم שלום \u200d\u200b x\u202ey",
    "#000001 #ffffff \\n \\frac{1}{2} %20 a&b=c#d",
)


def test_odd_tokens_are_shown_literally_and_nothing_is_run(open_app: OpenApp) -> None:
    reader = open_app(fresh=True)
    reader.page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    reader.settings().choose("tokenizer", "spaces")
    reader.page.keyboard.press("Escape")
    for text in ODD:
        reader.write(text)
        expect(reader.line).to_have_value(text)
        experiment = reader.state()[0]
        assert experiment.text == text
        tokens = text.split()
        assert experiment.sequences == (tuple(tokens),)
        assert reader.ticks("scores", "weights", "x") == [cut(visible(token), 72) for token in tokens]
        expected.shows(reader, experiment)
        last = len(tokens) - 1
        reader.click("scores", "weights", last, 0)
        seen = Dock(reader).sentence().replace("\u200b", "")
        for i in (0, last):
            assert f"“{visible(tokens[i])}”".replace("\u200b", "") in seen, (tokens[i], seen)
        written = Dock(reader).written()
        heads = [cell.replace("\u200b", "") for cell in written.rows[0][1:-1]]
        assert heads == [f"{i + 1} {visible(token)}".replace("\u200b", "") for i, token in enumerate(tokens)]
        assert reader.page.locator("[data-testid=stMain] img, [data-testid=stMain] script").count() == 0


def test_an_empty_box_asks_for_a_word_and_comes_back(reader: Reader) -> None:
    for nothing in ("", "   "):
        reader.write(nothing)
        assert reader.said() == ["There is nothing to compute yet: type a word, or take an example."]
        expect(reader.line).to_have_value(nothing)
        assert reader.state()[0].text == nothing
    reader.write("word")
    expected.shows(reader, reader.state()[0])
    assert reader.said() == [] and reader.values("scores", "weights") == [[1.0]]


def test_more_words_than_are_taken_are_cut_and_stay_in_the_box(reader: Reader) -> None:
    text = " ".join(f"w{i % 90}" for i in range(33_000))
    reader.line.fill(text)
    reader.rest()
    expect(reader.line).to_have_value(text)
    said = " ".join(reader.said())
    assert "232 tokens" in said and "The text is not in the link" in said
    assert len(reader.values("scores", "weights")) == 24
    reader.write("short")
    expected.shows(reader, reader.state()[0])
    assert reader.said() == []


def test_a_batch_of_odd_lines(open_app: OpenApp) -> None:
    reader = open_app("/?text=" + "%0A".join(["a+b", "", "%3Cs%3E", "+", "x", "y", "z", "1", "2", "3", "4"]))
    assert reader.said() == ["1 further line is not computed: a batch takes 8 sequences."]
    expect(reader.area).to_be_visible()
    assert len(reader.state()[0].sequences) == 8
    reader.choose("b", "2")
    assert reader.ticks("scores", "weights", "x")[0] == "<"
