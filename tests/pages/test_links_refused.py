"""What a link asks for and cannot have: one sentence each in both languages, and all else of the link is there."""

from dataclasses import replace

import pytest

from attnviz import locale
from attnviz.experiment import Experiment
from tests.pages.session import Session
from tests.pages.tensors import Bringing
from tests.pages.trained import Reading

LANGUAGES = ("en", "zh")
ASKS = {
    "en": "The link asks for {}, which {} not here: {} {} shown. A link counts from 0, the page from 1.",
    "zh": "链接要求 {}，而这里没有：改为显示 {}。链接从 0 数起，页面从 1 数起。",
}


def asks(lang: str, asked: str, shown: str) -> str:
    """The sentence of numbers that there are none of."""
    verb = "are" if "," in asked else "is"
    return ASKS[lang].format(asked, verb, shown, verb) if lang == "en" else ASKS[lang].format(asked, shown)


def moved(session: Session) -> list[str]:
    """The sentences of numbers that were asked for and are not here."""
    return [said for said in session.said() if said.startswith(("The link asks", "链接要求"))]


def opened(page: str, **query: str) -> Session:
    if page == "trained":
        return Reading(**query)
    return Bringing(**query) if page == "tensors" else Session(page, **query)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("page", ["", "scores", "einsum", "training", "trained", "tensors"])
def test_a_name_that_no_link_has_is_said_on_every_page_and_nothing_else_is_lost(page: str, lang: str) -> None:
    session = opened(page, lang=lang, maks="causal", text="a b", d_k="2", embed="true", **{":red[x]": "1"})
    assert session.sound()
    (said,) = session.said()
    known = {"en": "The link has names that attnviz does not know", "zh": "链接中有 attnviz 不认识的名称"}
    assert known[lang] in said and "“maks”" in said and "mask?" in said.replace("？", "?")
    assert "“\\:red\\[x\\]”" in said and "embed" not in said
    assert session.experiment == Experiment("a b", d_k=2)
    if page != "einsum":
        session.go("output")
        assert session.said() == [said]  # until the experiment is changed
    if page == "":
        assert session.set("mask", "causal").said() == []


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "The link edits numbers that have no cell here (1 of X, 2 of W\\_V): they are kept until text and"),
        ("zh", "链接编辑的数中有一些在这里没有对应的单元格（X 中 1 个, W\\_V 中 2 个）：先保留，"),
    ],
)
def test_edits_without_a_cell_are_said_and_count_once_the_text_has_grown(lang: str, said: str) -> None:
    query = {"text": "a b c", "edits": "x~0.1.0_5~0.3.1_2.5~w_v~8.0_1_2"}
    session = Session(lang=lang, **query)
    assert session.sound()
    (found,) = session.said()
    assert found.startswith(said)
    assert session.experiment.x == (((0, 1, 0), 5.0), ((0, 3, 1), 2.5))
    assert session.linked[0] == session.experiment
    assert session.numbers()["x"].shape == (3, 8) and session.numbers()["x"][1, 0] == 5
    session.set("text_line", "a b c d")
    assert session.said() == []
    assert session.numbers()["x"][3, 1] == 2.5


@pytest.mark.parametrize("lang", LANGUAGES)
def test_numbers_past_the_end_are_said_with_what_is_shown(lang: str) -> None:
    session = Session("scores", lang=lang, text="a b c", b="3", h="2", s="40", u="2")
    assert session.sound()
    assert session.said() == [asks(lang, "b = 3, h = 2, s = 40", "b = 0, h = 0, s = 2")]
    session.set("language", "en" if lang == "zh" else "zh")
    assert len(moved(session)) == 1  # in the other language
    session.click("scores", 1, 1)
    assert session.said() == []


def test_what_the_reader_does_may_move_a_number_without_a_word() -> None:
    session = Session(text="a b c d e", s="4", u="3")
    assert session.said() == []
    session.set("text_line", "a b")
    assert session.said() == [] and session.view.s == 4
    session = Session(text="a b", s="4")
    assert len(moved(session)) == 1
    session.go("scores")
    assert session.said() == []


def test_heads_that_the_page_alone_has_are_there() -> None:
    assert Session("heads", h="5").said() == []
    assert moved(Session("heads", h="5", n_heads="2")) == [asks("en", "h = 5", "h = 1")]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_layer_and_a_head_that_a_model_lacks_are_said_until_something_is_chosen(lang: str) -> None:
    session = Reading(lang=lang, text="abc", layer="99", head="99", s="30", u="2", section="beside", other_layer="7")
    assert session.sound()
    asked, shown = "layer = 99, head = 99, s = 30", "layer = 1, head = 0, s = 2"
    other = asks(lang, "other\\_layer = 7", "other\\_layer = 1")
    assert session.said() == [asks(lang, asked, shown), other]
    session.at.run()  # as when a page looks whether a model is there
    assert len(moved(session)) == 2
    session.set("number:layer", 1)
    assert session.said() == []
    assert session.view.lab.layer == 0 and session.view.lab.head == 99


def test_another_model_has_fewer_layers_without_a_word() -> None:
    session = Reading(text="abc", layer="1").set("markers", True)
    session.at.session_state["view"] = replace(session.view, lab=replace(session.view.lab, layer=50))
    session.at.run()
    assert session.said() == [] and session.widget("number:layer").value == 2


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_head_that_no_tensor_has_is_said_and_an_example_begins_anew(lang: str) -> None:
    session = Bringing(lang=lang, example="right", layer="4", sample="3", head="9")
    assert session.sound()
    (said,) = moved(session)
    assert said.startswith(asks(lang, "layer = 4, sample = 3, head = 9", "layer = 0").partition("layer = 0")[0])
    locale.use(lang)  # AppTest words the options of a box itself
    session.press("example:scale")
    assert moved(session) == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_layer_that_is_not_trained_is_said(lang: str) -> None:
    session = Session("training", lang=lang, layers="1", layer="2", which="1", heads="2", head="1")
    assert session.sound()
    assert session.said() == [asks(lang, "which = 1, layer = 2", "which = 0, layer = 0")]
    session.set("task", "sort")
    assert session.said() == []
