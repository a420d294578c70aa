"""Colours: digits read on every cell, letters have one hue everywhere, and nothing depends on red and green alone."""

import itertools
import tomllib
from pathlib import Path

import pytest

from attnviz.experiment import Experiment
from attnviz.figures.colours import DARK, LIGHT, Scale, Theme, theme
from tests.figures import reading

CONFIG = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
HUES = {"s": "orange", "u": "blue", "m": "gray", "k": "violet", "d": "green", "b": "yellow", "h": "red"}
RGB = tuple[float, float, float]


def rgb(colour: str) -> RGB:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def at(scale: Scale, place: float) -> RGB:
    """The colour that Plotly shows at `place`: straight between two stops."""
    for (low, first), (high, second) in itertools.pairwise(scale):
        if place <= high:
            part = (place - low) / (high - low)
            a, b = rgb(first), rgb(second)
            return (a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]), a[2] + part * (b[2] - a[2]))
    raise AssertionError(place)


def luminance(colour: RGB) -> float:
    """Relative luminance as WCAG 2 defines it."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(first: RGB, second: RGB) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def digits_on(ground: RGB) -> RGB:
    """The colour that Plotly takes for digits without one: #fff below a brightness of 128, else #444."""
    brightness = (299 * ground[0] + 587 * ground[1] + 114 * ground[2]) / 1000
    return rgb("#ffffff") if brightness < 128 else rgb("#444444")


PLACES = [i / 200 for i in range(201)]


@pytest.mark.parametrize("name", ["signed", "share"])
def test_white_digits_read_on_every_colour_of_a_dark_scale(name: str) -> None:
    assert DARK.digits == "#ffffff"
    scale: Scale = getattr(DARK, name)
    assert min(contrast(at(scale, place), rgb(DARK.digits)) for place in PLACES) >= 3


@pytest.mark.parametrize("name", ["signed", "share"])
def test_plotlys_digits_read_on_the_light_scales_but_for_a_quick_middle(name: str) -> None:
    assert LIGHT.digits is None  # Plotly takes dark or light against each cell
    scale: Scale = getattr(LIGHT, name)
    for _, stop in scale:
        assert contrast(rgb(stop), digits_on(rgb(stop))) >= 3, stop
    faint = [place for place in PLACES if contrast(at(scale, place), digits_on(at(scale, place))) < 3]
    assert len(faint) <= 0.08 * len(PLACES), faint


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_zero_has_the_tone_of_the_page_and_the_ends_stand_out(colours: Theme) -> None:
    page = rgb(CONFIG["theme"][colours.name]["backgroundColor"])
    for scale, zero in ((colours.signed, 0.5), (colours.share, 0.0)):
        assert [place for place, _ in scale] == sorted({place for place, _ in scale})
        assert (scale[0][0], scale[-1][0]) == (0.0, 1.0)
        assert contrast(at(scale, zero), page) < 1.3
        for end in {0.0, 1.0} - {zero}:
            assert contrast(at(scale, end), page) > 3


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_more_is_always_further_from_the_page(colours: Theme) -> None:
    def steady(places: list[float], scale: Scale) -> bool:
        values = [luminance(at(scale, place)) for place in places]
        return values in (sorted(values), sorted(values, reverse=True))

    assert steady(PLACES, colours.share)
    assert steady(PLACES[100:], colours.signed) and steady(PLACES[:101], colours.signed)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_a_letter_has_the_hue_that_markdown_gives_it(colours: Theme) -> None:
    for letter, name in HUES.items():
        assert colours.letters[letter] == CONFIG["theme"][colours.name][f"{name}Color"]


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_words_in_a_figure_read_on_the_page(colours: Theme) -> None:
    page = rgb(CONFIG["theme"][colours.name]["backgroundColor"])
    for colour in (colours.ink, colours.quiet, *colours.letters.values()):
        assert contrast(rgb(colour), page) >= 4.5, colour
    assert contrast(rgb(colours.quiet), rgb(colours.hole)) >= 4.5  # the −∞ in its cell


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_a_cell_without_a_number_looks_like_no_number(colours: Theme) -> None:
    # The ground of -inf and NaN is grey, and no signed value has that grey.
    hole = rgb(colours.hole)
    assert max(hole) - min(hole) < 20
    for place in PLACES:
        assert max(abs(a - b) for a, b in zip(at(colours.signed, place), hole, strict=True)) > 5, place


def test_the_theme_of_a_browser_that_says_nothing_is_light() -> None:
    assert theme("dark") is DARK and theme("light") is LIGHT and theme(None) is LIGHT


@pytest.mark.parametrize("of", [LIGHT, DARK], ids=["light", "dark"])
def test_the_corner_of_a_typed_cell_stands_out_on_every_colour(of: Theme) -> None:
    figure = reading.board(Experiment("the cat sat").with_cell("x", (0, 1, 2), 4), "projections", theme=of)
    (marker,) = [trace["marker"] for trace in figure["data"] if trace["name"] == "edited"]
    assert marker["line"]["width"] >= 1
    for place in range(101):
        ground = at(of.signed, place / 100)
        assert max(contrast(rgb(c), ground) for c in (marker["color"], marker["line"]["color"])) >= 3, place
