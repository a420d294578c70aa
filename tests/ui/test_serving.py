"""How app.py is served: headers on every answer, and a browser that is opened where there is somebody."""

import asyncio
import webbrowser
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.web.server.app_discovery import discover_asgi_app

from attnviz.ui import serving

ROOT = Path(__file__).parents[2]


def test_streamlit_run_finds_the_app_that_has_the_headers() -> None:
    found = discover_asgi_app(ROOT / "app.py")
    assert found.is_asgi_app and found.import_string == "app:app"


def answer(own: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that an app gave with headers of its own."""
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in own.items()]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": b"x"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    served = serving.Headers(app, {"X-Frame-Options": "DENY", "X-New": "1"})
    asyncio.run(served({"type": "http"}, receive, send))
    assert sent[1]["body"] == b"x"
    headers: list[tuple[bytes, bytes]] = sent[0]["headers"]
    return headers


def test_headers_are_added_once() -> None:
    assert answer({"Content-Type": "a"}) == [(b"Content-Type", b"a"), (b"x-frame-options", b"DENY"), (b"x-new", b"1")]
    assert answer({"X-FRAME-Options": "own"}) == [(b"X-FRAME-Options", b"own"), (b"x-new", b"1")]


def test_every_inline_script_of_streamlits_page_has_its_hash_and_nothing_else_is_let_in() -> None:
    index = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    policy = serving.headers(index)["Content-Security-Policy"]
    script = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert script.count("'sha256-") == index.count("<script>") >= 1
    assert "unsafe" not in script and "http" not in policy and "*" not in policy
    assert serving.headers(index.replace("<script>", "<script> "))["Content-Security-Policy"] != policy


@pytest.mark.parametrize(("headless", "opened"), [(True, []), (False, ["http://localhost:9000/base"])])
def test_the_browser_is_opened_where_there_is_somebody(
    monkeypatch: pytest.MonkeyPatch, headless: bool, opened: list[str]
) -> None:
    options = {"server.headless": headless, "server.address": "0.0.0.0", "server.port": 9000}
    options |= {"server.baseUrlPath": "/base/", "server.sslCertFile": None}
    seen: list[str] = []
    monkeypatch.setattr(st, "get_option", options.__getitem__)
    monkeypatch.setattr(webbrowser, "open", seen.append)

    async def serve() -> None:
        async with serving.lifespan(None):
            assert seen == opened

    asyncio.run(serve())
