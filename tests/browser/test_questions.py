"""One question of every lab, in both languages: guessed in the browser, and its answer read."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenApp
from tests.browser.reader import PAGES
from tests.pages.labs import LABS, Lab


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("lab", [lab for lab in LABS if lab.questions], ids=str)
def test_a_question_is_answered_and_its_reveal_read(open_app: OpenApp, lab: Lab, lang: str) -> None:
    query = "&".join(f"{name}={value}" for name, value in {**lab.query, "lang": lang}.items())
    reader = open_app(f"{PAGES.get(lab.page, '/' + lab.page)}?{query}")
    number = next(iter(lab.questions))
    box = reader.keyed(f"question-{number}")
    expect(box.get_by_role("radio")).not_to_have_count(0)
    asked = box.inner_text()
    box.locator("label", has=reader.page.get_by_role("radio")).last.click()
    reader.rest()
    answered = box.inner_text()
    assert ("✓" in answered) != ("✗" in answered)
    assert len(answered) > 100 and answered != asked  # the reason, with its numbers
    assert re.search("You said|你", answered)
    reader.until(lambda: reader.state()[1].lab.reveal == (number,))
    assert reader.state()[1].lab.reveal == (number,)
