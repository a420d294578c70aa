"""Sessions of a server that has already shown a page."""

from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import app_test

from tests.pages.session import WarmPagesManager

# What a server does once as it starts, AppTest does in every session: it reads about all packages that are installed.
looked_for_once = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let AppTest behave as a server after its first page."""
    monkeypatch.setattr(app_test, "PagesManager", WarmPagesManager)
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", looked_for_once)
