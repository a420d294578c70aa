"""What can be measured of a page's looks: contrast, and what is wider than the window."""

from __future__ import annotations

import re

from tests.browser.reader import Reader

# What is wider than the window without being in a box of its own.
SIDEWAYS = """() => {
    const whole = [document.documentElement, document.querySelector('[data-testid="stMain"]')];
    const wide = whole.filter(e => e.scrollWidth > innerWidth + 1).map(e => e.tagName + " " + e.scrollWidth);
    const boxes = [...document.querySelectorAll('[data-testid="stMain"] *, [data-testid="stBottom"] *')]
        .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1
            && /auto|scroll/.test(getComputedStyle(e).overflowX)
            && !e.closest('[class*="st-key-block-"], .attnviz-table, [data-testid="stDataFrame"], pre'));
    return [...wide, ...boxes.map(e => (e.dataset.testid || e.className) + " " + e.scrollWidth)];
}"""
# [text, contrast with what it stands on, whether that is a cell] of each text of a figure.
CONTRASTS = """async (gd) => {
    const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = c => [0, 1, 2].map(i => c[i] / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const page = rgb(getComputedStyle(document.querySelector('.stApp')).backgroundColor), found = [];
    for (const layer of gd.querySelectorAll('.heatmaplayer')) {
        for (const picture of layer.querySelectorAll('image')) {
            const image = new Image();
            image.src = picture.getAttribute('href') || picture.getAttribute('xlink:href');
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.width, image.height];
            const pen = canvas.getContext('2d');
            pen.drawImage(image, 0, 0);
            const box = picture.getBoundingClientRect();
            for (const text of picture.parentElement.querySelectorAll('.heatmap-label text')) {
                const at = text.getBoundingClientRect();
                const x = (at.x + at.width / 2 - box.x) / box.width * image.width;
                const y = (at.y + at.height / 2 - box.y) / box.height * image.height;
                const pixel = pen.getImageData(x, y, 1, 1).data;
                const ground = pixel[3] ? pixel : page;
                found.push([text.textContent, contrast(rgb(getComputedStyle(text).fill), ground), true]);
            }
        }
    }
    for (const text of gd.querySelectorAll('text, tspan')) {
        const itself = [...text.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        if (itself && !text.closest('.heatmaplayer') && text.getBoundingClientRect().width)
            found.push([text.textContent, contrast(rgb(getComputedStyle(text).fill), page), false]);
    }
    return found;
}"""


def sideways(reader: Reader) -> list[str]:
    """What scrolls sideways and is neither a block's box nor a table or a program."""
    found: list[str] = reader.page.evaluate(SIDEWAYS)
    return found


def faint(reader: Reader, block: str) -> list[tuple[str, float]]:
    """The texts of a figure that stand out too little.

    4.5 : 1 is asked of text, 3 : 1 of the digits in cells: of dark and light digits Plotly takes the better one for
    each cell, and in the middle of a scale neither does more.
    """
    texts = reader.chart(block).evaluate(CONTRASTS)
    return [(text, round(ratio, 2)) for text, ratio, cell in texts if ratio < (3 if cell else 4.5)]


def brightness(reader: Reader) -> float:
    """The page's ground, from 0 (black) to 255."""
    ground = reader.page.locator(".stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    return sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
