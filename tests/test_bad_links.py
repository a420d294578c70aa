"""Bad and hostile links: whatever comes is read without an error, and what was not taken is said."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.experiment import DEFAULT_TEXT, Experiment, View
from attnviz.lab import Lab
from attnviz.limits import NOTICE_CHARS, NOTICE_NAMES, TEXT_CHARS
from attnviz.links import Notice, from_query, read_query, to_query

CODES = {"out_of_range", "unknown", "malformed", "not_finite", "too_long", "repeated", "replaced", "without"}
CODES |= {"no_such_name", "no_cell"}
NAMES = (*Experiment.__dataclass_fields__, *View.__dataclass_fields__, "edits", "without")


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
        ("s=-1&u=32768", [("out_of_range", "s", "-1"), ("out_of_range", "u", "32768")]),
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
        ("embed=true&utm_source=x&" + "&=&" * 9, []),
        ("EMBED_OPTIONS=dark_theme&fbclid=x&from=timeline&isappinstalled=0&__theme=dark&__sign=x", []),
        ("%zz", [("no_such_name", "%zz", "")]),
        ("maks=causal", [("no_such_name", "maks", "mask")]),
        (
            "maks=causal&maks=none&Temprature=2",
            [("no_such_name", "maks", "mask"), ("no_such_name", "Temprature", "temperature")],
        ),
        ("x=[[1]]&max_tokens=1", [("no_such_name", "x", "edits"), ("no_such_name", "max_tokens", "")]),
        (
            "lab=1&" + "y" * 99,
            [("no_such_name", "lab", "labels"), ("no_such_name", "y" * (NOTICE_CHARS - 1) + "…", "")],
        ),
        ({"a\ud83d": "1"}, [("no_such_name", "a\ufffd", "")]),
    ],
)
def test_what_cannot_be_taken_is_said_and_the_default_stands(query: Any, notices: list[Any]) -> None:
    experiment, view, said = read_query(query)
    assert [tuple(notice) for notice in said] == notices
    assert (experiment, view) == (Experiment(DEFAULT_TEXT, n_heads=experiment.n_heads), View())


@pytest.mark.parametrize("query", ["text=a%00b", "text=a\0b", "text=a\ud83db", {"text": "a\udfffb"}, "text=a%FFb"])
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


def test_of_many_unknown_names_the_first_are_kept_and_nothing_else_is_lost() -> None:
    query = "&".join(f"_{i}=1" for i in range(9_000)) + "&text=kept&d_k=2"
    experiment, _, said = read_query(query)
    assert experiment == Experiment("kept", d_k=2)
    assert [notice.name for notice in said] == [f"_{i}" for i in range(NOTICE_NAMES + 1)]


def test_every_setting_of_every_page_is_a_name_that_links_know() -> None:
    for kind in (Experiment, View, Lab):
        names = set(kind.__dataclass_fields__) - {"x", "w_q", "w_k", "w_v", "q", "k", "v", "max_tokens", "lab"}
        said = read_query(dict.fromkeys(sorted(names), "?"))[2]
        assert "no_such_name" not in {notice.code for notice in said}


def test_edits_that_have_no_cell_are_kept_and_counted_by_matrix() -> None:
    query = "text=a+b+c%0Ad&edits=x~0.2.7_1_2~0.40.0_3~1.1.0_4~w_q~0.0_5~7.4_6~v~7.0.0_7"
    experiment, _, said = read_query(query)
    # 0.2.8 is past d_model, 0.40.0 past the text, 1.1.0 padding; 7.4 is past h*k = 4, 7.0.0 past the sequences.
    assert said == (Notice("no_cell", "x", "3"), Notice("no_cell", "w_q", "1"), Notice("no_cell", "v", "1"))
    assert experiment.x == (((0, 2, 7), 1.0), ((0, 2, 8), 2.0), ((0, 40, 0), 3.0), ((1, 1, 0), 4.0))
    assert from_query(to_query(experiment))[0] == experiment
    assert sorted(experiment.run().unused) == sorted(
        [("x", (0, 2, 8)), ("x", (0, 40, 0)), ("x", (1, 1, 0)), ("w_q", (7, 4)), ("v", (7, 0, 0))]
    )
    grown = read_query(query.replace("d&", "d+e&").replace("text=", "text=" + "w+" * 40) + "&d_model=9&d_k=5")[2]
    assert grown == (Notice("no_cell", "v", "1"),)


def test_a_text_past_all_limits_keeps_its_beginning() -> None:
    experiment, _, said = read_query({"text": "猫" * (TEXT_CHARS + 1)})
    assert experiment.text == "猫" * TEXT_CHARS
    assert [notice.code for notice in said] == ["too_long"]


@pytest.mark.parametrize("piece", ["a=1&", "%", "text=a&", "~", "edits=", "edits=x~0.0.0_1&", "?", "/", "#", "&", "é"])
def test_a_query_of_a_hundred_kilobytes(piece: str) -> None:
    query = piece * (100_000 // len(piece))
    for whole in (query, "text=" + query, "edits=" + query, {"text": query, "edits": query, "d_k": query}):
        experiment, view, said = read_query(whole)
        assert view.page == "explore"
        assert len(experiment.text) <= TEXT_CHARS
        assert all(len(notice.value) <= NOTICE_CHARS for notice in said)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
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
