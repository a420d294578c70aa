"""The configuration of Streamlit: every option is known to it, and the theme is legible."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from streamlit import config

from attnviz.limits import FILE_BYTES

CONFIG = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
LETTER_COLOURS = ("orange", "blue", "gray", "violet", "green", "yellow", "red")


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the options of a nested table under their dotted names."""
    options: dict[str, Any] = {}
    for name, value in table.items():
        options |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return options


def luminance(colour: str) -> float:
    """Return the relative luminance of '#rrggbb' as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Return the WCAG contrast ratio of two colours: 1 (equal) to 21 (black on white)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_knows_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("option", sorted(flat(CONFIG)))
def test_streamlit_knows_the_option(option: str) -> None:
    known = config.get_config_options()
    assert option in known


def test_nothing_leaves_the_machine_and_no_traceback_is_shown() -> None:
    options = flat(CONFIG)
    assert options["browser.gatherUsageStats"] is False
    assert options["client.showErrorDetails"] == "none"
    assert options.pop("client.allowedOrigins") == ["https://*.streamlit.app"]  # only ever compared with
    assert "http" not in str(options)


def test_what_foreign_pages_could_use_is_shut() -> None:
    options = flat(CONFIG)
    assert options["server.enableXsrfProtection"] and options["server.enableCORS"]
    assert not options["server.enableStaticServing"] and not options["server.enableAgentApi"]
    assert options["server.address"] == "127.0.0.1"
    assert options["server.maxUploadSize"] == FILE_BYTES // 2**20 and options["server.maxMessageSize"] <= 50


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
def test_text_and_letters_are_legible(theme: str, ground: str) -> None:
    colours = CONFIG["theme"][theme]
    assert contrast(colours["textColor"], colours[ground]) > 12
    for name in ["primaryColor", *(f"{letter}TextColor" for letter in LETTER_COLOURS)]:
        assert contrast(colours[name], colours[ground]) >= 4.5, name
    for letter in LETTER_COLOURS:
        assert colours[f"{letter}Color"] == colours[f"{letter}TextColor"]
