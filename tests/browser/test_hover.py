"""The linked hover: outlines in every panel where its row and its column are, and a tooltip that tells the truth."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from attnviz.figures.panels import AXES
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.figure import ALL_PANELS, BLOCKS
from tests.browser.reader import Reader

PINS = """gd => gd._fullData.filter(t => t.type === "heatmap" && t.name !== "−∞").map(t => {
    const X = gd._fullLayout["xaxis" + t.xaxis.slice(1)], Y = gd._fullLayout["yaxis" + t.yaxis.slice(1)];
    const box = gd.getBoundingClientRect(), d = a => [a._offset, a._length, a.d2p(-0.5), a.d2p(0), a.d2p(1)];
    return [t.name, t.z.length, t.z[0].length, box.x, box.y, d(X), d(Y)];
})"""


def test_what_linked_js_reads_of_plotly_says_where_the_cells_are(reader: Reader) -> None:
    for block in BLOCKS:
        for name, rows, columns, x, y, across, down in reader.chart(block).evaluate(PINS):
            first = reader.cell(block, name, 0, 0)
            assert [across[1], down[1]] == pytest.approx([first.width * columns, first.height * rows], abs=0.5)
            assert [x + across[0] + across[2], y + down[0] + down[2]] == pytest.approx([first.x, first.y], abs=0.5)
            middle = [first.x + first.width / 2, first.y + first.height / 2]
            assert [x + across[0] + across[3], y + down[0] + down[3]] == pytest.approx(middle, abs=0.5)
            if columns > 1:
                assert across[4] - across[3] == pytest.approx(first.width, abs=0.5)
            assert down[4] - down[3] == pytest.approx(first.height, abs=0.5)


def test_hovering_outlines_the_row_and_the_column_in_every_panel(open_app: OpenApp) -> None:
    reader = open_app("/?text=the+cat+sat+on+it&step=scores&s=3&u=1")
    for block, name, row, col in (
        ("scores", "weights", 1, 2),
        ("scores", "key_t", 0, 4),
        ("projections", "x", 3, 7),
        ("projections", "w_k", 2, 1),
        ("output", "output", 2, 3),
        ("scores", "row_sums", 4, 0),
    ):
        reader.hover(block, name, row, col)
        hovered = {letter: i for letter, i in zip(AXES[name], (row, col), strict=True) if letter}
        for where in BLOCKS:
            found, right = reader.outlines(where), expected.outlines(reader, where, hovered, ("scores", 3, 1))
            assert expected.same_boxes(found, right), (block, name, where, found, right)
    reader.page.mouse.move(5, 5)
    expect(reader.page.locator(".attnviz-tip:visible")).to_have_count(0)
    assert [len(reader.outlines(block)) for block in BLOCKS] == [0, 1, 0]  # the chosen score alone


def test_outlines_of_a_token_have_its_letters_hue_everywhere(reader: Reader) -> None:
    reader.hover("scores", "weights", 1, 2)
    rows, columns = reader.outlines("output")[0], reader.outlines("output")[1]
    assert rows.width > rows.height and columns.height > columns.width
    hues = {box.colour for block in BLOCKS for box in reader.outlines(block)}
    assert rows.colour != columns.colour and len(hues) == 3  # s, u, and the chosen cell


def test_the_tooltip_tells_the_exact_value_and_the_tokens_as_they_are(open_app: OpenApp) -> None:
    tokens = ["</s>", "🙂", "我们", "<b>x</b>", "&amp;", "#000001"]
    reader = open_app(f"/?text={quote(' '.join(tokens))}&tokenizer=spaces&mask=causal")
    run = reader.state()[0].run()
    for block, name in ALL_PANELS:
        right = expected.tensor(run, name)
        row, col = 2, min(1, right.shape[1] - 1)
        tip = reader.hover(block, name, row, col).tooltip()
        value, where = tip.split("\n")
        shown = float(value.split()[-1].replace("−", "-"))
        assert shown == pytest.approx(right[row, col].item(), rel=5e-6), (block, name, tip)
        for letter, i in zip(AXES[name], (row, col), strict=True):
            if letter in ("s", "u"):
                assert f"{letter}={i + 1} “{tokens[i]}”" in where, (block, name, tip)
    for i, token in enumerate(tokens):
        tip = reader.hover("scores", "weights", len(tokens) - 1, i).tooltip()
        assert f"u={i + 1} “{token}”" in tip and "s=6 “#000001”" in tip, tip
    assert "−∞" in reader.hover("scores", "masked", 0, 4).tooltip()
    assert reader.ticks("scores", "weights", "x") == tokens


def test_a_window_of_a_long_text_names_and_outlines_the_tokens_it_shows(open_app: OpenApp) -> None:
    words = [f"w{i}" for i in range(40)]
    reader = open_app(f"/?text={'+'.join(words)}&from_s=10&from_u=5&d_model=4", viewport=(1440, 1400))
    weights = expected.tensor(reader.state()[0].run(), "weights")
    tip = reader.hover("scores", "weights", 3, 20).tooltip()
    assert "s=14 “w13”" in tip and "u=26 “w25”" in tip
    shown = float(tip.split("\n")[0].split()[-1])
    assert shown == pytest.approx(weights[13, 25].item(), rel=5e-6)
    right = expected.outlines(reader, "scores", {"s": 3, "u": 20}, None)
    assert expected.same_boxes(reader.outlines("scores"), right)
    reader.click("scores", "weights", 3, 20)
    view = reader.state()[1]
    assert (view.step, view.s, view.u) == ("weights", 13, 25)


def test_every_corner_of_every_panel_answers_to_that_panel(reader: Reader) -> None:
    # Plotly lays handles for dragging axes around a panel; one over its neighbour would swallow clicks there.
    under = """([x, y]) => document.elementFromPoint(x, y)?.closest(".nsewdrag")?.dataset.subplot"""
    for block, name in ALL_PANELS:
        frame, found = reader.frames(block)[name], set()
        for row, col in ((0, 0), (frame.rows - 1, frame.columns - 1)):
            reader.point(block, name, row, col)  # brings it into sight
            box = reader.cell(block, name, row, col)
            for x in (box.x + 2, box.x + box.width - 3):
                found |= {reader.page.evaluate(under, [x, y]) for y in (box.y + 2, box.y + box.height - 3)}
        assert len(found) == 1 and None not in found, (block, name, found)
