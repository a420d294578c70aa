"""A value that a browser sent before it was told another is no choice of the reader's; the next one is."""

import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.presets import preset
from attnviz.ui import widgets
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


def both(session: Session, **values: object) -> Session:
    """Change widgets in one message, as a tap does that leaves a box and moves something."""
    for key, value in values.items():
        session.widget(key).set_value(value)
    session.at.run()
    assert session.sound()
    return session


def test_what_was_typed_and_not_sent_comes_along_when_the_box_is_switched() -> None:
    session = Session(text="a b c\nd")
    both(session, text_area="a b c more\nd", several=False)
    assert session.experiment.text == "a b c more d"
    assert session.widget("text_line").value == "a b c more d"
    both(session, text_line="a b", several=True)
    assert session.experiment.text == "a b" and session.widget("text_area").value == "a b"


def test_a_preset_wins_over_what_was_typed_with_it() -> None:
    session = Session().open("examples")
    session.widget("text_line").set_value("typed and left")
    session.press("preset.batch")
    assert session.sound() and session.experiment == preset("batch")
    session.set("text_area", "x y\nz")
    assert session.experiment.text == "x y\nz"


def test_a_value_that_comes_after_its_key_was_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = widgets.sent

    def forgotten(key: str) -> object:
        if key == "n_heads":
            context = get_script_run_ctx()  # as after a page that was newly opened meanwhile, and forgot the key
            assert context is not None
            context.session_state._state._key_id_mapper.delete(key)
            assert key not in st.session_state
        return kept(key)

    monkeypatch.setattr(widgets, "sent", forgotten)
    session = Session().set("n_heads", 3)
    assert session.sound() and session.experiment.n_heads == 3


@pytest.mark.parametrize("page", ["explore", "einsum"])
def test_a_box_that_the_browser_has_not_drawn_is_sent_its_text_anew(page: str) -> None:
    """A click before the box is there: the browser sends the values of all widgets but of this one."""
    session = Session(page, text="a b c")
    sent = session.at._tree.get_widget_states()
    drawn = [state for state in sent.widgets if not state.id.endswith("-text_line")]
    assert len(drawn) == len(sent.widgets) - 1
    session.at._run(WidgetStates(widgets=drawn))
    box = session.at.text_input(key="text_line")
    assert box.proto.set_value and box.proto.value == "a b c"
    session.at._run(sent)  # now it is drawn, and is told no more
    assert not session.at.text_input(key="text_line").proto.set_value
    assert session.experiment.text == "a b c"
