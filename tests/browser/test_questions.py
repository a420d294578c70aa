"""One question of every lab, in both languages: guessed in the browser, and its answer read."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenApp
from tests.browser.reader import PAGES, Reader
from tests.pages.labs import LABS, Lab

SAID = {"en": "You said", "zh": "你"}
AGAIN = {"en": "Ask again", "zh": "再问一次"}


@pytest.mark.parametrize("lab", [lab for lab in LABS if lab.questions], ids=str)
def test_a_question_is_answered_and_its_reveal_read(open_app: OpenApp, lab: Lab) -> None:
    query = "&".join(f"{name}={value}" for name, value in {**lab.query, "lang": "en"}.items())
    reader = open_app(f"{PAGES.get(lab.page, '/' + lab.page)}?{query}")
    number = next(iter(lab.questions))
    box = reader.keyed(f"question-{number}")
    english = answered(reader, box, number, "en")
    reader.choose("language", "中文")
    reader.until(lambda: is_chinese(box.inner_text()))
    chinese = box.inner_text()
    assert is_chinese(chinese) and not is_chinese(english)
    box.get_by_role("button", name=AGAIN["zh"]).click()
    reader.until(lambda: reader.state()[1].lab.reveal == ())
    assert answered(reader, box, number, "zh") == chinese  # what was said in English, as it was translated


def answered(reader: Reader, box: Locator, number: int, lang: str) -> str:
    """Guess the last choice of a question that is open; return all that its box then says."""
    expect(box.get_by_role("radio")).not_to_have_count(0)
    asked = box.inner_text()
    box.locator("label", has=reader.page.get_by_role("radio")).last.click()
    reader.until(lambda: reader.state()[1].lab.reveal == (number,))
    view, said = reader.state()[1], box.inner_text()
    assert (view.lab.reveal, view.lang) == ((number,), lang)
    assert ("✓" in said) != ("✗" in said)
    assert len(said) > 100 and said != asked  # the reason, with its numbers
    assert SAID[lang] in said and AGAIN[lang] in said
    return said


def is_chinese(words: str) -> bool:
    """Say whether there is a Chinese character in it."""
    return any("\u4e00" <= letter <= "\u9fff" for letter in words)
