"""The one home of colour: a hue for each index letter, a scale for signed values and one for weights, two themes.

Signed values diverge from the middle of the page's own tone, red above zero and blue below (safe for the common
kinds of colour blindness); weights run through one purple from nothing to 1.
"""

from __future__ import annotations

from typing import NamedTuple

Scale = list[tuple[float, str]]


class Theme(NamedTuple):
    """The colours of one theme."""

    name: str
    ink: str  # words
    quiet: str  # words that may stand back
    edge: str  # the frame of a panel
    hole: str  # the ground of a cell that is -inf or NaN
    letters: dict[str, str]  # index letter (and "x" for what has none) -> hue
    signed: Scale
    share: Scale


LIGHT = Theme(
    name="light",
    ink="#1f2430",
    quiet="#5d6470",
    edge="#c9cdd6",
    hole="#e4e6eb",
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
        (0.15, "#2f7ebc"),
        (0.3, "#7db7da"),
        (0.42, "#cfe3ef"),
        (0.5, "#f7f7f7"),
        (0.58, "#fbdcc9"),
        (0.7, "#f0a184"),
        (0.85, "#cf5246"),
        (1.0, "#971a2c"),
    ],
    share=[
        (0.0, "#fbfafd"),
        (0.15, "#e6e2f1"),
        (0.35, "#bdb8dc"),
        (0.6, "#877fbd"),
        (0.8, "#61409b"),
        (1.0, "#3b0f70"),
    ],
)

DARK = Theme(
    name="dark",
    ink="#e8eaf0",
    quiet="#a5acba",
    edge="#454b58",
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
        (0.0, "#8cc8ff"),
        (0.15, "#4f97dc"),
        (0.3, "#2f6299"),
        (0.42, "#25394f"),
        (0.5, "#22252d"),
        (0.58, "#4a2e2c"),
        (0.7, "#93423a"),
        (0.85, "#df6a56"),
        (1.0, "#ffa58e"),
    ],
    share=[
        (0.0, "#1d1c26"),
        (0.15, "#302a4d"),
        (0.35, "#4f4287"),
        (0.6, "#7d6cc4"),
        (0.8, "#ab9bea"),
        (1.0, "#ddd3ff"),
    ],
)


def theme(name: str | None) -> Theme:
    """Return the dark theme for "dark", the light one otherwise."""
    return DARK if name == "dark" else LIGHT
