"""The harness itself: it sees what a page must not do, and it waits long enough."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import LISTEN, Watch, running_app, wait_idle

SLOW = """
import time
import streamlit as st
text = st.text_input("Text", "first", key="text", live=True)
time.sleep(0.6)
st.write("echo " + text)
st.plotly_chart({"data": [{"type": "heatmap", "z": [[0, 1]]}]})
if st.button("break"):
    raise RuntimeError("broken on purpose")
"""


def test_a_console_error_an_uncaught_error_and_a_foreign_request_are_seen(browser: Browser) -> None:
    context, watch = browser.new_context(), Watch()
    page = context.new_page()
    watch.follow(page)
    page.set_content("<p>quiet</p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    assert watch.problems == []
    page.set_content("<script>console.error('loud'); setTimeout(() => { throw new Error('thrown') })</script>")
    page.set_content("<img src='https://example.org/a.png'>")
    page.wait_for_timeout(100)
    context.close()
    seen = "\n".join(watch.problems)
    assert "console error: loud" in seen
    assert "uncaught error: thrown" in seen
    assert "request that leaves the machine: https://example.org/a.png" in seen


def test_wait_idle_waits_for_the_run_and_the_paint_and_the_log_is_kept(browser: Browser, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW, encoding="utf-8")
    with running_app(tmp_path / "log", script=str(script)) as server:
        context = browser.new_context(base_url=server.url)
        context.add_init_script(LISTEN)
        page = context.new_page()
        page.goto("/")
        wait_idle(page)
        assert page.get_by_text("echo first").is_visible()
        assert page.locator("[data-testid=stPlotlyChart] .main-svg").count() > 0
        page.locator(".st-key-text input").fill("second")
        wait_idle(page)
        assert page.get_by_text("echo second").is_visible()
        assert "Traceback" not in server.log()
        page.get_by_role("button", name="break").click()
        wait_idle(page)
        assert "RuntimeError: broken on purpose" in server.log()
        assert page.get_by_text("broken on purpose").count() == 0  # showErrorDetails = "none"
        context.close()
    assert server.process.poll() is not None


def test_a_script_that_cannot_be_served_is_an_error_with_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="does not exist"),
        running_app(tmp_path / "log", script="no_such.py"),
    ):
        pass
