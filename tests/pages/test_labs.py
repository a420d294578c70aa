"""What every lab has: both languages and themes, questions that are asked and revealed, tables of what is drawn."""

import json

import numpy as np
import pytest

from attnviz.figures.colours import DARK, LIGHT
from attnviz.limits import QUESTIONS
from attnviz.links import read_query
from tests.figures.reading import names, z
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session

labs = pytest.mark.parametrize("lab", LABS, ids=str)
EDGES = {
    "one token": {"text": "a"},
    "a batch, padded": {"text": "the cat sat\na", "b": "1"},
    "grouped heads": {"n_heads": "4", "n_kv_heads": "2", "h": "3", "d_k": "2", "d_v": "5"},
    "tokens that are markup": {"text": "<s> $x$ :red[a] *b* </s>", "tokenizer": "spaces"},
    "a hidden row": {"text": "a b", "mask": "drawn", "drawn": "2.IA"},
    "numbers beyond float32": {"edits": "x~0.0.0_1e30,0.1.0_-1e30"},
    "a long text": {"text": "unmistakable word " * 40, "mask": "causal", "s": "70"},
}


def revealed(lab: Lab, **query: str) -> Session:
    return Session(lab.page, **lab.query, reveal=",".join(map(str, lab.questions)), **query)


def test_each_question_is_asked_in_one_place() -> None:
    asked = [number for lab in LABS for number in lab.questions]
    assert sorted(asked) == list(range(1, QUESTIONS + 1))


@labs
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_lab_runs_in_both_languages(lab: Lab, lang: str) -> None:
    session = revealed(lab, lang=lang)
    assert session.sound() and session.said() == []
    assert any("\u4e00" <= c <= "\u9fff" for c in session.words()) == (lang == "zh")


@labs
def test_chinese_leaves_no_english_sentence_behind(lab: Lab) -> None:
    def everything(lang: str) -> set[str]:
        spoken = [Session(lab.page, **lab.query, lang=lang), revealed(lab, lang=lang)]
        radios = [option for session in spoken for radio in session.at.radio for option in radio.options]
        words = "\n".join([*(session.words() for session in spoken), *map(str, radios)])
        return {line for line in words.splitlines() if line.count(" ") >= 4 and "$" not in line and "`" not in line}

    english = everything("en")
    assert english
    assert not english & everything("zh")


@labs
def test_a_question_is_asked_first_and_then_revealed(lab: Lab) -> None:
    session = Session(lab.page, **lab.query)
    before = session.words()
    for number, (right, wrong) in lab.questions.items():
        session.set(f"guess.{number}", right)
        assert session.sound() and number in session.view.lab.reveal
        assert "✓" in session.words() and "✗" not in session.words()
        session.press(f"again:{number}")
        assert number not in session.view.lab.reveal
        session.set(f"guess.{number}", wrong)
        assert "✗" in session.words() and "✓" not in session.words()
        session.press(f"again:{number}").press(f"reveal:{number}")
        assert number in session.view.lab.reveal
        assert "✗" not in session.words() and "✓" not in session.words()
        session.press(f"again:{number}")
    assert session.words() == before


@labs
def test_answers_are_kept_for_the_session_and_reveals_in_the_link(lab: Lab) -> None:
    session = Session(lab.page, **lab.query)
    for number, (right, _) in lab.questions.items():
        session.set(f"guess.{number}", right)
    done = len(lab.questions)
    said = "" if lab.board else f"{done} of {done} done"
    assert said in session.words()
    words = session.words()
    session.go("explore").go(lab.page)
    assert session.words() == words
    linked = read_query(session.link)[1].lab
    assert linked.reveal == tuple(sorted(lab.questions)) and linked.section == (lab.section or "step")
    other = Session(lab.page, **dict(pair.split("=") for pair in session.link.split("&") if pair))
    assert "✓" not in other.words() and said in other.words()


@pytest.mark.parametrize("lab", [lab for lab in LABS if not lab.board], ids=str)
def test_every_chart_says_what_it_shows_and_has_a_table_of_its_numbers(lab: Lab) -> None:
    session = revealed(lab)
    charts = session.at.get("plotly_chart")
    assert charts and all(chart.proto.alt for chart in charts)
    keys = list(session.charts())
    session.open_tables()
    assert session.sound()
    assert len(session.at.dataframe) >= len(keys)
    frames = [frame.value.to_numpy() for frame in session.at.dataframe]
    for key, figure in session.charts().items():
        for name in names(figure):
            if not name.startswith(("rows of", "columns of")):
                drawn = z(figure, name)
                shown = [f for f in frames if f.shape == drawn.shape and f.dtype != object]
                assert any(np.array_equal(np.where(np.isfinite(f), f, np.nan), drawn, equal_nan=True) for f in shown), (
                    f"no table of {name} in {key}"
                )


@labs
def test_a_lab_is_drawn_in_the_colours_of_the_theme(lab: Lab) -> None:
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        session = Session(lab.page, theme=name, **lab.query)
        inks = {figure["layout"]["font"]["color"] for figure in session.charts().values()}
        assert inks == {colours.ink}


@labs
@pytest.mark.parametrize("edge", EDGES)
def test_a_lab_stands_at_the_edges(lab: Lab, edge: str) -> None:
    session = revealed(lab, **EDGES[edge])
    assert session.sound()
    if edge == "a long text":
        sent = sum(len(json.dumps(figure)) for figure in session.charts().values())
        assert sent < 400_000, "tokens or numbers travel more than once"
