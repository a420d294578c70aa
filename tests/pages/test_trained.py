"""The page on trained models shows what the model computed: every head, one head, its cells, a knock-out."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.arithmetic import explain
from attnviz.core.influence import contribution, rollout
from attnviz.figures.colours import DARK, LIGHT
from attnviz.figures.text import number
from attnviz.figures.tiles import TOP
from attnviz.models import registry
from attnviz.models.heads import overview, ranked
from attnviz.models.knockouts import Knockout, angle_moved, share_moved
from attnviz.models.reading import Part
from attnviz.models.words import group_weights, words
from tests.figures.reading import names, z
from tests.pages.trained import Reading, needs_minilm

TEXT = "thecatsatonthecat"
SECTIONS = ("step", "lines", "beyond", "silenced", "beside")
PIECES = {"model": "minilm", "text": "Antidisestablishmentarianism is a 猫 word"}


def close(found: Any, expected: torch.Tensor) -> None:
    # The page's worker computes on one thread, the test on several: sums in another order.
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=2e-6)


def tiny(text: str = TEXT, **given: Any) -> Part:
    return registry.read("attnviz-tiny", text, **given).part("decoder")


# ---- at once ----


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("section", SECTIONS)
def test_the_shipped_model_is_there_at_once(lang: str, section: str) -> None:
    """With the landing page's own text, without a download, in both languages."""
    session = Reading(lang=lang, section=section)
    assert session.sound() and session.said() == []
    assert "10\\,624" in session.words() and "d\\_model 32" in session.words()
    charts = session.at.get("plotly_chart")
    assert len(charts) >= 3 and all(chart.proto.alt for chart in charts)


def test_the_board_is_the_models_own() -> None:
    """Queries, keys, scores, weights and outputs of the chosen head; the weights of the shipped heads are plain."""
    session = Reading(text=TEXT, layer="1")
    trace = tiny().layers[1].trace(0)
    maps = session.maps()
    for name, expected in (("query", trace.query), ("scores", trace.scores), ("weights", trace.weights)):
        close(maps[name], expected[0])
    close(maps["key_t"], trace.key[0].mT)
    close(maps["output"], trace.output[0])
    check = tiny().layers[1].check()
    assert check.weights < 1e-6
    assert "✓" in session.words() and f"largest difference {check.weights:.1e} of a weight" in session.words()
    before = overview(tiny()).statistics["previous"][0, 0]
    assert before > 0.9 and f"layer 1, head 1, with {number(float(before), 4)}" in session.words()


def test_a_click_on_a_cell_opens_its_arithmetic() -> None:
    """Of scores, weights and outputs: the sum in the dock is that of core.explain."""
    session = Reading(text=TEXT, layer="1")
    trace = tiny().layers[1].trace(0)
    for step, row, column in (("scores", 5, 3), ("weights", 12, 1), ("output", 8, 4)):
        session.click(step, row, column)
        assert session.sound()
        explained = explain(trace, step, (0, row, column))
        assert f"= {number(explained.cell, 4)}" in session.words()
    assert session.linked[1].step == "output" and session.linked[1].s == 8


def test_the_tiles_are_every_heads_weights() -> None:
    """Each cell is the square root of the weight; a click on one opens its head and its tokens."""
    session = Reading(text=TEXT)
    drawn = session.maps()["tiles"]
    panel = session.bridge["charts"][0]["panels"][0]["tile"]
    (down, right), each, n = panel["step"], panel["each"], len(TEXT)
    for layer, read in enumerate(tiny().layers):
        found = drawn[1 : 1 + n * each : each, layer * right + 1 : layer * right + 1 + n * each : each]
        assert np.abs((found.astype(float) / TOP) ** 2 - read.weights()[0].numpy()).max() < 1.5 / TOP
    assert panel["called"] == ["layer 1, head 1", "layer 2, head 1"] and panel["chosen"] == 0
    session.click("tiles", 1 + 6 * each, right + 1 + 2 * each)
    lab, view = session.linked[1].lab, session.linked[1]
    assert (lab.layer, lab.head, view.s, view.u) == (1, 0, 6, 2)
    assert session.bridge["charts"][0]["panels"][0]["tile"]["chosen"] == 1
    close(session.maps()["weights"], tiny().layers[1].trace(0).weights[0])
    before = session.link
    session.click("tiles", 0, 0)  # a gap
    assert session.link == before and down > n


