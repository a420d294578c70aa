"""How app.py is served: the headers of every answer, what is sent at once, and the browser that is opened.

Streamlit sends no header against framing, sniffing or foreign scripts. What is sent here is as strict as Streamlit,
its components and Plotly allow; a browser test fails on the first thing on a page that it forbids.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnviz.ui.gathering import Gathered
from attnviz.ui.undelayed import Undelayed

FRAMES = "ATTNVIZ_FRAMES"  # names, in the environment, the sites that may show attnviz in a frame
_INDEX = Path(st.__file__).parent / "static" / "index.html"
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def headers(index: str, frames: str = "") -> dict[str, str]:
    """Return the headers of every answer.

    index: Streamlit's own page, whose inline scripts alone may run, by their hashes. frames: the other sites that may
    show attnviz in a frame, as Content-Security-Policy writes them.

    >>> headers("<script>1</script>")["X-Frame-Options"]
    'SAMEORIGIN'
    >>> "frame-ancestors 'self' https://huggingface.co" in headers("", "https://huggingface.co")["Content-Security-Policy"]
    True
    """
    sha256 = (hashlib.sha256(script.encode()).digest() for script in _INLINE.findall(index))
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in sha256)
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(("'self' blob:", *hashes)),  # blob: v2 components are loaded from one
        "style-src": "'self' 'unsafe-inline'",  # both Streamlit and Plotly write styles into the page
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "frame-ancestors": f"'self' {frames}".strip(),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    sent = {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",  # a link carries what was typed
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if not frames:
        sent["X-Frame-Options"] = "SAMEORIGIN"  # for old browsers; it cannot name a site
    return sent


class Headers:
    """Adds headers to every answer; an answer's own header of the same name stands."""

    def __init__(self, app: ASGIApp, sent: dict[str, str]) -> None:
        self._app = app
        self._sent = [(name.lower().encode(), value.encode()) for name, value in sent.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and its answer back."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _value in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in self._sent if pair[0] not in own)]
            await send(message)

        await self._app(scope, receive, send_with_headers)


MIDDLEWARE = [
    Middleware(Undelayed),
    Middleware(Gathered),
    Middleware(Headers, sent=headers(_INDEX.read_text(encoding="utf-8"), os.environ.get(FRAMES, "").strip())),
]


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Open the reader's browser at the start, unless Streamlit's server.headless says that there is nobody."""
    if not st.get_option("server.headless"):
        webbrowser.open(address())
    yield


def address() -> str:
    """Return where this machine's browser finds the app."""
    host = st.get_option("server.address") or "localhost"
    host = "localhost" if host in ("0.0.0.0", "::") else host
    secure = "s" if st.get_option("server.sslCertFile") else ""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"http{secure}://{host}:{st.get_option('server.port')}/{base}"
