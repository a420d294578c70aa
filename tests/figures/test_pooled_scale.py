"""A byte of a pooled map and the weights that it stands for; the bar shows true weights, which never touch."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.figures.colours import DARK, LIGHT, Theme
from attnviz.figures.pooled_scale import (
    KINDS,
    LAST,
    LINEAR_MOST,
    MARK,
    bar_ticks,
    choose,
    colours,
    edges,
    encode,
    row_tops,
    scale_of,
)
from attnviz.figures.text import width

BAR = 320.0
SHARES = st.floats(0, 1, width=32) | st.floats(0, 2**-13, width=32) | st.just(0.0)
MAPS = arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=SHARES)


@pytest.mark.parametrize("kind", KINDS)
@given(values=MAPS)
def test_a_byte_stands_for_a_range_that_holds_its_weight(kind: str, values: np.ndarray) -> None:
    scale = scale_of(kind, values)
    codes, bounds = encode(values, scale), np.array(edges(scale))
    tops = row_tops(values) if kind == "rows" else np.ones(len(values))
    assert len(bounds) == LAST + 1 and (np.diff(bounds) >= 0).all()
    for (i, j), weight in np.ndenumerate(values.astype(np.float64)):
        code = int(codes[i, j])
        assert (code == 0) == (weight == 0)
        if code:
            low, high = bounds[code - 1 : code + 1] * tops[i]
            assert low * (1 - 1e-5) <= weight <= high * (1 + 1e-5)


@pytest.mark.parametrize("kind", KINDS)
@given(values=MAPS)
def test_a_larger_weight_of_a_row_has_no_smaller_byte(kind: str, values: np.ndarray) -> None:
    codes = encode(values, scale_of(kind, values)).astype(int)
    order = np.argsort(values, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(codes, order, 1), axis=1) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_share_is_marked_and_disturbs_no_other(kind: str) -> None:
    good = np.array([[0.5, 0.25, 0.0, 0.125]], dtype=np.float32)
    bad = np.array([[0.5, np.nan, -0.1, np.inf, 0.25, 0.0, 0.125]], dtype=np.float32)
    codes = encode(bad, scale_of(kind, bad))[0]
    assert codes[1:4].tolist() == [MARK] * 3
    assert codes[[0, 4, 5, 6]].tolist() == encode(good, scale_of(kind, good))[0].tolist()


def test_a_linear_scale_hides_what_the_others_show() -> None:
    """Of a uniform map of 4,096 keys with one large weight, a linear scale makes all the rest its least byte."""
    values = np.full((4, 64), 1 / 4096, dtype=np.float32)
    values[0, 0] = 1
    codes = {kind: encode(values, scale_of(kind, values)) for kind in KINDS}
    assert codes["linear"][1, 1] == 1 < codes["sqrt"][1, 1] < codes["log"][1, 1]
    assert codes["rows"][1, 1] == LAST and codes["rows"][0, 1] == 1


def test_weights_above_one_have_their_colour_too() -> None:
    values = np.array([[2.5, 1.0]], dtype=np.float32)
    scale = scale_of("linear", values)
    assert scale.top == 2.5 and encode(values, scale)[0, 0] == LAST and edges(scale)[-1] == 2.5


def test_the_default_follows_the_length_of_a_row() -> None:
    assert (choose("auto", LINEAR_MOST), choose("auto", LINEAR_MOST + 1)) == ("linear", "rows")
    assert [choose(kind, 5) for kind in KINDS] == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("largest", [1.0, 0.37, 0.0021, 3.3e-6])
def test_the_bar_shows_true_weights_where_their_colours_stand(kind: str, largest: float) -> None:
    values = np.geomspace(largest / 1000, largest, 50, dtype=np.float32).reshape(5, 10)
    scale = scale_of(kind, values)
    at, texts = bar_ticks(scale, BAR)
    assert len(at) == len(texts) >= 3
    for byte, text in zip(at, texts, strict=True):
        weight = float(text.rstrip("%")) / 100 if "%" in text else float(text.replace("−", "-"))
        if weight > 0:
            assert abs(1 + float(scale.way(np.array([weight]))[0]) * (LAST - 1) - byte) < 0.01, text
    boxes = sorted(
        (byte / LAST * BAR - width(text) / 2, byte / LAST * BAR + width(text) / 2)
        for byte, text in zip(at, texts, strict=True)
    )
    assert all(left[1] < right[0] for left, right in itertools.pairwise(boxes)), texts


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_mark_has_a_colour_of_its_own_where_there_is_one(theme: Theme) -> None:
    plain, marked = colours(theme, False), colours(theme, True)
    assert (plain["cmax"], marked["cmax"]) == (LAST, MARK)
    assert theme.hole in [colour for _at, colour in marked["colorscale"]]
    for found in (plain, marked):
        places = [at for at, _colour in found["colorscale"]]
        assert places == sorted(places) and (places[0], places[-1]) == (0, 1)
