"""The mask painter: what is painted by clicks, keys, presets and undo is the experiment's mask, on every page."""

from collections.abc import Sequence

import numpy as np

from attnviz.core import masks
from attnviz.drawing import read_drawing, write_drawing
from attnviz.experiment import Experiment
from tests.figures.reading import axis, panel
from tests.pages.session import Session

CAT = "the cat sat on the mat"
CAUSAL = masks.causal(6, 6).numpy()


def section(**query: str) -> Session:
    return Session("scores", section="masks", **query)


def drawn(session: Session) -> np.ndarray:
    """The mask that the session has painted."""
    assert session.experiment.mask == "drawn" and session.linked[0].drawn == session.experiment.drawn
    return np.array(read_drawing(session.experiment.drawn))


def cells(turned: Sequence[tuple[int, int]], n: int = 6, start: np.ndarray | None = None) -> np.ndarray:
    """A mask that hides nothing, or `start`, with some cells turned over."""
    seen = np.ones((n, n), dtype=bool) if start is None else start.copy()
    for s, u in turned:
        seen[s, u] = not seen[s, u]
    return seen


def test_a_clicked_cell_is_hidden_and_a_second_click_shows_it() -> None:
    session = section()
    assert session.sound() and session.maps()["mask"].all()
    session.click("mask", 2, 4)
    assert (drawn(session) == cells([(2, 4)])).all() and (session.maps()["mask"] == cells([(2, 4)])).all()
    assert (session.view.s, session.view.u) == (2, 4)
    assert session.bridge["selected"] == {"name": "mask", "row": 2, "col": 4}
    session.click("mask", 0, 1)
    assert (drawn(session) == cells([(2, 4), (0, 1)])).all()
    session.click("mask", 2, 4)
    assert (drawn(session) == cells([(0, 1)])).all()


def test_the_painted_mask_goes_into_the_link_and_to_every_page() -> None:
    session = section().click("mask", 2, 4).click("mask", 5, 0)
    opened = Session(**dict(pair.split("=") for pair in session.link.split("&")))
    session.go("explore")
    for other in (session, opened):
        weights = other.numbers()["weights"]
        assert (weights == 0).nonzero()[0].tolist() == [2, 5] and weights[2, 4] == weights[5, 0] == 0
        assert other.widget("mask").value == "drawn" and "drawn" in other.widget("mask").options


def test_painting_begins_with_the_mask_that_is_chosen_and_keeps_what_was_painted() -> None:
    session = section(mask="causal").click("mask", 0, 3)
    assert (drawn(session) == cells([(0, 3)], start=CAUSAL)).all()
    session.set("mask", "window").click("mask", 5, 0)
    assert (drawn(session) == cells([(5, 0)], start=masks.window(6, 6, left=2, right=0).numpy())).all()


def test_the_keyboard_paints_what_a_click_paints() -> None:
    by_keys = section(mask="causal").set("painted_s", 4).set("painted_u", 2)
    assert "Hide the cell" in by_keys.widget("paint:cell").label
    by_keys.press("paint:cell")
    by_mouse = section(mask="causal").click("mask", 3, 1)
    assert by_keys.experiment == by_mouse.experiment and by_keys.view == by_mouse.view
    assert "Show the cell" in by_keys.widget("paint:cell").label


def test_whole_rows_and_columns_everything_and_nothing() -> None:
    session = section(mask="causal", s="3", u="1")
    session.press("paint:row")
    assert (drawn(session)[3] == [False] * 6).all() and (
        drawn(session)[[0, 1, 2, 4, 5]] == CAUSAL[[0, 1, 2, 4, 5]]
    ).all()
    session.press("paint:row")
    assert drawn(session)[3].all()
    session.press("paint:column")
    assert not drawn(session)[:, 1].any() and drawn(session)[3, 0]
    session.press("paint:column").press("paint:invert")
    assert not drawn(session)[:, 1].any()
    assert drawn(session.press("paint:all")).all() and not drawn(session.press("paint:nothing")).any()


def test_presets() -> None:
    session = section(text="the cat . it sat", prefix_length="3")
    for code in ("causal", "window", "prefix"):
        assert session.press(f"paint:{code}").experiment.mask == code
    assert (session.maps()["mask"] == masks.prefix(5, 3).numpy()).all()
    assert (drawn(session.press("paint:segments")) == masks.segments([0, 0, 0, 1, 1]).numpy()).all()
    session.set("padded", 3).press("paint:padding")
    assert (drawn(session) == [[True, True, False, False, False]] * 5).all()
    assert session.linked[1].lab.padded == 3
    assert not drawn(session.set("padded", 64).press("paint:padding")).any()


def test_undo_takes_back_one_change_after_the_other() -> None:
    session = section(mask="causal")
    assert session.widget("unpaint").disabled
    session.click("mask", 0, 1).press("paint:invert").press("paint:window").click("mask", 0, 2)
    seen = []
    for _ in range(4):
        session.press("unpaint")
        seen.append((session.experiment.mask, session.experiment.drawn))
    once, turned = (
        write_drawing(rows.tolist()) for rows in (cells([(0, 1)], start=CAUSAL), ~cells([(0, 1)], start=CAUSAL))
    )
    assert seen == [("window", turned), ("drawn", turned), ("drawn", once), ("causal", "")]
    assert session.widget("unpaint").disabled and session.experiment == Experiment(CAT, mask="causal")


def test_a_shorter_text_keeps_what_was_painted_beyond_it() -> None:
    session = section().click("mask", 5, 0).set("text_line", "the cat sat").click("mask", 0, 2)
    assert (session.maps()["mask"] == cells([(0, 2)], n=3)).all()
    session.set("text_line", CAT)
    assert (drawn(session) == cells([(5, 0), (0, 2)])).all()


def test_padding_of_a_batch_is_hidden_and_cannot_be_painted() -> None:
    session = section(text=f"{CAT}\nthe dog ran", b="1")
    assert session.maps()["mask"].tolist() == [[1, 1, 1, 0, 0, 0]] * 3
    before = session.experiment
    session.click("mask", 0, 4)
    assert session.experiment == before and any("padding" in said for said in session.said())
    assert session.widget("paint:cell").disabled
    session.click("mask", 0, 2)
    assert (drawn(session) == cells([(0, 2)])).all() and session.said() == []


def test_a_long_text_is_painted_up_to_where_a_drawing_ends() -> None:
    session = section(text="word " * 70, from_s="46", from_u="46", mask="causal")
    assert session.maps()["mask"].shape == (24, 24) and "first 64 tokens" in session.words()
    before = session.experiment
    session.click("mask", 65, 3)
    assert session.experiment == before and any("beyond token 64" in said for said in session.said())
    session.click("mask", 63, 50)
    assert drawn(session).shape == (64, 64) and not drawn(session)[63, 50] and drawn(session)[:63].sum() == 63 * 32


def test_the_grid_is_drawn_as_what_is_true_and_what_is_not() -> None:
    session = section(mask="causal", letters="bij")
    figure = session.charts()["block-painter"]
    grid = panel(figure, "mask")
    colours = figure["layout"][grid["coloraxis"]]
    assert (colours["cmin"], colours["cmax"], len({colour for _, colour in colours["colorscale"]})) == (0, 1, 2)
    assert grid["texttemplate"] == "%{z:.0f}"
    assert "query token i" in axis(figure, "mask", "y")["title"]["text"]
    alts = [chart.proto.alt for chart in session.at.get("plotly_chart")]
    assert "1 in 21 of 36 cells" in alts[0]
    assert "row i is" in session.words() and "Hide row i" in session.widget("paint:row").label
