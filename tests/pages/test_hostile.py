"""Hostile tokens in every lab: what is drawn holds no markup but the app's own."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.hostile import LINKS, SCRIPTS
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

TEXT = " ".join(SCRIPTS + LINKS)
OWN = {"div", "span", "pre", "b", "i", "br", "sub", "sup"}  # tags of the app's own words
ATTRIBUTES = {"style", "class", "title", "lang", "dir"}


class Markup(HTMLParser):
    """The tags and attributes in what a browser is given as markup."""

    def __init__(self, marked: str) -> None:
        super().__init__()
        self.foreign: list[str] = []
        self.feed(marked)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.foreign += [tag] if tag not in OWN else []
        self.foreign += [name for name, _value in attrs if name not in ATTRIBUTES]


def strings(value: Any) -> list[str]:
    """Every string in a figure."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in inner for each in strings(part)]


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_no_token_becomes_markup(lab: Lab) -> None:
    session = Session(lab.page, text=TEXT, tokenizer="spaces", context=TEXT[:400], sequence=TEXT[:100], **lab.query)
    assert session.sound()
    drawn = [text for chart in session.at.get("plotly_chart") for text in strings(json.loads(chart.proto.spec))]
    drawn += [each.proto.body for each in session.at.get("html")]
    assert drawn and [(text, found) for text in drawn if (found := Markup(text).foreign)] == []
    for each in [*session.at.markdown, *session.at.caption, *session.at.info, *session.at.warning]:
        assert not [payload for payload in SCRIPTS if payload in each.value]
        assert not getattr(each.proto, "allow_html", False)


def test_markup_that_is_not_the_apps_own_is_found() -> None:
    assert Markup(SCRIPTS[0]).foreign == ["script"] and Markup("<b>x</b>").foreign == []
    assert Markup('<span onclick="1">').foreign == ["onclick"]
