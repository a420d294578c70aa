"""Where the cells of the painted charts are on screen, for a mouse."""

from __future__ import annotations

import random

from playwright.sync_api import Page

Point = tuple[float, float]

# The picture of a heatmap covers its cells from edge to edge. A cell counts where the chart itself is on top there.
ON_TOP = """([block, x, y]) => {
  const top = document.elementFromPoint(x, y);
  return top !== null && top.closest(bench.at.block.replace("{}", block)) !== null;
}"""
SCROLL = """block => document.querySelector(bench.at.block.replace("{}", block))
  .scrollIntoView({ block: "center", behavior: "instant" })"""
RAISE = "y => document.querySelector(bench.at.scroller).scrollBy(0, Math.round(y - 0.35 * innerHeight))"
PANELS = """block => [...document.querySelectorAll(bench.at.block.replace("{}", block) + " " + bench.at.image)]
  .map((image) => { const r = image.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })"""
# By the name of its trace, and by the axes that the trace names.
PANEL = """([block, name]) => {
  const gd = document.querySelector(bench.at.block.replace("{}", block) + " " + bench.at.chart);
  const trace = gd.data.find((t) => t.type === "heatmap" && t.name === name);
  const plot = gd.querySelector(".subplot." + (trace.xaxis || "x") + (trace.yaxis || "y"));
  const r = plot.querySelector(bench.at.image).getBoundingClientRect();
  return [r.x, r.y, r.width, r.height];
}"""


def some_points(page: Page, block: str, n: int, draw: random.Random) -> list[Point]:
    """Return n points on cells of a block, no two in one panel after the other; the block is scrolled into sight."""
    page.evaluate(SCROLL, block)
    panels = page.evaluate(PANELS, block)
    points: list[Point] = []
    for i in range(20 * n):
        x, y, width, height = panels[i % len(panels)]
        point = (x + width * draw.uniform(0.02, 0.98), y + height * draw.uniform(0.02, 0.98))
        if len(points) < n and page.evaluate(ON_TOP, [block, *point]):
            points.append(point)
    return points


def cell_point(page: Page, block: str, name: str, cell: tuple[int, int], size: tuple[int, int]) -> Point:
    """Return the middle of a cell of a panel of `size` rows and columns, scrolled into sight.

    Raises LookupError when something lies over it.
    """
    page.evaluate(SCROLL, block)
    for _ in range(2):  # again after the scroll that brings it above what is docked at the bottom
        x, y, width, height = page.evaluate(PANEL, [block, name])
        point = (x + width * (cell[1] + 0.5) / size[1], y + height * (cell[0] + 0.5) / size[0])
        page.evaluate(RAISE, point[1])
    if not page.evaluate(ON_TOP, [block, *point]):
        raise LookupError(f"cell {cell} of {name} must be in sight, but something lies over {point}")
    return point
