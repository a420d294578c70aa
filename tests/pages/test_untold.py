"""A value that a browser sent before it was told another is no choice of the reader's; the next one is."""

from attnviz.presets import preset
from tests.pages.session import Session


def interrupted(session: Session, key: str, shown: object, given: object) -> None:
    """As if the run that was to tell a widget its new value had been broken off."""
    session.at.session_state["_untold"] = {key: (shown, given)}


def test_a_preset_is_told_to_the_widgets_that_are_drawn() -> None:
    session = Session(n_heads="3")
    session.open("examples").press("preset.batch")
    assert session.experiment == preset("batch")
    assert session.at.session_state["_untold"] == {}  # drawn, and so told


def test_what_a_widget_showed_before_a_preset_does_not_undo_it() -> None:
    session = Session()
    interrupted(session, "n_heads", 2, 1)
    session.set("n_heads", 2)  # with another change, from a browser that has not drawn the preset
    assert session.experiment.n_heads == 1
    assert session.at.number_input(key="n_heads").value == 1
    session.set("n_heads", 2)  # now the reader's own
    assert session.experiment.n_heads == 2


def test_another_value_than_it_showed_is_the_readers() -> None:
    session = Session()
    interrupted(session, "n_heads", 2, 1)
    session.set("n_heads", 4)
    assert session.experiment.n_heads == 4
    session.set("n_heads", 2)
    assert session.experiment.n_heads == 2


def test_views_and_labs_are_kept_the_same_way() -> None:
    session = Session("decoding")
    interrupted(session, "decoded", 2, 3)
    session.set("decoded", 2)
    assert session.view.lab.decoded != 2
    session.set("decoded", 2)
    assert session.view.lab.decoded == 2
