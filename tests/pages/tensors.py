"""A reader before the page on their own tensors, who drops files and waits until they were looked at."""

import io
import time
from typing import Any

import numpy as np

from tests.pages.session import Session


def npz(**arrays: Any) -> bytes:
    """Pack arrays as a reader does."""
    file = io.BytesIO()
    np.savez(file, **{name: x.numpy() if hasattr(x, "numpy") else x for name, x in arrays.items()})
    return file.getvalue()


class Bringing(Session):
    """A session of the page."""

    def __init__(self, **query: Any) -> None:
        super().__init__("tensors", **query)
        self.rest()

    def rest(self) -> "Bringing":
        """Wait until nothing is worked on any more, as the page itself looks again and again."""
        deadline = time.monotonic() + 60
        while "⏳" in self.words() and time.monotonic() < deadline:
            time.sleep(0.1)
            self.at.run()
        return self

    def drop(self, *files: tuple[str, bytes]) -> "Bringing":
        """Drop files into the box."""
        box = self.at.file_uploader[0]
        for name, data in files:
            box.upload(name, data)
        self.at.run()
        return self.rest()

    def set(self, key: str, value: Any) -> "Bringing":
        super().set(key, value)
        return self.rest()

    def press(self, key: str) -> "Bringing":
        super().press(key)
        return self.rest()

    def words(self) -> str:
        """All that is said, that something is right among it."""
        return "\n".join([super().words(), *(str(element.value) for element in self.at.success)])

    def code(self) -> list[str]:
        """The lines of code that are shown."""
        return [str(element.value) for element in self.at.code]
