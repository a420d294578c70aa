"""One's own tensors in the browser: a real file is dropped, its finding read, and a bad one refused."""

import io
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attnviz.core.attention import attention
from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader

SLOW = 60_000  # milliseconds: the machine may be busy
GENERATOR = torch.Generator().manual_seed(1)
Q, K, V = (torch.randn(1, 2, 5, 4, dtype=torch.float64, generator=GENERATOR).float() for _ in range(3))
TOKENS = ["the", "<b>x", "$y$", "</s>", ":red[z]"]
FOUND = {"en": "The scale is missing", "zh": "缺少缩放"}
# The middle of a cell of the first map, in the window.
_CELL = """(gd, [s, u]) => {
    gd.scrollIntoView({ block: "center" });
    const X = gd._fullLayout.xaxis, Y = gd._fullLayout.yaxis, box = gd.getBoundingClientRect();
    return [box.x + X._offset + X.d2p(u), box.y + Y._offset + Y.d2p(s)];
}"""
REFUSED = {"en": "breaks off or is mixed up", "zh": "不完整或已损坏"}


def packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def drop(reader: Reader, name: str, data: bytes) -> None:
    box = reader.page.locator('[data-testid="stFileUploader"] input[type="file"]')
    box.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_file_is_dropped_and_its_mistake_is_read(open_app: OpenApp, lang: str) -> None:
    reader = open_app(f"/tensors?lang={lang}")
    wrong = attention(Q, K, V, scale=1.0).weights
    drop(reader, "<i>mine.npz", packed(q=Q.numpy(), k=K.numpy(), weights=wrong.numpy(), tokens=np.array(TOKENS)))
    expect(reader.page.get_by_text(FOUND[lang])).to_be_visible(timeout=SLOW)
    reader.rest()
    expect(reader.page.get_by_text("<i>mine.npz", exact=True)).to_be_visible(timeout=SLOW)
    expect(reader.page.get_by_text("scaled = scores / math.sqrt(d_k)")).to_be_visible()
    reader.page.mouse.click(*reader.page.locator(".st-key-maps-brought .js-plotly-plot").evaluate(_CELL, [3, 1]))
    reader.until(lambda: (reader.state()[1].s, reader.state()[1].u) == (3, 1))
    read = reader.page.get_by_text(f"{float(wrong[0, 0, 3, 1]):.7f}")
    expect(read).to_be_visible(timeout=SLOW)
    assert "</s>" in read.inner_text() and "<b>x" in read.inner_text()
    drop(reader, "cut.npz", packed(q=Q.numpy())[:150])
    expect(reader.page.get_by_text(REFUSED[lang])).to_be_visible(timeout=SLOW)
    expect(reader.page.get_by_text(FOUND[lang])).to_be_visible(timeout=SLOW)


def test_on_a_phone_nothing_but_the_maps_is_wider_than_the_window(open_app: OpenApp) -> None:
    reader = open_app("/tensors?example=late", viewport=(360, 740))
    reader.rest()
    wide = reader.page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 360