# ---- a model of many heads ----


@needs_minilm
def test_each_statistic_is_drawn_sorted_and_tabled() -> None:
    """Of all 72 heads; the highest come first where the reader asks for it, and a click on a number opens a head."""
    session = Reading(model="minilm", text="the cat sat on the mat")
    reading = registry.read("minilm", "the cat sat on the mat")
    found = overview(reading.part("encoder")).statistics
    for name in found:
        session.set("statistic", name)
        close(session.maps()["statistic"], found[name])
    session.set("statistic", "previous")
    session.set("ranked", True)
    called = session.bridge["charts"][0]["panels"][0]["tile"]["called"]
    best = ranked(found["previous"], 24)
    assert called == [f"layer {layer + 1}, head {head + 1}" for layer, head in best] and best[0] == (0, 2)
    session.click("statistic", 4, 9)
    assert (session.linked[1].lab.layer, session.linked[1].lab.head) == (4, 9)
    session.open_tables()
    (table,) = [frame.value for frame in session.at.dataframe if "entropy" in frame.value]
    assert len(table) == 72
    close(table["entropy"].to_numpy().reshape(6, 12), found["entropy"])


@needs_minilm
def test_words_are_summed_over_keys_and_averaged_over_queries() -> None:
    """And say so; the pieces of a word are whole characters, with the tokenizer's signs only where asked for."""
    session = Reading(**PIECES, section="lines", layer="1", head="4")
    part = registry.read("minilm", PIECES["text"]).part("encoder")
    weights = part.layers[1].trace(4).weights[0]
    close(session.maps()["weights"], weights)
    assert "##" not in str(session.bridge["tokens"]) and "猫" in session.bridge["tokens"]
    session.set("markers", True)
    assert any(token.startswith("##") for token in session.bridge["tokens"])
    session.set("markers", False)
    session.set("grouped", True)
    groups = words(part.queries, (PIECES["text"],))
    close(session.maps()["weights"], group_weights(weights, [word.tokens for word in groups]))
    assert session.bridge["tokens"] == [word.shown for word in groups]
    assert "summed over key columns and averaged over query rows" in session.words()


@needs_minilm
def test_beyond_weights_is_what_the_core_computes() -> None:
    session = Reading(model="minilm", text="a cat sat", section="beyond", layer="2", head="7")
    part = registry.read("minilm", "a cat sat").part("encoder")
    maps, read = session.maps(), part.layers[2]
    expected = read.contribution()
    assert expected is not None
    close(maps["added"], expected[7])
    assert float((expected[7] - contribution(read.trace(7).weights, read.value[7:8])[0]).abs().max()) > 0.01
    close(maps["rollout"], rollout([each.weights() for each in part.layers]))


@needs_minilm
def test_two_heads_and_two_texts_stand_side_by_side() -> None:
    session = Reading(model="minilm", text="a cat sat", section="beside", other_layer="3", other_head="5")
    part = registry.read("minilm", "a cat sat").part("encoder")
    first, second = part.layers[0].trace(0).weights[0], part.layers[3].trace(5).weights[0]
    close(session.maps()["difference"], second - first)
    session.set("context", "a dog sat")
    other = registry.read("minilm", "a dog sat").part("encoder").layers[3].trace(5).weights[0]
    close(session.maps()["other"], other)
    session.set("context", "a dog sat on a mat")
    assert "difference" not in session.maps() and "have 5 and 8 tokens" in session.words()
    assert session.linked[1].lab.context == "a dog sat on a mat"


# ---- knocking out ----


