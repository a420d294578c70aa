"""Four thousand tokens in a browser: pasted, read at an exact cell, moved through, searched."""

import numpy as np
from playwright.sync_api import expect

from attnviz import long
from attnviz.experiment import Experiment
from attnviz.run import without_trace
from tests.browser import expected
from tests.browser.conftest import OpenApp
from tests.browser.dock import Dock

N = 4_096
TOKENS = [f"w{i * i % 997}" for i in range(N - 2)] + ["zebra", "crossing"]


def test_a_pasted_text_of_4096_tokens_is_read_moved_through_and_searched(open_app: OpenApp) -> None:
    reader = open_app("/scores?mask=causal", viewport=(1440, 1300))
    reader.write(" ".join(TOKENS))
    page, dock, experiment = reader.page, Dock(reader), Experiment(" ".join(TOKENS), mask="causal")
    held = long.of(without_trace(experiment), experiment, 0, 0).long
    assert held is not None
    expect(page.locator(".st-key-maps-whole .js-plotly-plot")).to_be_visible()

    reader.set_number("first:from_s", 3001)
    reader.set_number("first:from_u", 2981)
    reader.until(lambda: reader.state()[1].from_u == 2980)
    rows = held.rows(3000, 3024)
    drawn = np.array(reader.values("scores", "weights"))
    np.testing.assert_allclose(drawn, rows.weights[:, 2980:3004].numpy(), rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(reader.values("scores", "row_sums"), np.ones((24, 1)), rtol=1e-5)

    reader.hover("scores", "weights", 10, 5)
    tip = reader.tooltip()
    assert f"s=3011 “{TOKENS[3010]}”" in tip and f"u=2986 “{TOKENS[2985]}”" in tip, tip
    reader.click("scores", "weights", 10, 5)
    reader.until(lambda: (reader.state()[1].s, reader.state()[1].u) == (3010, 2985))
    assert f"“{TOKENS[3010]}”" in dock.sentence() and dock.is_written_out()
    assert expected.prints(dock.written().value, float(rows.weights[10, 2985]))

    page.get_by_label("Find a token").fill("zebra crossing")
    page.get_by_label("Find a token").press("Enter")
    page.locator(".st-key-place input").click()
    page.get_by_role("option").first.click()
    reader.until(lambda: reader.state()[1].s == N - 2)
    best = int(held.rows(N - 2, N - 1).weights[0].argmax())
    assert (reader.state()[1].s, reader.state()[1].u) == (N - 2, best)
    assert "“zebra”" in dock.sentence()
