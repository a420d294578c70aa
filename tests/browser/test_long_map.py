"""The map of a long text in a browser: it names the tokens under the pointer, and a drag leads to exact weights."""

import re

import numpy as np
import torch
from playwright.sync_api import Page, expect

from attnviz.limits import POOLED_CELLS
from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader

N = 700
WORDS = [f"w{i % 89}" for i in range(N)]
MAP = ".st-key-maps-whole .js-plotly-plot"
# The middle of a token's cell in the window, and what the map shows: its ranges, its weights, its outlines.
POINT = """([map, s, u]) => {
    const gd = document.querySelector(map), {xaxis: x, yaxis: y} = gd._fullLayout, box = gd.getBoundingClientRect();
    return [box.x + x._offset + x.d2p(u), box.y + y._offset + y.d2p(s)];
}"""
SHOWN = """map => {
    const gd = document.querySelector(map);
    const own = gd._fullData.find(t => t.name === "pooled" && t.xaxis === "x");
    return [gd._fullLayout.yaxis.range.map(Number), gd._fullLayout.xaxis.range.map(Number),
        own.customdata && own.customdata.map(row => Array.from(row))];
}"""
BANDS = """map => [...document.querySelectorAll(map + " .attnviz-linked rect")].map(r => {
    const gd = document.querySelector(map), {xaxis: x, yaxis: y} = gd._fullLayout;
    const at = name => Number(r.getAttribute(name));
    return [y.p2d(at("y") - y._offset), y.p2d(at("y") + at("height") - y._offset), x.p2d(at("x") - x._offset),
        x.p2d(at("x") + at("width") - x._offset)].map(v => Math.round(v * 2) / 2);
})"""


def point(page: Page, s: float, u: float) -> tuple[float, float]:
    x, y = page.evaluate(POINT, [MAP, s, u])
    return x, y


def hover(reader: Reader, s: float, u: float) -> list[str]:
    """What the tooltip says of the tokens under the pointer, line by line."""
    reader.page.mouse.move(*point(reader.page, s + 3, u + 3))
    reader.page.mouse.move(*point(reader.page, s, u))
    reader.page.wait_for_timeout(150)  # Plotly looks at most every 50 ms
    return reader.tooltip().splitlines()


def pair(said: str) -> tuple[int, int]:
    """The two tokens that a line of the tooltip names, which their words must be: the first, and the end."""
    found = re.fullmatch(r"[su]=([0-9]+)–([0-9]+) “(w[0-9]+) (w[0-9]+)”", said)
    assert found is not None, said
    first, last = int(found[1]) - 1, int(found[2]) - 1
    assert last == first + 1 and [found[3], found[4]] == WORDS[first : last + 1]
    return first, last + 1


def weights(reader: Reader) -> torch.Tensor:
    """The whole matrix, (s, u), by the plain formula."""
    run = reader.state()[0].run()
    scores = (run.x[0] @ run.w_q) @ (run.x[0] @ run.w_k).T * run.scale
    return torch.softmax(scores.masked_fill(~torch.ones(N, N).tril().bool(), -torch.inf), -1)


def test_a_hover_names_its_tokens_and_a_drag_leads_to_exact_weights(open_app: OpenApp) -> None:
    assert N > POOLED_CELLS  # so that a cell is two tokens
    reader = open_app("/?mask=causal&text=" + "+".join(WORDS), viewport=(1440, 1300))
    page, a = reader.page, weights(reader)
    page.locator(MAP).scroll_into_view_if_needed()
    value, *named = hover(reader, 400, 100)
    rows, cols = (pair(said) for said in named)
    assert abs(rows[0] - 400) < 3 and abs(cols[0] - 100) < 3  # a cell is one pixel and a half
    found = re.search(r"[≈≤] ([0-9.]+)$", value)
    assert found is not None
    unit = 10.0 ** -len(found[1].partition(".")[2])  # of the last digit
    assert abs(float(found[1]) - float(a[slice(*rows), slice(*cols)].max())) <= unit
    assert [rows[0] - 0.5, rows[1] - 0.5] in [band[:2] for band in page.evaluate(BANDS, MAP)]

    page.mouse.move(*point(page, 400, 100))
    page.mouse.down()
    page.mouse.move(*point(page, 430, 130), steps=4)
    page.mouse.move(*point(page, 440, 140))
    page.mouse.up()
    page.wait_for_timeout(300)  # a zoom is sent once it has been still for 150 ms
    reader.rest()
    rows, columns, shown = page.evaluate(SHOWN, MAP)
    s0, s1, u0, u1 = (round(edge + 0.5) for edge in (*reversed(rows), *columns))
    assert abs(s0 - 400) < 3 and abs(s1 - 440) < 3 and abs(u0 - 100) < 3 and abs(u1 - 140) < 3
    np.testing.assert_allclose(shown, a[s0:s1, u0:u1], rtol=1e-4, atol=1e-9)
    lab = reader.state()[1].lab
    assert (lab.map_s, lab.map_s_end, lab.map_u, lab.map_u_end) == (s0, s1, u0, u1)

    value, s, u = hover(reader, 420, 120)
    assert (s, u) == ("s=421 “w64”", "u=121 “w31”")
    np.testing.assert_allclose(float(value.split()[-1]), a[420, 120], rtol=1e-4)
    page.mouse.click(*point(page, 420, 120))
    reader.until(lambda: reader.state()[1].s == 420)
    assert (reader.state()[1].s, reader.state()[1].u) == (420, 120)
    assert [419.5, 420.5, 119.5, 120.5] in page.evaluate(BANDS, MAP)  # the chosen cell is outlined

    reader.button("Show the whole").first.click()
    expect(page.get_by_text("Whole text: 700 queries × 700 keys")).to_be_visible()
    assert "map_" not in reader.rest().link()
