"""The page about decoding says and draws what its experiment computes."""

from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from attnviz.core.attention import attention
from attnviz.core.masks import causal
from attnviz.experiment import Experiment
from attnviz.figures.text import number
from attnviz.labs.decoding import Layer, change, one_head
from attnviz.labs.decoding_costs import cost, total
from attnviz.labs.sizes import Sizes
from attnviz.links import to_query
from tests.figures.reading import array
from tests.pages.session import Session

CAT = Experiment("the cat sat on the mat")


def causal_run(experiment: Experiment, b: int = 0, h: int = 0, n: int | None = None) -> Any:
    """One head's attention over the first n tokens, by the causal mask."""
    trace = experiment.run().trace
    assert trace is not None
    kv = h * trace.key.shape[1] // trace.query.shape[1]
    query, key, value = trace.query[b, h, :n], trace.key[b, kv, :n], trace.value[b, kv, :n]
    mask, bias = causal(len(query), len(key)), experiment.run().bias
    if bias is not None:
        mask = bias[h, : len(query), : len(key)].masked_fill(~mask, float("-inf"))
    return attention(query, key, value, mask=mask, scale=experiment.run().scale)


def check_maps(session: Session, expected: Any, t: int) -> None:
    maps = session.maps()
    for name, values in {
        "key_cache": expected.key,
        "value_cache": expected.value,
        "weights": expected.weights,
        "output": expected.output,
        "new_query": expected.query[-1:],
        "new_key": expected.key[-1:],
        "new_value": expected.value[-1:],
        "new_scores": expected.scores[-1:],
        "new_weights": expected.weights[-1:],
        "new_output": expected.output[-1:],
    }.items():
        np.testing.assert_allclose(maps[name], values.numpy(), atol=2e-6, err_msg=name)
    assert session.view.lab.decoded == t


def test_the_maps_are_those_of_the_step_and_the_buttons_move_it() -> None:
    session = Session("decoding")
    assert session.sound() and session.said() == []
    for t in (5, 6):
        session.press("next")
        check_maps(session, causal_run(CAT, n=t), t)
    assert session.widget("next").disabled and not session.widget("back").disabled
    session.set("decoded", 1)
    check_maps(session, causal_run(CAT, n=1), 1)
    assert session.widget("back").disabled
    assert "take a step" in session.words()
    assert session.linked[1].lab.decoded == 1


@pytest.mark.parametrize("positions", ["learned", "rope_half", "rope_interleaved", "alibi"])
def test_the_steps_know_the_positions_of_the_text(positions: str) -> None:
    query: dict[str, Any] = {"n_heads": "4", "n_kv_heads": "2", "h": "1", "edits": "k~0.2.1_2.5~q~0.3.4_-1.5"}
    session = Session("decoding", positions=positions, decoded="5", **query)
    experiment = session.experiment
    assert experiment.positions == positions and experiment.edits
    check_maps(session, causal_run(experiment, h=1, n=5), 5)


def test_a_shorter_text_ends_the_steps_and_a_longer_one_goes_on() -> None:
    session = Session("decoding", decoded="5", text="the cat")
    assert "**Step 2 of 2: “cat” is new.**" in session.words()
    session.set("text_line", "the cat sat on the mat")
    assert "**Step 5 of 6: “the” is new.**" in session.words()
    session.set("text_line", "a")
    assert session.sound() and "**Step 1 of 1: “a” is new.**" in session.words()
    assert session.widget("next").disabled and session.widget("back").disabled


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_the_page_is_causal_whatever_the_mask(mask: str) -> None:
    session = Session("decoding", mask=mask, decoded="6")
    check_maps(session, causal_run(CAT), 6)
    assert ("whatever the mask above" in session.words()) == (mask != "causal")


def test_grouped_heads_a_batch_and_typed_numbers() -> None:
    fields: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_k": 3, "d_v": 5}
    experiment = Experiment("a\nthe cat sat", **fields, k=(((1, 1, 4), 9.0), ((0, 0, 4), 8.0)))
    query = {name: str(value) for name, value in fields.items()}
    session = Session(
        "decoding",
        text=experiment.text,
        edits=dict(parse_qsl(to_query(experiment)))["edits"],
        b="1",
        h="2",
        decoded="3",
        **query,
    )
    assert session.experiment == experiment
    check_maps(session, causal_run(experiment, b=1, h=2, n=3), 3)
    assert session.maps()["key_cache"][1, 1] == 9.0
    session.set("b", 0)
    assert "Step 1 of 1" in session.words() and session.maps()["key_cache"][0, 1] == 8.0


def test_the_reveal_and_the_table_hold_the_costs() -> None:
    session = Session("decoding", reveal="22", n_heads="4", n_kv_heads="2", decoded="3")
    sizes = Sizes(8, 4, 4, 4, 2)
    words = session.words()
    assert "5 in the last step, 15 in all 6 steps; of Q: 0" in words and f"{6 * 4 * 4 * 4} bytes useless" in words
    (table,) = session.tables()
    for column, cached in (("with cache", True), ("without", False)):
        one, all_ = cost(sizes, 3, cached=cached), total(sizes, 3, cached=cached)
        expected = [one.projected, one.multiplications, all_.multiplications, one.read, all_.read, one.kept]
        assert [int(cell.replace(",", "")) for cell in table[column]] == expected
    charts = session.charts()
    for trace, cached in zip(charts["cost-multiplications"]["data"], (True, False), strict=True):
        assert array(trace["y"]).tolist() == [cost(sizes, t, cached=cached).multiplications for t in range(1, 7)]
    for trace, n in zip(charts["cost-bytes"]["data"], (4, 2, 1), strict=True):
        of = sizes._replace(n_kv_heads=n)
        assert array(trace["y"]).tolist() == [cost(of, t, cached=True).kept for t in range(1, 7)]


def test_it_says_by_how_much_old_rows_change() -> None:
    session = Session("decoding", n_heads="2", h="1", decoded="5")
    run = Experiment("the cat sat on the mat", n_heads=2).run()
    layer = one_head(Layer(run.w_q, run.w_k, run.w_v, 2, 2, run.scale), 1)
    bare = change(layer, run.x[0, :5], causal=False)
    assert bare > 0.01
    assert f"with no mask by **{number(bare, 4)}**" in session.words()
    assert "change by **0**" in session.words() or "e-0" in session.words()


def test_of_a_long_text_the_maps_follow_the_newest_tokens() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    session = Session("decoding", text=text, decoded="50", positions="sinusoidal")
    assert session.sound() and "The first 26 tokens are read at once" in session.words()
    expected = causal_run(Experiment(text, positions="sinusoidal"), n=50)
    np.testing.assert_allclose(session.maps()["key_cache"], expected.key[26:].numpy(), atol=2e-6)
    np.testing.assert_allclose(session.maps()["weights"], expected.weights[26:, 26:].numpy(), atol=2e-6)
    assert session.maps()["key_cache"].shape[0] == 24
    start = {p["name"]: p["start"] for chart in session.bridge["charts"] for p in chart["panels"]}
    assert start["key_cache"][0] == 26 and start["new_query"] == [49, 0] and start["new_weights"] == [49, 26]


def test_a_click_chooses_the_token() -> None:
    session = Session("decoding", decoded="4").click("weights", 2, 1)
    assert (session.view.s, session.view.u) == (2, 1)
    check_maps(session, causal_run(CAT, n=4), 4)
