"""A session that ends gives up its work; one that only loses its connection for a moment does not."""

from types import SimpleNamespace

import pytest

from attnviz.ui import presence


class Server:
    """A server that knows which sessions are there."""

    def __init__(self) -> None:
        self.sessions = {"mine"}

    def is_active_session(self, session: str) -> bool:
        return session in self.sessions


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(presence, "get_script_run_ctx", lambda: SimpleNamespace(session_id="mine"))
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: server)
    return server


def test_a_session_that_is_there_keeps_its_training(server: Server) -> None:
    assert presence.alive()()


def test_a_closed_tab_gives_its_training_up_after_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    alive = presence.alive()
    server.sessions.clear()
    clock[0] += presence.GRACE - 1
    assert alive()
    clock[0] += 2
    assert not alive()


def test_a_connection_that_comes_back_in_time_loses_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    alive = presence.alive()
    server.sessions.clear()
    clock[0] += presence.GRACE - 1
    assert alive()
    server.sessions.add("mine")
    clock[0] += presence.GRACE
    assert alive()


def test_without_a_server_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "get_script_run_ctx", lambda: None)
    assert presence.alive()()
