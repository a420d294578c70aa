"""Every notice is one clear sentence in both languages, whatever the link held."""

import re

import pytest

from attnviz import locale
from attnviz.edits import EDITS
from attnviz.experiment import Experiment
from attnviz.limits import LIMITS, NOTICE_NAMES
from attnviz.links import Notice, read_query
from attnviz.ui.link_words import word, words

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
    "no_such_name": ["maks=causal", "foo=1&bar=2", "n" * 99 + "=1", "x=1"],
    "no_cell": ["text=a&edits=x~0.1.0_1", "edits=w_q~9.0_1_2~v~3.0.0_5"],
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
        said[lang] = [*(word(notice) for notice in notices), *words(notices)]
        for sentence in said[lang]:
            assert sentence.strip()
            assert not re.search(r"(?<!\\)[{}]", sentence)  # no placeholder is left
            assert sentence.endswith("." if lang == "en" else "。")
    assert said["en"] != said["zh"]


@pytest.mark.parametrize("name", [name for name in LIMITS if name != "n_kv_heads"])
def test_a_number_out_of_range_names_its_range(name: str) -> None:
    limit = LIMITS[name]
    said = word(Notice("out_of_range", name, "99999"))
    assert "99999" in said and f"{limit.low:g}" in said and f"{limit.high:g}" in said


def test_what_the_link_held_shows_literally() -> None:
    for value in ("$x$", ":red[x]", "**bold**", "<b>", "`code`", "{value}", "{", "}{", "[a](b)"):
        for notice in (Notice("unknown", "mask", value), Notice("no_such_name", value, "")):
            said = word(notice)
            shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", said)
            assert value in shown
            assert not re.search(r"(?<!\\)[$*<`\[]", said)


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
    said = word(read_query("edits=nofield~0.0_1")[2][0])
    assert "edited numbers" in said and "nofield" in said


def test_names_that_no_link_has_are_one_sentence_with_what_was_meant() -> None:
    (said,) = words(read_query("maks=causal&n_head=2")[2])
    assert said == (
        "The link has names that attnviz does not know, “maks” (did you mean mask?), “n\\_head” (did you mean "
        "n\\_heads?): they are left out."
    )
    (few,) = words(read_query("".join(f"{c * 9}=1&" for c in "jqyz"))[2])
    (many,) = words(read_query("".join(f"{c * 9}=1&" for c in "jqyzåäö"))[2])
    assert few.count("“") == many.count("“") == NOTICE_NAMES == 4
    assert ", …:" in many and "…" not in few
    assert "“" + "n" * 39 + "…”" in word(read_query("n" * 99 + "=1")[2][0])


def test_edits_without_a_cell_are_one_sentence_that_counts_them_by_matrix() -> None:
    (said,) = words(read_query("text=a&edits=x~0.0.7_1_2_3~0.5.0_1~q~0.0.0_1~w_q~8.0_1~k~1.0.0_1")[2])
    assert said == (
        "The link edits numbers that have no cell here (3 of X, 1 of W\\_Q, 1 of K): they are kept until text and "
        "sizes have room."
    )
    (one,) = words(read_query("text=a&edits=v~0.1.0_1")[2])
    assert one.startswith("The link edits a number that has no cell here (1 of V)")


def test_no_notice_without_a_reason() -> None:
    assert read_query("text=a&d_k=2&lang=zh")[2] == ()
    assert Experiment("a") == read_query("text=a")[0]
