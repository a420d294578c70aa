"""What holds for every test: limits that suit a shared machine, no language left behind, quick ones first."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from attnviz import locale

# No test asks the real hub. Read when transformers is imported, so set before any test is.
os.environ["HF_HUB_OFFLINE"] = "1"

# A shared machine is slow at times: no deadline for one example. CI draws the same examples every time.
settings.register_profile("attnviz", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("attnviz")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Every test begins in English, whatever the one before it chose."""
    locale.use("en")
    yield
    locale.use("en")


@pytest.fixture(autouse=True)
def printed_as_by_default() -> Iterator[None]:
    """Every test prints tensors as torch does, whatever a program that ran before it set."""
    yield
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_printoptions(profile="default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the browser tests last: what is quick says first what is wrong."""
    items.sort(key=lambda item: "tests/browser/" in item.nodeid)
