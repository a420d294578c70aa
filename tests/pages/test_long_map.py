"""The map of a long text on a page: zoomed by drags, clicks, buttons and numbers, kept in the link, stopped at will."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.proto.WidgetStates_pb2 import WidgetState

from attnviz.figures.pooled import WHOLE
from attnviz.figures.pooled_scale import encode, scale_of
from attnviz.ui.long import map_kept
from attnviz.ui.long.pooling_jobs import POOL, Job
from tests.figures.reading import Figure, array
from tests.pages.session import Session

N = 600
TEXT = " ".join(f"w{i % 97}" for i in range(N))
KEY = "maps-whole"


def opened(**query: str) -> Session:
    session = Session("explore", text=TEXT, mask="causal", **query)
    assert session.sound()
    return session


def figure(session: Session) -> Figure:
    return session.charts()[KEY]


def cells(session: Session) -> tuple[np.ndarray, dict[str, Any]]:
    """The colours of the map, and its trace."""
    (trace,) = [t for t in figure(session)["data"] if t["name"] == "pooled" and t["xaxis"] == "x"]
    return array(trace["z"]), trace


def weights(session: Session) -> torch.Tensor:
    """The whole matrix, (s, u), by the plain formula."""
    run = session.experiment.run()
    scores = (run.x[0] @ run.w_q) @ (run.x[0] @ run.w_k).T * run.scale
    return torch.softmax(scores.masked_fill(~torch.ones(N, N).tril().bool(), -torch.inf), -1)


def happened(session: Session, event: str, value: Any) -> Session:
    """Let the browser tell of the map what happened on it."""
    (bridge,) = [e for e in session.at.get("bidi_component") if e.key == f"bridge-{KEY}"]
    told = json.dumps([{"event": event, "value": value}])
    states = session.at._tree.get_widget_states()
    states.widgets.append(
        WidgetState(id=f"$$STREAMLIT_INTERNAL_KEY_{bridge.proto.id}__events", json_trigger_value=told)
    )
    session.at._run(states)
    return session


def window(session: Session) -> tuple[int, int, int, int]:
    """The window that the link holds."""
    lab = session.linked[1].lab
    return lab.map_s, lab.map_s_end, lab.map_u, lab.map_u_end


def test_the_whole_text_is_drawn_pooled_and_a_link_opens_a_window_with_its_weights() -> None:
    session = opened()
    pooled = weights(session).unflatten(0, (300, 2)).unflatten(2, (300, 2)).amax((1, 3)).numpy()
    codes = encode(pooled, scale_of("rows", pooled))
    assert np.abs(cells(session)[0].astype(int) - codes).max() <= 1  # where a rounding falls the other way
    assert "600 queries × 600 keys" in session.words() and "2 × 2 tokens" in session.words()
    window_ = opened(map_s="100", map_s_end="180", map_u="40", map_u_end="120", map_scale="log")
    codes, trace = cells(window_)
    exact = array(trace["customdata"])
    np.testing.assert_allclose(exact, weights(window_)[100:180, 40:120], rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(codes, encode(exact, scale_of("log", exact)))
    assert "queries 101–180 × keys 41–120" in window_.words()


def test_a_drag_and_a_click_look_closer_and_the_buttons_lead_back() -> None:
    session = happened(opened(), "zoom", {"key": KEY, "zoom": {"": [99.6, 399.4, 449.5, 149.5]}, "drag": "pan"})
    assert session.sound() and window(session) == (150, 450, 100, 400)
    assert figure(session)["layout"]["dragmode"] == "pan"
    happened(session, "cell", {"name": KEY + WHOLE, "row": 500, "col": 500})
    assert window(session) == (300, 0, 300, 0)  # 0 is the end of the text
    session.press("map_whole")
    assert window(session) == (0, 0, 0, 0) and "map_" not in session.link
    happened(session, "cell", {"name": KEY, "row": 300, "col": 200})  # of two tokens: eight times closer
    assert window(session) == (264, 339, 164, 239)
    session.press("map_in")
    assert window(session) == (292, 311, 192, 211)
    session.press("map_out").press("map_out").press("map_out")
    assert window(session) == (0, 0, 0, 0)


def test_a_click_on_a_weight_chooses_its_cell() -> None:
    session = happened(opened(map_s="10", map_s_end="50", map_u_end="30"), "cell", {"name": KEY, "row": 33, "col": 4})
    assert session.sound() and (session.view.s, session.view.u) == (33, 4)
    (tie,) = [e for e in session.at.get("bidi_component") if e.key == f"bridge-{KEY}"]
    data = json.loads(tie.proto.json)
    assert data["selected"] == {"name": KEY, "row": 33, "col": 4}
    assert window(session) == (10, 50, 0, 30)  # it stands still
    assert isinstance(data["tokens"], str)  # a key: the tokens themselves travel once
    held = [json.loads(e.proto.json) for e in session.at.get("bidi_component") if "hold" in e.proto.json]
    assert held[0]["hold"] == data["tokens"] and held[0]["tokens"] == TEXT.split()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_numbers_and_the_scale_work_without_a_pointer(locale: str) -> None:
    session = Session("explore", locale=locale, text=TEXT, mask="causal").open("map_tokens")
    session.set("window:s:0", 201).set("window:u:1", 40)
    assert session.sound() and window(session) == (200, 0, 0, 40)
    session.set("window:s:0", 600)
    assert window(session) == (599, 0, 0, 40)
    session.set("map_scale", "log").open("map_tokens", "map_table")
    assert session.sound() and session.linked[1].lab.map_scale == "log"
    (table,) = [f.value for f in session.at.dataframe if f.value.shape == (1, 40)]
    np.testing.assert_allclose(table, weights(session)[599:, :40], rtol=1e-4)
    assert table.index[0] == "600 w17" and table.columns[-1] == "40 w39"


def test_a_long_job_is_shown_stopped_and_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_kept, "LIVE_TOKENS", 300)
    held: list[Any] = []

    def submit(pooled: Any, alive: Any) -> Any:
        held.append(Job(pooled, alive))
        return held[-1]

    monkeypatch.setattr(POOL, "submit", submit)
    session = opened()
    assert KEY not in session.charts() and session.at.button(key="stop_pooling") is not None
    session.press("stop_pooling")
    held[-1].run()
    held[-1].done.set()
    session.at.run()
    assert "The map was stopped." in session.said()
    session.press("pool_again")
    assert len(held) == 2
    held[-1].run()
    held[-1].done.set()
    session.at.run()
    assert session.sound() and cells(session)[0].shape == (300, 300)
    # A window of few rows is computed at once, whatever the whole takes.
    happened(session, "zoom", {"key": KEY, "zoom": {"": [-0.5, 599.5, 99.5, -0.5]}, "drag": "zoom"})
    assert len(held) == 2 and window(session) == (0, 100, 0, 0)


def test_maps_of_a_session_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    for s in range(20):
        happened(session, "zoom", {"key": KEY, "zoom": {"": [-0.5, 99.5, s + 99.5, s - 0.5]}, "drag": "zoom"})
    kept = session.at.session_state["_pooled"]
    assert len(kept) == map_kept.KEPT and any(key[1].rows == (0, N) for key in kept)
    assert all(isinstance(found.values, torch.Tensor) for found in kept.values())
