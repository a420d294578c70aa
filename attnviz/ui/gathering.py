"""What a run draws is sent when it has run, all of it at once.

Streamlit sends what a run draws piece by piece, and a browser looks through the whole page again for each piece that
reaches it alone: three to six times for the run of a lab, where once or twice would do. A run that takes longer is
sent as far as it is, so that what it has drawn is seen while it goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

LONG = 0.1  # seconds after which a run is sent as far as it is
LARGE = 1 << 16  # bytes of a message that is a drawing for certain, and is not looked into


class Gathered:
    """Sends each run of a page, or of a part of it, at once, in an app's WebSockets; all else passes as it comes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        runs = Runs(send)
        try:
            await self._app(scope, receive, runs.send)
        finally:
            runs.end()


class Runs:
    """The runs of one session: what belongs to one that has not ended is held."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: deque[Message] = deque()
        self._sending = asyncio.Lock()  # messages keep their order
        self._timer: asyncio.Task[None] | None = None  # while a run is held

    async def send(self, message: Message) -> None:
        """Send a message of a session now, or with the others of its run."""
        at = place_of(message)
        if at == "begin" and self._timer is None:
            self._timer = asyncio.create_task(self._after_a_while())
        self._held.append(message)
        if self._timer is None or at == "end":
            await self._release()

    def end(self) -> None:
        """Forget what is held: the connection is closed."""
        self._held.clear()
        if self._timer is not None:
            self._timer.cancel()

    async def _after_a_while(self) -> None:
        await asyncio.sleep(LONG)
        self._timer = None
        with suppress(Exception):  # a closed connection is said to who sends next
            await self._release()

    async def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._sending:
            while self._held:
                await self._send(self._held.popleft())


def place_of(message: Message) -> str:
    """Say whether a message of Streamlit's protocol is the "begin" or the "end" of a run, else "".

    A run that ended because the page is to run again at once is not over; a closed connection is the end of all.

    >>> ended = ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)
    >>> place_of({"type": "websocket.send", "bytes": ended.SerializeToString()})
    'end'
    """
    data = message.get("bytes") or b""
    if message["type"] != "websocket.send":
        return "end" if message["type"] == "websocket.close" else ""
    if len(data) > LARGE:
        return ""
    said = ForwardMsg.FromString(data)
    kind = said.WhichOneof("type")
    over = kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
    return "end" if over else "begin" if kind == "new_session" else ""
