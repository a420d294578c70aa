"""A lab follows a line of text alone; what else stands on its page is drawn whenever it says something of the text."""

import pytest

from attnviz.limits import TEXT_CHARS, TOKENS
from attnviz.ui import following
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

FOLLOWING = [lab for lab in LABS if not lab.board]


def opened(lab: Lab, **query: str) -> Session:
    """A lab on which the reader has typed once: a page that a link has just opened runs whole."""
    return Session(lab.page, **lab.query, **query).set("text_line", "one two three four")


def type_(session: Session, text: str) -> bool:
    """Type a text, and say whether the lab followed it alone."""
    session.widget("text_line").set_value(text)
    session.at.run()
    assert [e.value for e in session.at.exception] == []
    return not session.at.title


@pytest.mark.parametrize("lab", FOLLOWING, ids=str)
def test_a_lab_follows_alone_and_draws_what_the_page_would(lab: Lab) -> None:
    """Its charts, its words and its link are those of the whole page that runs next."""
    session = opened(lab, reveal=",".join(map(str, lab.questions)))
    assert type_(session, "the cat sat on the mat and slept")
    alone, link = session.charts(), session.link
    drawn = [e.value for e in session.at.markdown]
    session.at.run()
    assert session.sound() and session.experiment.text == "the cat sat on the mat and slept"
    assert alone and session.charts() == alone and session.link == link
    whole = [e.value for e in session.at.markdown]
    assert [words for words in whole if words in drawn] == drawn


def test_what_a_control_of_the_lab_changes_next_is_of_the_new_text() -> None:
    """A lab that runs alone is given what the page computed, which is another text by then."""
    session = opened(Lab("output", "value"))
    assert type_(session, "a b c d e f")
    before = session.maps()["weights"].shape
    session.widget("value_is").set_value("k")
    session.at.run()
    assert before == (6, 6) and session.maps()["weights"].shape == (6, 6)


@pytest.mark.parametrize(
    "text",
    ["", "word " * (TOKENS + 1), "x" * (TEXT_CHARS + 1)],
    ids=["nothing", "more tokens than are computed", "more characters than are taken"],
)
def test_the_page_runs_where_it_has_something_to_say_of_the_text(text: str) -> None:
    """And again when it has no longer."""
    session = opened(Lab("output", "value"))
    assert not type_(session, text)
    assert session.said()
    assert not type_(session, "short again")
    assert not session.said()
    assert type_(session, "short again, alone")


@pytest.mark.parametrize("box", ["home", "examples", "more"])
def test_the_page_runs_where_a_box_is_open(box: str) -> None:
    session = opened(Lab("output", "value"))
    session.open(box)
    assert not type_(session, "a new text")


def test_the_page_runs_where_a_link_has_just_opened_it() -> None:
    """What it said of the link goes with the first key."""
    session = Session("output", section="value", s="9")
    assert session.said()
    assert not type_(session, "the cat sat")
    assert not session.said()


def test_a_page_without_a_lab_runs_whole() -> None:
    session = opened(Lab("output"))
    assert not type_(session, "a new text")
    assert following._CAN in session.at.session_state and session.at.session_state[following._CAN] is None
