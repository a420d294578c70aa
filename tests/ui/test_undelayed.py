"""What is small leaves at once: on the sockets of a server that is started as Streamlit starts it."""

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_server import _bind_socket
from websockets.asyncio.client import connect

from attnviz.ui.undelayed import Undelayed, socket_of


def delays(wrap: type[Undelayed] | None) -> list[int]:
    """Return TCP_NODELAY of the socket of a request and of a WebSocket, as the app sees it, which is wrapped or not."""
    seen: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found = socket_of(receive)
        assert found is not None
        seen.append(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await receive()
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close"})

    async def serve(served: ASGIApp) -> None:
        bound = _bind_socket("127.0.0.1", 0, 8)
        port = bound.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(served, lifespan="off", log_level="error", ws="websockets-sansio"))
        running = asyncio.create_task(server.serve(sockets=[bound]))
        while not server.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 204")
        writer.close()
        async with connect(f"ws://127.0.0.1:{port}/") as opened:
            await opened.wait_closed()
        server.should_exit = True
        await running

    asyncio.run(serve(wrap(app) if wrap else app))
    return seen


def test_small_messages_leave_at_once() -> None:
    request, websocket = delays(Undelayed)
    assert request and websocket


def test_streamlits_own_sockets_still_need_it() -> None:
    """Where this fails, Streamlit or uvicorn has mended it, and attnviz/ui/undelayed.py can go."""
    assert not any(delays(None))


def test_another_server_has_no_socket_to_give() -> None:
    """As one that runs the app in its own way, or a test."""
    seen = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["type"])

    async def nothing(*_given: object) -> None:
        raise AssertionError("nothing is read or sent")

    asyncio.run(Undelayed(app)({"type": "http"}, nothing, nothing))
    assert seen == ["http"]
