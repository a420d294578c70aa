"""A token is data: whatever it looks like it shows literally; a number reads in a table as Plotly prints it."""

import sys
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.experiment import Experiment
from attnviz.figures import text
from attnviz.figures.text import short
from tests.figures import reading

# A token, and what a reader must see of it.
TOKENS = {
    "<s>": "<s>",
    "</s>": "</s>",
    "<b>": "<b>",
    "&amp;": "&amp;",
    "&": "&",
    "$x$": "$x$",
    "*": "*",
    ":red[x]": ":red[x]",
    "#000001": "#000001",
    "<script>alert(1)</script>": None,
    "\n": "⏎",
    "\t": "⇥",
    " ": "␣",
    "a\tb": "a⇥b",
    "": "∅",
    "\x00": "␀",
    "\x7f": "␡",
    **{token: token for token in ("👩‍🚀", "🇫🇷", "مرحبا", "猫")},
    "\u200b": "U+200B",
    "\u200d": "U+200D",
    "\u202e": "U+202E",
    "a\u202eb": "aU+202Eb",
    "%{z}": "%{z}",
    "`code`": "`code`",
    "<br>": "<br>",
}


class Text(HTMLParser):
    """What Plotly's markup says, and the tags in it."""

    def __init__(self, marked: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.data = ""
        self.feed(marked)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data += data


@pytest.mark.parametrize("token", TOKENS)
def test_a_label_shows_the_token_as_it_is(token: str) -> None:
    read = Text(text.label(token))
    assert read.tags == []
    if (seen := TOKENS[token]) is not None:
        assert read.data == seen
    assert read.data.strip()  # an empty label would collapse the plot
    assert "#" not in text.label(token).replace("&#", "")  # Streamlit rewrites some hexadecimal colours


def test_the_labels_of_a_figure_are_the_tokens() -> None:
    tokens = [t for t in TOKENS if t.split() == [t] and t.isprintable()][:24]
    figure = reading.board(Experiment(" ".join(tokens), "spaces"), "scores")
    labels = [Text(label) for label in reading.axis(figure, "scores", "x")["ticktext"]]
    assert [label.tags for label in labels] == [[]] * len(tokens)
    assert all(TOKENS[token] in (None, label.data) for token, label in zip(tokens, labels, strict=True))


def test_a_very_long_token_is_cut_with_an_ellipsis() -> None:
    label = text.label("Donaudampfschifffahrtsgesellschaft" * 100)
    assert label.endswith("…") and len(label) < 15
    assert text.width(label) <= 72
    assert text.label("猫" * 50).endswith("…")


@given(st.text())
def test_no_text_becomes_markup_and_the_label_is_never_empty(token: str) -> None:
    read = Text(text.html(text.visible(token)))
    assert read.tags == []
    assert read.data == text.visible(token)
    assert text.label(token).strip()


@given(st.text(), st.floats(20, 200))
def test_what_is_cut_fits_and_begins_as_the_whole(token: str, pixels: float) -> None:
    cut = text.cut(token, pixels)
    assert cut == token or (cut.endswith("…") and token.startswith(cut[:-1]))
    assert text.width(cut) <= pixels


def test_every_character_that_cannot_be_seen_is_made_visible() -> None:
    unseen = ("Cc", "Cf", "Zs", "Zl", "Zp")
    bare = [
        f"U+{i:04X}"
        for i in range(sys.maxunicode + 1)
        if unicodedata.category(chr(i)) in unseen
        and all(unicodedata.category(c) in unseen for c in text.visible(chr(i)))
    ]
    assert bare == []


def test_no_character_turns_the_text_beside_it_round() -> None:
    turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    for c in turning:
        assert c not in text.visible(f"a{c}b") and f"U+{ord(c):04X}" in text.visible(f"a{c}b")


@pytest.mark.parametrize(
    ("typed", "escaped"),
    [
        ("*a*", r"\*a\*"),
        ("$x$", r"\$x\$"),
        (":red[x]", r"\:red\[x\]"),
        ("<b>", r"\<b\>"),
        ("a_b", r"a\_b"),
        ("`x`", r"\`x\`"),
        ("#1", r"\#1"),
        ("1.", r"1\."),
        ("猫", "猫"),
        ("\\", "\\\\"),
    ],
)
def test_markdown_escapes_every_sign(typed: str, escaped: str) -> None:
    assert text.markdown(typed) == escaped


def test_markdown_breaks_what_would_become_an_arrow_or_a_dash() -> None:
    for sign in ("->", "<-", "--", "<=", ">=", "<->"):
        assert "\u200b" in text.markdown(sign)
        assert text.markdown(sign).replace("\u200b", "").replace("\\", "") == sign


@pytest.mark.parametrize(
    "address", ["https://a.example", "HTTP://a.example", "www.a.example", "WWW.a.example", "a@b.example"]
)
def test_markdown_makes_no_link_of_an_address(address: str) -> None:
    assert "\u200b" in text.markdown(address)
    assert text.markdown(address).replace("\u200b", "").replace("\\", "") == address


@given(st.text(alphabet=st.characters(codec="ascii", categories=("P", "S", "L", "N")), min_size=1))
def test_markdown_loses_nothing(typed: str) -> None:
    escaped = text.markdown(typed).replace("\u200b", "")
    unescaped = ""
    i = 0
    while i < len(escaped):
        i += escaped[i] == "\\"
        unescaped += escaped[i]
        i += 1
    assert unescaped == typed


# (value, digits) -> what JavaScript's toFixed, and so Plotly, prints, with a true minus.
FIXED = {
    (0.125, 2): "0.13",
    (-0.125, 2): "−0.13",
    (0.375, 2): "0.38",
    (2.5, 0): "3",
    (1.5, 0): "2",
    (-2.5, 0): "−3",
    (0.5, 0): "1",
    (1.005, 2): "1.00",  # the nearest double lies below
    (1.45, 1): "1.4",
    (8.345, 2): "8.35",
    (10.235, 2): "10.23",
    (0.045, 2): "0.04",
    (-0.001, 2): "0.00",
    (-0.0, 2): "0.00",
    (-0.005, 2): "−0.01",
    (0.00001, 4): "0.0000",
    (123456.789, 2): "123456.79",
    (1e20, 2): "100000000000000000000.00",
    (0.10000000149011612, 4): "0.1000",
    (float("inf"), 2): "∞",
    (float("-inf"), 2): "−∞",
    (float("nan"), 2): "NaN",
}


@pytest.mark.parametrize(("value", "digits"), FIXED)
def test_a_number_is_printed_as_plotly_prints_it(value: float, digits: int) -> None:
    assert text.number(value, digits) == FIXED[value, digits]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(0, 6))
