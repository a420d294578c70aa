"""Links: they open the same state in either language and on every page, and what is changed is in them at once."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

import attnviz
from attnviz.experiment import Experiment, View
from attnviz.links import from_query, to_query
from tests.pages.session import PAGES, Session
from tests.pages.test_pages import check_numbers

FULL = (
    Experiment(
        "the cat the cat\n我 <s> & #1 +%\nمرحبا",
        "spaces",
        d_model=6,
        d_k=3,
        d_v=2,
        n_heads=4,
        n_kv_heads=2,
        seed=9,
        scale="d_k",
        temperature=0.7,
        mask="prefix",
        positions="sinusoidal",
        prefix_length=1,
        x=(((1, 0, 2), 0.1), ((1, 0, 3), -3e-20)),
        w_v=(((0, 1), 1e7),),
        k=(((0, 1, 4), 2.5),),
    ),
    View(step="scores", b=1, h=3, s=2, u=1, letters="bij", feature=1),
)
LINKS = {
    "repeat": (Experiment("the cat the cat", mask="causal"), View(s=2, u=0)),
    "full": FULL,
    "window": (Experiment("a b c", mask="window", window_left=1, window_right=2), View(step="output", s=1, feature=3)),
    "plain": (Experiment("the cat sat on the mat"), View()),
}


def params(experiment: Experiment, view: View, **more: str) -> dict[str, Any]:
    return dict(parse_qsl(to_query(experiment, view), keep_blank_values=True)) | more


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize(("lang", "page"), [("en", "explore"), ("zh", "scores")])
def test_a_link_opens_the_same_state_in_either_language(name: str, lang: str, page: str) -> None:
    experiment, view = LINKS[name]
    other = Session(page, locale="en-US" if lang == "zh" else "zh-CN", **params(experiment, view, lang=lang))
    assert other.sound() and other.said() == []
    assert other.experiment == experiment
    assert other.view == View(**{**vars(view), "lang": lang})
    assert other.linked == (experiment, other.view)  # the address bar is not changed by opening it
    check_numbers(other, experiment)
    for field in ("n_heads", "mask", "scale", "d_model", "seed", "temperature", "tokenizer", "positions"):
        assert other.widget(field).value == getattr(experiment, field)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_link_made_in_one_language_opens_in_the_other(lang: str) -> None:
    made = Session(lang=lang).set("mask", "causal").set("scale", "none").set("tokenizer", "characters")
    made.set("positions", "sinusoidal").click("scores", 3, 1)
    there = {"en": "zh", "zh": "en"}[lang]
    link = made.link.replace(f"lang={lang}", f"lang={there}")
    opened = Session(**dict(parse_qsl(link)))
    assert opened.sound()
    assert opened.experiment == made.experiment
    assert opened.view == View(**{**vars(made.view), "lang": there})


def test_without_a_language_a_link_opens_in_the_readers_own() -> None:
    query = params(*LINKS["repeat"])
    assert "lang" not in query
    assert Session(locale="zh-TW", **query).widget("language").value == "zh"
    assert Session(locale="fr", **query).widget("language").value == "en"


def test_every_change_is_in_the_link_at_once() -> None:
    session = Session()
    assert session.link == ""
    session.set("text_line", "我 & you")
    assert from_query(session.link)[0] == Experiment("我 & you")
    for key, value in (("n_heads", 2), ("mask", "causal"), ("d_v", 3), ("letters", "bts"), ("h", 1)):
        session.set(key, value)
        assert session.linked == (session.experiment, session.view)
    session.click("output", 1, 2)
    assert session.linked == (session.experiment, session.view)
    session.set("language", "zh")
    assert "lang=zh" in session.link
    assert session.linked == (session.experiment, session.view)


def test_the_notebook_opens_the_same_experiment() -> None:
    session = Session(**params(*FULL))
    run = attnviz.from_query("http://127.0.0.1:8501/?" + session.link)[0].run()
    here = session.experiment.run()
    assert run.trace is not None and here.trace is not None
    assert all(bool((a == b).all()) for a, b in zip(run.trace, here.trace, strict=True))


@pytest.mark.parametrize("start", ["explore", "scores"])
def test_the_state_survives_a_tour_of_all_pages(start: str) -> None:
    experiment, view = FULL
    session = Session(start, **params(experiment, view))
    for page in (*PAGES, *reversed(PAGES)):
        session.go(page)
        assert session.sound() and session.said() == []
        assert session.experiment == experiment
        assert session.view == view
        assert session.linked == (experiment, view)
        check_numbers(session, experiment)
        assert session.widget("text_area").value == experiment.text
        assert session.widget("n_heads").value == 4
        assert session.widget("mask").value == "prefix"


def test_what_is_changed_on_one_page_holds_on_the_next() -> None:
    session = Session("projections").set("text_line", "a b c").set("d_k", 2)
    session.go("scores").set("mask", "causal").set("n_heads", 2)
    session.go("output").set("h", 1)
    session.go("explore")
    assert session.experiment == Experiment("a b c", d_k=2, mask="causal", n_heads=2)
    assert session.view.h == 1
    assert session.widget("text_line").value == "a b c" and session.widget("d_k").value == 2
    check_numbers(session)


def test_the_language_is_kept_on_other_pages_and_its_widgets_keep_their_values() -> None:
    session = Session().set("mask", "window").set("language", "zh")
    assert session.widget("mask").value == "window"
    session.go("scores")
    assert session.widget("language").value == "zh"
    session.set("mask", "causal").set("language", "en")
    assert session.widget("mask").value == "causal"
    assert session.experiment.mask == "causal"
    check_numbers(session)


def test_a_preset_takes_the_place_of_everything_and_the_controls_follow() -> None:
    session = Session(n_heads="4", mask="causal", seed="5").press("preset.batch")
    assert session.widget("several").value is True
    assert session.widget("n_heads").value == 2 and session.widget("mask").value == "none"
    assert session.widget("seed").value == 0
    session.press("preset.cat")
    assert session.widget("several").value is False
    assert session.widget("text_line").value == "the cat sat on the mat"
    assert session.linked[0] == Experiment("the cat sat on the mat")
