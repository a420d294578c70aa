"""What is small leaves at once.

Of small messages in quick succession the system holds the second and all after it until the browser has confirmed the
first (Nagle's algorithm), and a browser takes up to 40 ms to confirm. asyncio switches that off for the sockets that it
makes itself; Streamlit makes its own, as uvicorn does for several workers (Kludex/uvicorn#3149), and for those it
stays on.
"""

from __future__ import annotations

import socket
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send


class Undelayed:
    """Lets an app's connections send small messages without delay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        found = socket_of(receive)
        if found is not None and found.family in (socket.AF_INET, socket.AF_INET6):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self._app(scope, receive, send)


def socket_of(receive: Receive) -> socket.socket | None:
    """Return the socket of a connection, which uvicorn's protocols hold; None where another server has none to give."""
    transport: Any = getattr(getattr(receive, "__self__", None), "transport", None)
    found: socket.socket | None = transport.get_extra_info("socket") if transport is not None else None
    return found