def test_every_float32_prints_and_reads_back(value: float, digits: int) -> None:
    printed = text.number(value, digits).replace("−", "-")
    assert abs(float(printed) - value) <= 0.5 * 10**-digits * (1 + 1e-9) + abs(value) * 1e-15


@pytest.mark.parametrize("value", [1e25, 3.4028234663852886e38, -3.4e38])
def test_the_largest_numbers_print(value: float) -> None:
    assert float(text.number(value, 4).replace("−", "-")) == pytest.approx(value)


@pytest.mark.parametrize("room", [3, 4, 5, 6, 9])
def test_a_number_too_long_for_its_place_is_rounded_and_written_by_its_power(room: int) -> None:
    for value in (0.125, -2.5, 99.995, 12345.6, 1.196e7, -9.99e6, 9.5e7, 3.4e38, -3.4e38, 1e-7):
        printed = short(value, room)
        assert len(printed) <= room
        if not printed:
            assert room < len(f"{value:.0e}".replace("+", ""))
        elif "e" in printed:  # to half of the last digit of the mantissa
            mantissa, power = printed.split("e")
            assert 1 <= abs(float(mantissa)) < 10
            assert abs(float(printed) - value) <= 0.5000001 * 10.0 ** (int(power) - len(mantissa.partition(".")[2]))
        else:
            assert abs(float(printed) - value) <= 0.5000001 * 10.0 ** -len(printed.partition(".")[2])
