"""Links: what is written is what is read, and whatever else comes is read without an error, and said."""

from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attnviz.edits import EDITS
from attnviz.experiment import DEFAULT_TEXT, Experiment, View
from attnviz.fields import CHOICES, is_whole
from attnviz.limits import LIMITS, LINK_BYTES, NOTICE_CHARS, TEXT_CHARS
from attnviz.links import Notice, from_query, read_query, to_query
from tests.test_edits import any_edits

DEFAULT = (Experiment(DEFAULT_TEXT), View())
CODES = {"out_of_range", "unknown", "malformed", "not_finite", "too_long", "repeated", "replaced", "without"}
NAMES = (*Experiment.__dataclass_fields__, *View.__dataclass_fields__, "edits", "without")


def value_of(name: str) -> st.SearchStrategy[Any]:
    if name in CHOICES:
        return st.sampled_from(CHOICES[name])
    low, high, *_ = LIMITS[name]
    return st.integers(int(low), int(high)) if is_whole(name) else st.floats(low, high)


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    names = [
        n for n in Experiment.__dataclass_fields__ if n not in (*EDITS, "text", "max_tokens", "n_kv_heads")
    ]
    given = {name: draw(value_of(name)) for name in draw(st.sets(st.sampled_from(names)))}
    divisors = [n for n in range(1, 9) if given.get("n_heads", 1) % n == 0]
    groups = draw(st.none() | st.sampled_from(divisors))
    return Experiment(draw(st.text(max_size=60)), n_kv_heads=groups, **given, **draw(any_edits()))


@st.composite
def views(draw: st.DrawFn) -> View:
    names = [name for name in View.__dataclass_fields__ if name not in ("page", "difference")]
    given = {name: draw(value_of(name)) for name in draw(st.sets(st.sampled_from(names)))}
    return View(difference=draw(st.booleans()), **given)


@given(experiments(), views())
@example(Experiment("the cat the cat"), View())
@example(Experiment(""), View(lang="zh"))
@example(Experiment(" +&=#?%\r\n\t\x01\u2028/://?"), View())
@example(
    Experiment("<s> </s> &amp; $x$ :red[x] <script>alert(1)</script> 👨‍👩‍👧‍👦 👋🏽 🇫🇷 مرحبا e\u0301"), View()
)
def test_a_link_restores_what_it_was_written_from(experiment: Experiment, view: View) -> None:
    query = to_query(experiment, view)
    assert query.isascii()
    expected = (experiment, view, ())
    if "\ufffd" in experiment.text:
        expected = (experiment, view, (Notice("replaced", "text", experiment.text[:NOTICE_CHARS]),))  # type: ignore[assignment]
    assert read_query(query) == expected
    assert read_query("?" + query) == expected
    assert read_query(dict(parse_qsl(query, keep_blank_values=True))) == expected
    assert read_query(urlencode(parse_qsl(query, keep_blank_values=True), quote_via=quote)) == expected


def test_defaults_are_not_written() -> None:
    assert to_query(*DEFAULT) == ""
    assert from_query("") == from_query("?") == from_query({}) == DEFAULT


def test_a_link_can_be_read_by_eye() -> None:
    experiment = Experiment("the cat", mask="causal", temperature=0.5, x=(((0, 1, 2), 0.1),))
    view = View(step="scores", s=1, difference=True)
    expected = "text=the+cat&temperature=0.5&mask=causal&edits=x~0.1.2_0.1&step=scores&s=1&difference=1"
    assert to_query(experiment, view) == expected


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("http://localhost:8501/?text=hi", "explore"),
        ("http://localhost:8501?text=hi", "explore"),
        ("https://example.org/scores?text=hi", "scores"),
        ("https://example.org/base/scores/?text=hi#top", "scores"),
        ("example.org/scores?text=hi", "scores"),
        ("/scores?text=hi", "scores"),
        ("/?text=hi", "explore"),
        ("localhost:8501?text=hi", "explore"),
        ("http://[bad/scores?text=hi", "scores"),
        ("?text=hi", "explore"),
        ("text=hi", "explore"),
        ("http://x/<script>?text=hi", "explore"),
    ],
)
def test_a_whole_address_is_read_with_its_page(link: str, page: str) -> None:
    assert read_query(link) == (Experiment("hi"), View(page=page), ())


