"""Zoom: one drag zooms every panel of a block, digits appear where they fit, and a change of numbers keeps it."""

from tests.browser.conftest import OpenApp
from tests.browser.reader import Reader

TEXT = "+".join(f"w{i}" for i in range(20))
RANGES = """(gd, name) => {
    const trace = gd._fullData.find(t => t.type === "heatmap" && t.name === name), at = letter =>
        gd._fullLayout[letter + "axis" + trace.xaxis.slice(1)].range.map(Number);
    return [at("x"), at("y")];
}"""
DIGITS = """(gd, name) => gd._fullData.find(t => t.type === "heatmap" && t.name === name).texttemplate || "" """


def ranges(reader: Reader, name: str) -> list[list[float]]:
    found: list[list[float]] = reader.chart("scores").evaluate(RANGES, name)
    return found


def drag(reader: Reader, name: str, first: tuple[int, int], last: tuple[int, int]) -> None:
    """Zoom in on the cells from `first` to `last` with Plotly's own button."""
    reader.chart("scores").hover()
    reader.block("scores").locator('.modebar-btn[data-title="Zoom"]').click()
    x0, y0 = reader.point("scores", name, *first)
    box = reader.cell("scores", name, *last)
    reader.page.mouse.move(x0, y0)
    reader.page.mouse.down()
    reader.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, steps=6)
    reader.page.mouse.up()
    reader.page.wait_for_timeout(400)  # a zoom is sent once it has been still for 150 ms
    reader.rest()


def test_a_drag_zooms_the_block_and_survives_a_change(open_app: OpenApp) -> None:
    reader = open_app(f"/scores?mask=causal&text={TEXT}")
    assert reader.chart("scores").evaluate(DIGITS, "weights") == ""
    drag(reader, "masked", (2, 1), (7, 6))
    zoomed = [[0.5, 6.5], [7.5, 1.5]]
    for name in ("scores", "masked", "weights"):  # the axes are one and the same
        assert ranges(reader, name) == zoomed, name
    assert ranges(reader, "query")[1] == zoomed[1]
    assert reader.chart("scores").evaluate(DIGITS, "weights") == "%{z:.2f}"

    reader.page.locator(".st-key-temperature, .st-key-n_heads").first.get_by_role(
        "button"
    ).last.click()  # one head more
    reader.rest()
    assert ranges(reader, "weights") == zoomed

    reader.page.get_by_role("button", name="Show the whole").click()
    reader.rest()
    assert ranges(reader, "weights") == [[-0.5, 19.5], [19.5, -0.5]]
    assert reader.chart("scores").evaluate(DIGITS, "weights") == ""
