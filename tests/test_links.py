"""Links: what is written is what is read, short, legible, and never longer than the limit."""

from dataclasses import fields
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attnviz.drawing import write_drawing
from attnviz.edits import EDITS
from attnviz.experiment import DEFAULT_TEXT, Experiment, View
from attnviz.fields import CHOICES, is_whole
from attnviz.lab import Lab
from attnviz.limits import LIMITS, LINK_BYTES, NOTICE_CHARS, QUESTIONS, TEXTS
from attnviz.links import Notice, from_query, read_query, to_query
from tests.test_edits import any_edits

DEFAULT = (Experiment(DEFAULT_TEXT), View())


SWITCHES = {field.name for kind in (View, Lab) for field in fields(kind) if isinstance(field.default, bool)}


def squares(n: int) -> st.SearchStrategy[Any]:
    row = st.lists(st.booleans(), min_size=n, max_size=n)
    return st.lists(row, min_size=n, max_size=n)


def value_of(name: str) -> st.SearchStrategy[Any]:
    if name in CHOICES:
        return st.sampled_from(CHOICES[name])
    if name in TEXTS:
        return st.text(max_size=min(TEXTS[name], 60))
    if name in SWITCHES:
        return st.booleans()
    if name == "reveal":
        return st.sets(st.integers(1, QUESTIONS)).map(tuple)
    if name == "drawn":
        return st.just("") | st.integers(1, 5).flatmap(squares).map(write_drawing)
    low, high, *_ = LIMITS[name]
    return st.integers(int(low), int(high)) if is_whole(name) else st.floats(low, high)


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    names = [n for n in Experiment.__dataclass_fields__ if n not in (*EDITS, "text", "max_tokens", "n_kv_heads")]
    given = {name: draw(value_of(name)) for name in draw(st.sets(st.sampled_from(names)))}
    divisors = [n for n in range(1, 9) if given.get("n_heads", 1) % n == 0]
    groups = draw(st.none() | st.sampled_from(divisors))
    return Experiment(draw(st.text(max_size=60)), n_kv_heads=groups, **given, **draw(any_edits()))


@st.composite
def views(draw: st.DrawFn) -> View:
    given = []
    for kind in (View, Lab):
        names = [name for name in kind.__dataclass_fields__ if name not in ("page", "lab")]
        given.append({name: draw(value_of(name)) for name in draw(st.sets(st.sampled_from(names)))})
    return View(**given[0], lab=Lab(**given[1]))


@given(experiments(), views())
@example(Experiment("the cat the cat"), View())
@example(Experiment(""), View(lang="zh"))
@example(Experiment(" +&=#?%\r\n\t\x01\u2028/://?"), View())
@example(Experiment("<s> </s> &amp; $x$ :red[x] <script>alert(1)</script> 👨‍👩‍👧‍👦 👋🏽 🇫🇷 مرحبا e\u0301"), View())
def test_a_link_restores_what_it_was_written_from(experiment: Experiment, view: View) -> None:
    query = to_query(experiment, view)
    assert query.isascii()
    said = [Notice("replaced", "text", experiment.text[:NOTICE_CHARS])] if "\ufffd" in experiment.text else []
    said += [
        Notice("no_cell", name, str(n))
        for name, cells in experiment.edits.items()
        if (n := sum(not experiment.has_cell(name, index) for index, _value in cells))
    ]
    expected = (experiment, view, tuple(said))
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


def test_what_is_typed_into_the_labs_is_left_out_last() -> None:
    lab = Lab(context="👩" * 400, order="猫" * 400, axis="s")
    query = to_query(Experiment("猫" * 1_000), View(lab=lab))
    assert query == "axis=s&without=text,edits,labs"
    assert Notice("without", "labs", "") in read_query(query)[2]


@pytest.mark.parametrize("n", [7_900, 7_990, 7_995, 7_996, 7_999, 8_000])
def test_a_link_is_never_longer_than_the_limit(n: int) -> None:
    query = to_query(Experiment("a" * n))
    assert len(query) <= LINK_BYTES
    assert (query == "without=text") == (len("text=") + n > LINK_BYTES)