def test_a_question_mark_may_stand_in_a_text() -> None:
    assert from_query("text=why?&d_k=2")[0] == Experiment("why?", d_k=2)
    assert from_query("?text=http://x/?y=1")[0] == Experiment("http://x/?y=1")


def test_a_mapping_may_carry_the_page_and_plain_values() -> None:
    values = {
        "page": "scores",
        "d_k": 2,
        "temperature": 0.5,
        "difference": True,
        "text": ["a b"],
        7: "x",
        "utm": None,
    }
    assert read_query(values) == (
        Experiment("a b", d_k=2, temperature=0.5),
        View(page="scores", difference=True),
        (),
    )


@pytest.mark.parametrize(
    ("query", "notices"),
    [
        ("d_model=65", [("out_of_range", "d_model", "65")]),
        ("d_model=-3", [("out_of_range", "d_model", "-3")]),
        ("d_model=8.0", [("malformed", "d_model", "8.0")]),
        ("d_model=", [("malformed", "d_model", "")]),
        ("d_model=٨", [("malformed", "d_model", "٨")]),
        ("d_model=1_0", [("malformed", "d_model", "1_0")]),
        ("d_model=1e999", [("malformed", "d_model", "1e999")]),
        ("d_model=" + "9" * 9999, [("out_of_range", "d_model", "9" * NOTICE_CHARS)]),
        ("seed=2147483648", [("out_of_range", "seed", "2147483648")]),
        ("temperature=nan", [("not_finite", "temperature", "nan")]),
        ("temperature=1e999", [("not_finite", "temperature", "1e999")]),
        ("temperature=0", [("out_of_range", "temperature", "0")]),
        ("n_heads=4&n_kv_heads=3", [("out_of_range", "n_kv_heads", "3")]),
        ("n_kv_heads=2", [("out_of_range", "n_kv_heads", "2")]),
        ("s=-1&u=512", [("out_of_range", "s", "-1"), ("out_of_range", "u", "512")]),
        ("mask=Causal", [("unknown", "mask", "Causal")]),
        ("lang=fr&step=dance", [("unknown", "lang", "fr"), ("unknown", "step", "dance")]),
        ("difference=maybe", [("malformed", "difference", "maybe")]),
        ("page=../etc", [("unknown", "page", "../etc")]),
        ("edits=w_q~0.0_nan~x", [("not_finite", "edits", "0.0_nan")]),
        ("edits=hello", [("unknown", "edits", "hello")]),
        ("edits=w_q~9.999_1~0_1", [("out_of_range", "edits", "9.999_1")]),
        ("edits=" + "9" * 9000, [("too_long", "edits", "9" * NOTICE_CHARS)]),
        ("without=text,edits", [("without", "text", ""), ("without", "edits", "")]),
        ("without=everything", []),
        ({"d_model": None}, [("malformed", "d_model", "None")]),
        ({"d_model": {"a": 1}}, [("malformed", "d_model", "{'a': 1}")]),
        ({"d_model": []}, []),
        ({"d_model": 10**5000}, [("malformed", "d_model", "a int")]),
        ({"d_model": 10**200}, [("out_of_range", "d_model", "1" + "0" * (NOTICE_CHARS - 1))]),
        ({"temperature": float("inf")}, [("not_finite", "temperature", "inf")]),
        ({"difference": 2}, [("malformed", "difference", "2")]),
        ({"text": b"bytes"}, [("malformed", "text", "b'bytes'")]),
        (None, [("malformed", "query", "None")]),
        (7, [("malformed", "query", "7")]),
        (b"text=hi", [("malformed", "query", "b'text=hi'")]),
        ("embed=true&utm_source=x&" + "&=&" * 9 + "%zz", []),
        ("x=[[1]]&max_tokens=1", []),
    ],
)
def test_what_cannot_be_taken_is_said_and_the_default_stands(query: Any, notices: list[Any]) -> None:
    experiment, view, said = read_query(query)
    assert [tuple(notice) for notice in said] == notices
    assert (experiment, view) == (Experiment(DEFAULT_TEXT, n_heads=experiment.n_heads), View())


