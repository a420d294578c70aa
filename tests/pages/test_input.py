"""Whatever is typed, or stands in a link: a sensible page, at most one clear sentence a thing, and nothing is lost."""

from typing import Any

import pytest

from attnviz.experiment import DEFAULT_TEXT, Experiment
from attnviz.figures.text import cut, label, markdown, visible
from attnviz.limits import LINK_BYTES, TEXT_CHARS, TOKENS
from tests.figures import reading
from tests.pages.session import PAGES, Session
from tests.pages.test_pages import check_numbers

TYPED = {
    "one": "cat",
    "spaces": "  a   b  ",
    "emoji": "👩‍🚀 🚀 👋🏽 🇫🇷 ❤️‍🔥",
    "arabic": "مرحبا بالعالم مرحبا",
    "bidi": "a\u202eb \u2067c\u2069 d",
    "joiner": "\u200d a\u200db \u200b",
    "html": "<s> </s> <script>alert(1)</script> <b>x</b> &amp;",
    "markdown": "$x$ :red[x] **a** `b` # [l](u) :smile: -> --",
    "colour": "#000001 #ff0000",
    "braces": "{s} {value} {} %s %{z} {{",
    "chinese": "我喜欢猫，猫也喜欢我",
    "repeat": "the the the the",
    "controls": "a\x01b \x7f \x85",
    "replacement": "a\ufffdb",
    "zalgo": "z\u0300\u0301\u0302\u0303\u0304" * 5,
    "long": "x" * 3000,
}
EMPTY = ["   ", "\t", "\u3000", "\n \n"]


@pytest.mark.parametrize("name", TYPED)
def test_any_text_is_computed_shown_and_kept(name: str) -> None:
    text, tokenizer = TYPED[name], "words" if name in ("emoji", "arabic", "chinese", "joiner", "long") else "spaces"
    session = Session(tokenizer=tokenizer).set("text_line", text)
    assert session.sound() and session.said() == []
    assert session.widget("text_line").value == text == session.experiment.text
    check_numbers(session, Experiment(text, tokenizer))
    tokens = session.experiment.sequences[0]
    axis = reading.axis(session.figures["scores"], "scores", "x")
    assert axis["ticktext"] == [label(token) for token in tokens[: len(axis["ticktext"])]]
    assert len(session.linked[0].text) == len(text) and session.linked[0] == session.experiment
    named = markdown(cut(visible(tokens[0]), 300))  # a very long one is cut
    assert f"“{named}”" in session.words()  # the sentence names the token, literally
    session.widget("written_out").set_value(True)
    session.open("tables", "editor", "program")
    assert session.sound()


@pytest.mark.parametrize(("page", "text"), [*((page, "") for page in PAGES), *(("scores", text) for text in EMPTY)])
def test_no_token_is_said_in_one_sentence_and_the_box_stays(page: str, text: str) -> None:
    session = Session(page, lang="zh", text="a b")
    session.set("text_line", text)
    assert session.sound()
    assert len(session.said()) == 1
    assert session.at.get("plotly_chart") == []
    assert session.widget("text_line").value == text
    assert session.linked[0].text == text
    assert session.set("text_line", "猫").sound()  # and on it goes
    check_numbers(session, Experiment("猫"))


@pytest.mark.parametrize("page", ["roles", "heads"])
def test_ten_thousand_words_in_a_lab(page: str) -> None:
    text = " ".join(f"word{i % 300}" for i in range(10_000))
    session = Session(page).set("text_line", text)
    assert session.sound()
    assert session.widget("text_line").value == text == session.experiment.text
    said = session.said()
    assert len(said) == 2
    assert f"{10_000 - TOKENS}" in said[0].replace(",", "") and str(TOKENS) in said[0]
    assert f"{LINK_BYTES}" in said[1] and "not in the link" in said[1]


def test_a_large_batch_fits_and_says_what_it_left_out() -> None:
    session = Session(text="\n".join(["word " * 700] * 12), n_heads="8")
    assert session.sound()
    assert len(session.said()) == 2  # lines, and the link
    assert "4" in session.said()[0]
    for page in ("scores", "output"):
        assert session.go(page).sound()


