"""Every notice is one clear sentence in both languages, whatever the link held."""

import re

import pytest

from attnviz import locale
from attnviz.edits import EDITS
from attnviz.experiment import Experiment
from attnviz.limits import LIMITS
from attnviz.links import Notice, read_query
from attnviz.ui.notices import word

QUERIES = {
    "out_of_range": ["d_model=65", "seed=-1", "temperature=0", "s=32768", "n_heads=3&n_kv_heads=2", "temperature=1e9"],
    "unknown": [
        "mask=causel",
        "tokenizer=bpe",
        "lang=fr",
        "letters=abc",
        "step=softmax",
        "page=../etc",
        "scale=2",
        "edits=nonsense",
    ],
    "malformed": ["d_k=four", "d_k=1.5", "difference=yes", "temperature=warm", "edits=w_q~0.1_x"],
    "not_finite": ["temperature=nan", "temperature=inf", "edits=w_q~0.1_nan", "edits=x~0.0.0_1e39"],
    "repeated": ["d_k=2&d_k=3", "text=a&text=b"],
    "replaced": ["text=a%00b", "text=%ED%A0%80"],
    "too_long": ["text=" + "a" * 400_001, "edits=w_q~0.0_" + "1_" * 5_000],
    "without": ["without=text", "without=edits", "without=text,edits", "without=edits,text,heads"],
}
ALL = [(code, query) for code, queries in QUERIES.items() for query in queries]


@pytest.mark.parametrize(("code", "query"), ALL, ids=[f"{code}-{query[:20]}" for code, query in ALL])
def test_every_notice_of_a_link_is_worded(code: str, query: str) -> None:
    notices = read_query(query)[2]
    assert notices
    assert code in {notice.code for notice in notices}
    said: dict[str, list[str]] = {}
    for lang in locale.LANGUAGES:
        locale.use(lang)
        said[lang] = [word(notice) for notice in notices]
        for words in said[lang]:
            assert words.strip()
            assert not re.search(r"(?<!\\)[{}]", words)  # no placeholder is left
            assert words.endswith("." if lang == "en" else "。")
    assert said["en"] != said["zh"]


@pytest.mark.parametrize("name", [name for name in LIMITS if name != "n_kv_heads"])
def test_a_number_out_of_range_names_its_range(name: str) -> None:
    limit = LIMITS[name]
    words = word(Notice("out_of_range", name, "99999"))
    assert "99999" in words and f"{limit.low:g}" in words and f"{limit.high:g}" in words


def test_what_the_link_held_shows_literally() -> None:
    for value in ("$x$", ":red[x]", "**bold**", "<b>", "`code`", "{value}", "{", "}{", "[a](b)"):
        words = word(Notice("unknown", "mask", value))
        shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", words)
        assert value in shown
        assert not re.search(r"(?<!\\)[$*<`\[]", words)


def test_key_value_heads_that_do_not_divide_say_so_and_repeated_ones_something_else() -> None:
    (refused,) = read_query("n_heads=4&n_kv_heads=3")[2]
    assert "3" in word(refused) and "divide" in word(refused)
    (repeated,) = read_query("n_heads=4&n_kv_heads=2&n_kv_heads=4")[2]
    assert "more than once" in word(repeated)


def test_the_default_that_takes_the_place_of_a_value_is_the_one_that_is_said_to_be_shown() -> None:
    for query in QUERIES["out_of_range"][:4] + QUERIES["unknown"][:5]:
        experiment, view, notices = read_query(query)
        assert (experiment, view) == read_query("")[:2]
        assert "default" in word(notices[0])


def test_edits_that_name_no_field_say_so() -> None:
    assert set(EDITS) >= set(read_query("edits=nofield~0.0_1~w_q~0.0_2")[0].edits) == {"w_q"}
    words = word(read_query("edits=nofield~0.0_1")[2][0])
    assert "edited numbers" in words and "nofield" in words


def test_no_notice_without_a_reason() -> None:
    assert read_query("text=a&d_k=2&lang=zh")[2] == ()
    assert Experiment("a") == read_query("text=a")[0]