def test_a_silent_head_and_a_hidden_edge_move_the_next_token() -> None:
    session = Reading(text=TEXT, section="silenced", layer="1", s="16", u="3")
    before = registry.read("attnviz-tiny", TEXT)
    session.press("silence:head")
    assert session.linked[1].lab.silenced == "d1.0"
    after = registry.read("attnviz-tiny", TEXT, knockouts=[Knockout("decoder", 1, 0)])
    assert before.probabilities is not None and after.probabilities is not None
    moved = share_moved(before.probabilities, after.probabilities)
    assert moved > 0.5 and f"**{number(100 * moved, 1)} %**" in session.words()
    assert f"“{after.guesses[0].shown}”" in session.words()
    session.press("speak:0")
    assert session.linked[1].lab.silenced == "" and "Nothing is knocked out yet" in session.words()
    session.press("silence:edge")
    assert session.linked[1].lab.silenced == "d1.0:16-3"
    hidden = tiny(knockouts=[Knockout("decoder", 1, 0, 16, 3)]).layers[1].trace(0).weights[0]
    close(session.maps()["after"], hidden)
    assert hidden[16, 3] == 0


def test_a_silent_layer_takes_its_heads_with_it() -> None:
    """Its heads and edges are offered no more, and what was silent of it before is listed no more."""
    session = Reading(text=TEXT, section="silenced", layer="1", silenced="d1.0,d0.0")
    offered = ("silence:head", "silence:edge", "silence:layer")
    assert [session.widget(key).disabled for key in offered] == [True, True, False]
    session.press("silence:layer")
    assert session.linked[1].lab.silenced == "d0.0,d1"
    assert [session.widget(key).disabled for key in offered] == [True, True, True]


@needs_minilm
def test_a_silent_layer_turns_the_embedding() -> None:
    session = Reading(model="minilm", text="a cat sat", section="silenced", silenced="e2,e0.3:1-1,d0.0")
    held = [Knockout("encoder", 2), Knockout("encoder", 0, 3, 1, 1)]
    before, after = registry.read("minilm", "a cat sat"), registry.read("minilm", "a cat sat", knockouts=held)
    assert before.embedding is not None and after.embedding is not None
    turned = angle_moved(before.embedding, after.embedding)
    assert turned > 0.01 and f"**{number(turned, 4)}** rad" in session.words()
    assert "does not fit this text or model" in session.words()


# ---- themes, tables, links ----


@pytest.mark.parametrize("section", SECTIONS)
def test_every_chart_has_a_table_of_its_numbers_and_the_colours_of_the_theme(section: str) -> None:
    """But for the tiles, which are the weights in bytes, and the lines, which are one of the maps."""
    for theme in (LIGHT, DARK):
        session = Reading(text=TEXT, section=section, silenced="d0.0", theme=theme.name)
        inks = {figure["layout"]["font"]["color"] for figure in session.charts().values()}
        assert inks == {theme.ink}
    session.open_tables()
    assert session.sound()
    frames = [frame.value.to_numpy() for frame in session.at.dataframe]
    for figure in session.charts().values():
        for name in names(figure):
            if name in ("tiles", "row_sums", "key_t") or name.startswith("rows of"):
                continue
            drawn = z(figure, name)
            shown = [frame for frame in frames if frame.shape == drawn.shape and frame.dtype != object]
            cells = [np.where(np.isfinite(frame), frame, np.nan) for frame in shown]
            assert any(np.array_equal(one, drawn, equal_nan=True) for one in cells), name


def test_a_link_opens_the_same_view() -> None:
    """Somebody else sees the same model, section, head and cell, in the other language too."""
    session = Reading(text=TEXT, layer="1", section="lines", statistic="induction", s="9")
    session.set("token:s", 12)
    for lang in ("en", "zh"):
        linked = dict(pair.split("=") for pair in session.link.split("&"))
        other = Reading(**linked | {"lang": lang})
        assert other.sound() and other.said() == []
        assert other.view.lab == session.view.lab and other.view.s == 11
        close(other.maps()["weights"], tiny().layers[1].trace(0).weights[0])


def test_typed_words_follow_from_page_to_page() -> None:
    session = Reading(text="abcab")
    assert "“c”" in session.words().partition("Next token:")[2][:30]
    session.go("explore")
    assert session.experiment.text == "abcab"
