"""The one home of colour: a hue for each index letter, a scale for signed values and one for weights, two themes.

Signed values diverge from the middle of the page's own tone, red above zero and blue below (safe for the common
kinds of colour blindness); weights run through one purple from nothing to 1. The light scales pass quickly through
the middle tones, on which neither dark nor light digits read well; the dark ones stay dark enough for white digits.
"""

from __future__ import annotations

from typing import NamedTuple

Scale = list[tuple[float, str]]


class Theme(NamedTuple):
    """The colours of one theme."""

    name: str
    ink: str  # words
    quiet: str  # words that may stand back
    hole: str  # the ground of a cell that is -inf or NaN
    letters: dict[str, str]  # index letter (and "x" for what has none) -> hue
    signed: Scale
    share: Scale
    digits: str | None  # of the numbers in cells; None lets Plotly take dark or light against each cell


LIGHT = Theme(
    name="light",
    ink="#1f2430",
    quiet="#545b67",
    hole="#d5d7db",
    letters={
        "s": "#b3541e",
        "u": "#1f5fa8",
        "m": "#6b6b6b",
        "k": "#7a3fa0",
        "d": "#1d7a4b",
        "b": "#8a6d00",
        "h": "#a3195b",
    },
    signed=[
        (0.0, "#134b87"),
        (0.15, "#2c74b3"),
        (0.26, "#86bde0"),
        (0.38, "#cfe3ef"),
        (0.5, "#f7f7f7"),
        (0.62, "#fbdcc9"),
        (0.74, "#f2ac91"),
        (0.85, "#c4473d"),
        (1.0, "#971a2c"),
    ],
    share=[
        (0.0, "#fbfafd"),
        (0.2, "#e2def0"),
        (0.45, "#bab4de"),
        (0.62, "#6f5eb0"),
        (0.8, "#5a3899"),
        (1.0, "#3b0f70"),
    ],
    digits=None,
)

DARK = Theme(
    name="dark",
    ink="#e8eaf0",
    quiet="#a5acba",
    hole="#3a3f4b",
    letters={
        "s": "#f0a16b",
        "u": "#7db4f0",
        "m": "#b0b0b0",
        "k": "#c79be8",
        "d": "#6fcf9b",
        "b": "#d9b84a",
        "h": "#f08cb8",
    },
    signed=[
        (0.0, "#2777cf"),
        (0.15, "#2765ae"),
        (0.3, "#25507f"),
        (0.42, "#23364b"),
        (0.5, "#22252d"),
        (0.58, "#432a2b"),
        (0.7, "#7b3431"),
        (0.85, "#a93b35"),
        (1.0, "#cf4138"),
    ],
    share=[
        (0.0, "#1d1c26"),
        (0.2, "#322b52"),
        (0.5, "#50408f"),
        (0.8, "#6751bd"),
        (1.0, "#7c62e2"),
    ],
    digits="#ffffff",
)


def theme(name: str | None) -> Theme:
    """Return the dark theme for "dark", the light one otherwise."""
    return DARK if name == "dark" else LIGHT