@pytest.mark.parametrize(("n", "fits"), [(7_000, True), (7_995, True), (7_996, False), (20_000, False)])
def test_a_text_past_8_kb_is_said_not_to_be_in_the_link(n: int, fits: bool) -> None:
    session = Session().set("text_line", "a" * n)
    assert len(session.link) <= LINK_BYTES
    assert (session.linked[0].text == "a" * n) == fits
    assert len(session.said()) == (not fits)
    assert session.set("text_line", "short").said() == []


def test_long_edits_are_said_not_to_be_in_the_link() -> None:
    whole: list[Any] = [[1 / (1 + i + j) for j in range(64)] for i in range(64)]
    experiment = Experiment("a b", d_model=64, d_k=64, w_q=whole)
    session = Session(text="a b", d_model="64", d_k="64")
    session.at.session_state["experiment"] = experiment
    session.at.run()
    assert session.sound()
    assert len(session.said()) == 1 and "edited numbers" in session.said()[0]


@pytest.mark.parametrize(
    ("query", "n_said"),
    [
        ({"text": "a\x00b"}, 1),
        ({"text": "a" * (TEXT_CHARS + 5)}, 3),  # cut, tokens or link
        ({"d_model": "65"}, 1),
        ({"d_model": "NaN"}, 1),
        ({"d_model": "1e999"}, 1),
        ({"d_model": ""}, 1),
        ({"temperature": "0"}, 1),
        ({"mask": "<script>alert(1)</script>"}, 1),
        ({"mask": ":red[x] $x$ {value}"}, 1),
        ({"seed": "99999999999999999999999"}, 1),
        ({"lang": "xx"}, 1),
        ({"letters": "abc"}, 1),
        ({"step": "../../etc/passwd"}, 1),
        ({"s": "-1"}, 1),
        ({"n_heads": "3", "n_kv_heads": "2"}, 1),
        ({"edits": "x~0.0.0_inf"}, 1),
        ({"edits": "w_q~9999.0_1"}, 1),
        ({"edits": "\x00~~~___..."}, 1),
        ({"without": "text"}, 1),
        ({"d_k": ["2", "3"]}, 1),
        ({"utm_source": "x", "embed": "true", "__class__": "y"}, 0),
        ({"difference": "1"}, 0),
        ({"page": "nowhere"}, 0),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_bad_link_opens_and_says_so(query: dict[str, Any], n_said: int) -> None:
    session = Session(**query)
    assert session.sound()
    said = "\n\n".join(session.said()).split("\n\n") if session.said() else []
    assert len(said) == n_said if n_said < 3 else 1 < len(said) <= n_said
    assert session.numbers()
    assert not any("{" in sentence and "{value" not in sentence.replace("\\", "") for sentence in said)


def test_a_query_of_100_kb_opens() -> None:
    junk = "&".join(f"junk{i}={'x' * 90}" for i in range(900))
    query: dict[str, Any] = dict(pair.split("=") for pair in junk.split("&"))
    session = Session(**query, edits="w_q~0.0_" + "1_" * 30_000, d_k="3", mask="z" * 30_000)
    assert session.sound()
    assert session.experiment == Experiment(DEFAULT_TEXT, d_k=3)
    assert all(len(sentence) < 500 for sentence in session.said())
    check_numbers(session, Experiment(DEFAULT_TEXT, d_k=3))


def test_what_a_link_could_not_have_is_said_until_the_first_change() -> None:
    session = Session(d_model="65")
    assert len(session.said()) == 1
    session.go("scores")
    assert len(session.said()) == 1
    assert session.set("mask", "causal").said() == []


def test_no_line_break_reaches_the_box_of_one_line() -> None:
    for text in ("a\nb", "a\r\nb", "a\n"):
        session = Session(text=text)
        assert session.sound()
        assert session.widget("several").value is True
        assert session.widget("text_area").value == text
        assert session.experiment.text == text
