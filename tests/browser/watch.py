"""What a page must not do: log an error, throw one, crash, or ask another machine for anything."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request, WebSocket

HERE = {"127.0.0.1", "localhost", "::1"}


def leaves_the_machine(url: str) -> bool:
    """Say whether a request goes to another machine; data: and blob: go nowhere.

    >>> [leaves_the_machine(u) for u in ("http://127.0.0.1:80/x", "data:,a", "ws://localhost", "https://example.org/")]
    [False, False, False, True]
    """
    parts = urlsplit(url)
    return parts.scheme not in {"data", "blob", "about"} and parts.hostname not in HERE


# On a page below the root, Streamlit looks for its server below that page first; the browser logs that none is there.
SERVER_LOOKED_FOR = re.compile(r"https?://[^/]+/[a-z-]+/_stcore/(health|host-config)")


@dataclass
class Watch:
    """All that a page did and must not do, in order."""

    problems: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        """Record console errors, uncaught errors, crashes and requests to other machines from now on."""
        for event, handler in self._handlers().items():
            page.on(event, handler)

    def unfollow(self, page: Page) -> None:
        """Record no more of a page."""
        for event, handler in self._handlers().items():
            page.remove_listener(event, handler)

    def _handlers(self) -> dict[Any, Callable[[Any], None]]:
        return {
            "console": self.console,
            "pageerror": self.error,
            "crash": self.crash,
            "request": self.request,
            "websocket": self.websocket,
        }

    def console(self, message: ConsoleMessage) -> None:
        looked = "404" in message.text and SERVER_LOOKED_FOR.fullmatch(message.location.get("url", ""))
        if message.type == "error" and not looked:
            self.problems.append(f"console error: {message.text} ({message.location.get('url', '')[:300]})")

    def error(self, error: Error) -> None:
        self.problems.append(f"uncaught error: {error}")

    def crash(self, _page: Page) -> None:
        self.problems.append("the page crashed")

    def websocket(self, socket: WebSocket) -> None:
        self.address(socket.url)

    def request(self, request: Request) -> None:
        self.address(request.url)

    def address(self, url: str) -> None:
        if leaves_the_machine(url):
            self.problems.append(f"request that leaves the machine: {url}")