@pytest.mark.parametrize(
    "query", ["text=a%00b", "text=a\0b", "text=a\ud83db", {"text": "a\udfffb"}, "text=a%FFb"]
)
def test_what_no_link_can_carry_is_replaced_and_said(query: Any) -> None:
    assert read_query(query) == (Experiment("a\ufffdb"), View(), (Notice("replaced", "text", "a\ufffdb"),))


@pytest.mark.parametrize("query", ["text=a&text=b", {"text": ["a", "b"]}, {"text": ("a", "b")}])
def test_of_a_repeated_parameter_the_last_value_counts(query: Any) -> None:
    assert read_query(query) == (Experiment("b"), View(), (Notice("repeated", "text", "b"),))


def test_good_values_survive_bad_ones() -> None:
    experiment, view, said = read_query("text=kept&d_k=0&d_v=2&edits=q~0.0.1_5~0.0.2_inf&h=1&u=x")
    assert experiment == Experiment("kept", d_v=2, q=(((0, 0, 1), 5.0),))
    assert view == View(h=1)
    assert [notice.name for notice in said] == ["d_k", "edits", "u"]


@pytest.mark.parametrize("text", ["word " * 10_000, "猫" * 1_000, "👨‍👩‍👧‍👦" * 300])
def test_a_text_too_long_for_a_link_is_left_out_and_said(text: str) -> None:
    experiment = Experiment(text, d_k=2, w_q=(((0, 0), 1.0),))
    query = to_query(experiment, View(s=3))
    assert query == "d_k=2&edits=w_q~0.0_1&s=3&without=text"
    assert read_query(query)[2] == (Notice("without", "text", ""),)


def test_edits_too_long_for_a_link_are_left_out_and_the_text_stays() -> None:
    whole = [[1 / (1 + row + column) for column in range(64)] for row in range(64)]
    experiment = Experiment("the cat", d_model=64, d_k=64, w_q=whole)
    assert to_query(experiment) == "text=the+cat&d_model=64&d_k=64&without=edits"
    long = Experiment("word " * 2_000, d_model=64, d_k=64, w_q=whole, w_k=whole)
    assert to_query(long) == "d_model=64&d_k=64&without=text,edits"


@pytest.mark.parametrize("n", [7_900, 7_990, 7_995, 7_996, 7_999, 8_000])
def test_a_link_is_never_longer_than_the_limit(n: int) -> None:
    query = to_query(Experiment("a" * n))
    assert len(query) <= LINK_BYTES
    assert (query == "without=text") == (len("text=") + n > LINK_BYTES)


def test_a_text_past_all_limits_keeps_its_beginning() -> None:
    experiment, _, said = read_query({"text": "猫" * (TEXT_CHARS + 1)})
    assert experiment.text == "猫" * TEXT_CHARS
    assert [notice.code for notice in said] == ["too_long"]


@pytest.mark.parametrize(
    "piece", ["a=1&", "%", "text=a&", "~", "edits=", "edits=x~0.0.0_1&", "?", "/", "#", "&", "é"]
)
def test_a_query_of_a_hundred_kilobytes(piece: str) -> None:
    query = piece * (100_000 // len(piece))
    for whole in (query, "text=" + query, "edits=" + query, {"text": query, "edits": query, "d_k": query}):
        experiment, view, said = read_query(whole)
        assert view.page == "explore"
        assert len(experiment.text) <= TEXT_CHARS
        assert all(len(notice.value) <= NOTICE_CHARS for notice in said)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=200)
@given(
    st.text(st.characters())
    | st.lists(st.tuples(st.sampled_from(NAMES), st.text(st.characters(), max_size=9))).map(
        lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
    )
    | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=2) | st.integers(), anything, max_size=6)
    | anything
)
def test_whatever_comes_is_read_without_an_error(query: Any) -> None:
    experiment, view, said = read_query(query)
    assert {notice.code for notice in said} <= CODES
    assert all(isinstance(part, str) for notice in said for part in notice)
    assert from_query(query) == (experiment, view)
    # What was read is sound: it can be written and read again, and shown on a page.
    assert from_query(f"/{view.page}?{to_query(experiment, view)}") == (experiment, view)
    "".join(experiment.text).encode("utf-8")
