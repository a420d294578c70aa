"""Sessions of a server that has already shown a page."""

import pytest
from streamlit.testing.v1 import app_test

from tests.pages.session import WarmPagesManager


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let AppTest behave as a server after its first page."""
    monkeypatch.setattr(app_test, "PagesManager", WarmPagesManager)
