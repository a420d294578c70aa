"""A lab taken home: the files are of the lab as it stands, and its page works offline."""

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, expect

from attnviz.experiment import Experiment
from attnviz.labs.proof import knock_out
from tests.browser.conftest import OpenApp
from tests.browser.test_home import MIDDLE, TEXT, offline, take


def test_a_lab_is_taken_home_as_it_stands_and_its_page_works_offline(
    open_app: OpenApp, browser: Browser, tmp_path: Path
) -> None:
    query = urlencode({"text": TEXT, "tokenizer": "spaces", "mask": "causal", "s": 3, "u": 1, "lang": "zh"})
    reader = open_app(f"/proof?{query}").unfold("home")
    assert "'edge'" in take(reader.page, "Python 程序（只需 torch）", tmp_path).read_text()
    reader.choose("knocked", "词元 u")  # the lab alone runs, and the box stands outside it
    reader.rest()
    program = take(reader.page, "Python 程序（只需 torch）", tmp_path).read_text()
    assert "'token'" in program and "knocked=token" in program
    path = take(reader.page, "可离线使用的网页（HTML）", tmp_path)
    trace = Experiment(TEXT, tokenizer="spaces", mask="causal").run().trace
    assert trace is not None
    after = knock_out(trace.masked[0, 0], trace.value[0, 0], 3, 1, "token").weights
    row = [str(value) for value in after[3].numpy()]  # every digit of float32
    with offline(browser, path) as page:
        charts = page.locator("section")
        expect(charts.last.locator(".js-plotly-plot")).to_be_visible()
        where = page.evaluate(MIDDLE, [charts.count() - 1, "weights_after", 3, 2])
        page.mouse.move(*where)
        expect(page.locator(".attnviz-tip")).to_contain_text(f"{float(after[3, 2]):.6g}"[:7])
        page.mouse.click(*where)
        expect(page.locator(".equals")).to_have_text(f"= {row[2]}")
        charts.last.locator("summary").nth(1).click()
        cells = charts.last.locator("table").first.locator("tr").nth(4).locator("td").all_text_contents()
        assert cells == row
