"""Of all heads, those are shown whose statistic lies within the reader's limits."""

import math
from typing import Any

import pytest
import torch

from attnviz.figures.tiles import TOP
from attnviz.models import registry
from attnviz.models.heads import overview, ranked
from tests.pages.trained import Reading, needs_minilm

TEXT = "the cat sat on the mat"
LIMITS = "limits_of_heads"


def statistics(text: str = TEXT) -> dict[str, torch.Tensor]:
    return overview(registry.read("minilm", text).part("encoder")).statistics


def tile(session: Reading) -> dict[str, Any]:
    """What the browser's side knows of the tiles."""
    (found,) = [p["tile"] for chart in session.bridge["charts"] for p in chart["panels"] if "tile" in p]
    return dict(found)


def called(heads: list[tuple[int, int]]) -> list[str]:
    return [f"layer {layer + 1}, head {head + 1}" for layer, head in heads]


def within(found: torch.Tensor, low: float, high: float) -> list[tuple[int, int]]:
    return [divmod(i, 12) for i in range(72) if low <= float(found.flatten()[i]) <= high]


@needs_minilm
def test_many_heads_that_are_left_keep_their_places() -> None:
    """The others are gaps that a click does not open; how many are shown is said, and the link has the limits."""
    found = statistics()["previous"]
    session = Reading(model="minilm", text=TEXT)
    assert "heads are shown" not in session.words()
    session.set(LIMITS, (0.05, 1.0))
    left = within(found, 0.05, 1.0)
    assert 24 < len(left) < 72
    names = tile(session)["called"]
    assert [name for name in names if name] == called(left) and len(names) == 72
    assert names[0] == ("layer 1, head 1" if (0, 0) in left else "")
    assert f"{len(left)} of 72 heads are shown." in session.words()
    lab = session.linked[1].lab
    assert (lab.least, lab.most) == (0.05, 32_768.0)
    down, right = tile(session)["step"]
    bytes_ = session.maps()["tiles"]
    for layer, head in ((layer, head) for layer in range(6) for head in range(12)):
        one = bytes_[layer * down + 1 : (layer + 1) * down, head * right + 1 : (head + 1) * right]
        assert (one.max() <= TOP) == ((layer, head) in left)
    gone = next(i for i in range(1, 72) if divmod(i, 12) not in left)
    before = session.link
    session.click("tiles", gone // 12 * down + 2, gone % 12 * right + 2)
    assert session.link == before


@needs_minilm
def test_few_heads_that_are_left_stand_side_by_side_with_their_names() -> None:
    """In the order of the model, or the highest first; a click opens the one that is there."""
    found = statistics()["previous"]
    session = Reading(model="minilm", text=TEXT, least="0.2")
    left = within(found, 0.2, 1.0)
    assert 1 < len(left) <= 24 and tile(session)["called"] == called(left)
    titles = [note["text"] for note in session.charts()["maps-tiles"]["layout"]["annotations"]]
    assert [title.split()[0] for title in titles] == [f"{layer + 1}.{head + 1}" for layer, head in left]
    session.set("ranked", True)
    assert tile(session)["called"] == called(ranked(found)[: len(left)])
    session.click("tiles", tile(session)["gap"] + 1, tile(session)["step"][1] + 2)
    assert (session.linked[1].lab.layer, session.linked[1].lab.head) == ranked(found)[1]
    session.set(LIMITS, (0.0, 0.12))
    low = within(found, 0.0, 0.12)
    assert len(low) > 24 and f"The 24 highest of {len(low)} heads are shown." in session.words()
    assert tile(session)["called"] == called([head for head in ranked(found) if head in low][:24])


@needs_minilm
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_where_no_head_is_left_one_sentence_says_what_there_is(lang: str) -> None:
    """The table and the numbers of all heads stay, and a button shows all again."""
    session = Reading(model="minilm", text="the cat sat", statistic="induction", least="0.5", lang=lang)
    assert session.sound()
    (said,) = session.said()
    assert "72" in said and "0.0000" in said
    assert set(session.charts()) >= {"maps-statistic"} and "maps-tiles" not in session.charts()
    session.press("all_heads")
    assert session.said() == [] and "maps-tiles" in session.charts()
    assert session.linked[1].lab.least == 0.0


@needs_minilm
def test_limits_of_shares_stay_among_shares_and_end_where_units_change() -> None:
    """0.5 of a row is no 0.5 nats; and the slider ends where the statistic does."""
    session = Reading(model="minilm", text=TEXT)
    session.set(LIMITS, (0.1, 0.9))
    session.set("statistic", "first")
    assert session.widget(LIMITS).value == (0.1, 0.9)
    session.set("statistic", "entropy")
    n = len(registry.read("minilm", TEXT).part("encoder").keys)
    low, high = session.widget(LIMITS).value
    assert low == 0.0 and math.log(n) <= high < math.log(n) + 0.011
    assert session.linked[1].lab.most == 32_768.0
    session.set(LIMITS, (0.0, 1.0))
    assert [name for name in tile(session)["called"] if name] == called(within(statistics()["entropy"], 0.0, 1.0))


def test_two_limits_that_cross_leave_no_head_and_break_nothing() -> None:
    session = Reading(text="thecatsatonthecat", least="0.8", most="0.2")
    assert session.sound() and len(session.said()) == 1


def test_a_hostile_limit_falls_back_and_the_page_says_so() -> None:
    session = Reading(text="abab", least="nan")
    assert session.sound() and session.view.lab.least == 0.0 and len(session.said()) == 1
