"""Runs that are sent at once: what is held, until when, and in which order it comes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attnviz.ui import gathering
from attnviz.ui.gathering import LARGE, Gathered

OVER, AGAIN = ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_EARLY_FOR_RERUN


def said(**fields: Any) -> Message:
    """Return a message of Streamlit's protocol."""
    return {"type": "websocket.send", "bytes": ForwardMsg(**fields).SerializeToString()}


BEGIN, END, EARLY = said(new_session={}), said(script_finished=OVER), said(script_finished=AGAIN)
FIRST, SECOND = said(delta={"fragment_id": "first"}), said(delta={"fragment_id": "second"})


def sent_by(script: Callable[[Send, list[Message]], Awaitable[None]], scope: str = "websocket") -> list[Message]:
    """Return what reaches the browser from an app that does this, which sees it too."""
    arrived: list[Message] = []

    async def send(message: Message) -> None:
        await asyncio.sleep(0)  # as a network does, so that a wrong order shows
        arrived.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await script(send, arrived)

    asyncio.run(Gathered(app)({"type": scope}, receive, send))
    return arrived


@pytest.mark.parametrize("begin", [BEGIN, said(new_session={}, metadata={"run": {"fragment_ids": ["lab"]}})])
def test_a_run_is_sent_when_it_has_ended(begin: Message) -> None:
    """Of a page, or of a part of it: nothing of it comes before, and then all, in its order."""

    async def script(send: Send, arrived: list[Message]) -> None:
        for message in (begin, FIRST, SECOND):
            await send(message)
        assert arrived == []
        await send(END)
        assert arrived == [begin, FIRST, SECOND, END]

    assert len(sent_by(script)) == 4


def test_what_belongs_to_no_run_passes() -> None:
    """As the answer to a download, and what is said after a run."""

    async def script(send: Send, arrived: list[Message]) -> None:
        for n, message in enumerate(({"type": "websocket.accept"}, FIRST, END, SECOND), 1):
            await send(message)
            assert len(arrived) == n

    sent_by(script)


def test_a_long_run_is_seen_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has drawn comes after a while without its end, and the rest as it is drawn."""
    monkeypatch.setattr(gathering, "LONG", 0.01)

    async def script(send: Send, arrived: list[Message]) -> None:
        await send(BEGIN)
        await send(FIRST)
        await asyncio.sleep(0.1)
        assert arrived == [BEGIN, FIRST]
        await send(SECOND)
        assert arrived == [BEGIN, FIRST, SECOND]
        await send(END)
        await send(BEGIN)  # the next is held again
        assert arrived == [BEGIN, FIRST, SECOND, END]

    sent_by(script)


def test_a_run_that_runs_again_at_once_is_one_with_the_next() -> None:
    """As after st.rerun(), or where the next key was typed before the page had followed the last."""

    async def script(send: Send, arrived: list[Message]) -> None:
        for message in (BEGIN, FIRST, EARLY, BEGIN, SECOND):
            await send(message)
        assert arrived == []
        await send(END)

    assert sent_by(script) == [BEGIN, FIRST, EARLY, BEGIN, SECOND, END]


def test_a_slow_network_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes while a long run is being sent waits behind it."""
    monkeypatch.setattr(gathering, "LONG", 0)
    deltas = [said(delta={"fragment_id": str(i)}) for i in range(20)]

    async def script(send: Send, _arrived: list[Message]) -> None:
        await send(BEGIN)
        for delta in deltas:
            await send(delta)
            await asyncio.sleep(0)
        await send(END)

    assert sent_by(script) == [BEGIN, *deltas, END]


def test_a_connection_that_closes_is_sent_what_is_held() -> None:
    """The app closes it; and where it fails, nothing is sent into a closed connection afterwards."""
    close: Message = {"type": "websocket.close"}

    async def script(send: Send, _arrived: list[Message]) -> None:
        for message in (BEGIN, FIRST, close):
            await send(message)

    async def failing(send: Send, _arrived: list[Message]) -> None:
        await send(BEGIN)
        raise ConnectionError

    assert sent_by(script) == [BEGIN, FIRST, close]
    with pytest.raises(ConnectionError):
        sent_by(failing)


def test_large_messages_are_not_looked_into() -> None:
    """They are drawings, of which there are none to hold outside a run."""
    large: Message = {"type": "websocket.send", "bytes": b"\xff" * (LARGE + 1)}

    async def script(send: Send, _arrived: list[Message]) -> None:
        for message in (large, BEGIN, large, END):
            await send(message)

    assert sent_by(script) == [large, BEGIN, large, END]


def test_other_connections_pass() -> None:
    """Answers to requests are nothing that runs draw."""

    async def script(send: Send, _arrived: list[Message]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    assert len(sent_by(script, "http")) == 1
