"""The page about multi-head attention says and draws what its experiments compute."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

from attnviz.core.multi_head import multi_head
from attnviz.core.statistics import effective_tokens, entropy
from attnviz.experiment import Experiment, View
from attnviz.figures.text import number
from attnviz.labs.heads import apart, by_view, cut, opposite
from attnviz.labs.heads_shared import cache_bytes, moved, shared, to_front
from attnviz.labs.sizes import Sizes
from attnviz.links import to_query
from tests.figures.reading import array
from tests.pages.session import Session

CAT = Experiment("the cat sat on the mat")
EIGHT = replace(CAT, n_heads=8)


def close(found: Any, expected: torch.Tensor) -> None:
    np.testing.assert_allclose(found, expected.numpy(), atol=2e-6)


def trace_of(experiment: Experiment) -> Any:
    trace = experiment.run().trace
    assert trace is not None
    return trace


# ---- splitting ----


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_three_ways_are_drawn_alike_and_the_mistake_is_not(n_heads: int) -> None:
    session = Session("heads", n_heads=str(n_heads), h="1")
    assert session.sound() and session.said() == []
    n = 8 if n_heads == 1 else n_heads
    run = replace(CAT, n_heads=n).run()
    right, wrong = cut(run.x, run.w_q, n)[0, 1], by_view(run.x @ run.w_q, n)[0, 1]
    maps = session.maps()
    for name in ("cut", "einsum", "own"):
        close(maps[name], right)
    close(maps["view"], wrong)
    assert f"differs from the right head by up to **{number(apart(right, wrong), 4)}**" in session.words()
    assert ("Your layer has one head: here it has 8" in session.words()) == (n_heads == 1)


def test_the_reveal_of_the_split_says_the_difference_and_the_columns() -> None:
    session = Session("heads", n_heads="2", h="1", reveal="19", letters="bij", d_k="3")
    words = session.words()
    assert "W\\_Q has 8 × 2·3 = 48 numbers either way: its columns 1 to 3 are the matrix of head 1" in words
    tables = " ".join(str(table.to_dict()) for table in session.tables())
    assert "torch.einsum('bim,mhk->bhik', X, W_Q.view(m, h, k))" in tables and "view(b, i, h, k)" in tables
    run = Experiment(CAT.text, n_heads=2, d_k=3).run()
    by_einsum = torch.einsum("bsm,mhk->bhsk", run.x, run.w_q.unflatten(-1, (2, 3)))
    one_by_one = torch.stack([run.x @ run.w_q[:, :3], run.x @ run.w_q[:, 3:]], 1)
    right = cut(run.x, run.w_q, 2)
    gap = max(apart(right, by_einsum), apart(right, one_by_one))  # of rounding, which depends on the processor
    assert gap < 1e-6 and (f"**{gap:.1g}" in words)


def test_the_page_chooses_a_head_where_the_layer_has_one_and_the_link_keeps_it() -> None:
    session = Session("heads")
    session.set("h", 6)
    assert "pieces of tokens 5 “the” to 6 “mat”" in session.words()
    assert session.linked[1].h == 6 and session.experiment.n_heads == 1
    close(session.maps()["cut"], trace_of(EIGHT).query[0, 6])
    one = Session("heads", text="cat")
    assert "One token does not show it" in one.words()
    np.testing.assert_array_equal(one.maps()["view"], one.maps()["cut"])


# ---- shared keys ----


def runs(experiment: Experiment, n_kv: int | None = None) -> Any:
    """Attention with a number of key-value heads, of a layer in which every query head has its own."""
    run = replace(experiment, n_kv_heads=None).run()
    assert run.trace is not None
    query, key, value = (tensor[0] for tensor in run.trace[:3])
    if n_kv is not None:
        key, value = to_front(key, n_kv), to_front(value, n_kv)
    mask = None if run.mask is None else run.mask[0]
    return lambda n, how: shared(query, key, value, n, how, mask=mask, scale=run.scale)


def check_shared(session: Session, run: Any, h: int, n: int, how: str) -> None:
    n_heads = len(run(1, how).query)
    own, now, maps = run(n_heads, how), run(n, how), session.maps()
    close(maps["own"], own.weights[h])
    close(maps["shared"], now.weights[h])
    close(maps["change"], now.weights[h] - own.weights[h])
    expected = np.equal.outer(np.arange(n_heads) // (n_heads // n), np.arange(n))
    np.testing.assert_array_equal(maps["reads"], expected)
    if n < n_heads and moved(own, now).by_head[h] > 0:
        assert f"a weight by {number(float(moved(own, now).by_head[h]), 4)} on average" in session.words()


def test_the_maps_follow_the_number_of_key_value_heads_and_how_they_are_made() -> None:
    session, run = Session("heads", section="shared", mask="causal"), runs(replace(EIGHT, mask="causal"))
    assert session.sound() and session.said() == []
    check_shared(session, run, 0, 2, "mean")
    for n in (8, 4, 1):
        session.set("kv_heads", n)
        check_shared(session, run, 0, n, "mean")
        assert ("Nothing moves" in session.words()) == (n == 8)
    session.set("shared_by", "first")
    check_shared(session, run, 0, 1, "first")
    assert "For head 1 nothing moves" in session.words()
    session.click("reads", 5, 0)
    assert session.view.h == 5
    check_shared(session, run, 5, 1, "first")
    linked = session.linked[1]
    assert (linked.lab.kv_heads, linked.lab.shared_by, linked.h) == (1, "first", 5)


def test_the_reveal_of_shared_keys_says_bytes_changes_and_multiplications() -> None:
    session = Session("heads", section="shared", reveal="26", d_v="3")
    run = runs(replace(EIGHT, d_v=3))
    own, one = run(8, "mean"), run(1, "mean")
    small, all_ = (Sizes(8, 4, 3, 8, n) for n in (1, 8))
    words, change = session.words(), moved(own, one)
    assert f"your 6 tokens takes {cache_bytes(small, 6):,} bytes and not {cache_bytes(all_, 6):,}" in words
    assert f"4,096 tokens {cache_bytes(small, 4096):,} and not {cache_bytes(all_, 4096):,}" in words
    assert f"by {number(change.mean, 4)} on average, by {number(change.most, 4)} at most" in words
    assert f"{8 * 6 * 6 * 4:,} multiplications with 8 key-value heads and {8 * 6 * 6 * 4:,} with one" in words
    (table,) = session.tables()
    rows = table.to_numpy().tolist()
    assert [row[1] for row in rows] == ["heads 1, 2, 3, 4, 5, 6, 7, 8", *[f"means of {x}" for x in GROUPS]]
    for row, n in zip(rows, (8, 4, 2, 1), strict=True):
        sizes, change = Sizes(8, 4, 3, 8, n), moved(own, run(n, "mean"))
        assert row[2:4] == [f"{cache_bytes(sizes, length):,}" for length in (6, 4096)]
        assert row[4:] == [number(change.mean, 4), number(change.most, 4)]
    session.set("shared_by", "first")
    assert "heads 1, 3, 5, 7" in str(session.tables()[0].to_dict())


GROUPS = ("1–2, 3–4, 5–6, 7–8", "1–4, 5–8", "1–8")


def test_a_grouped_layer_in_a_padded_batch_is_among_those_compared() -> None:
    text, fields = "a b\nthe cat sat on", {"n_heads": 6, "n_kv_heads": 2, "positions": "rope_half"}
    query: dict[str, Any] = {name: str(value) for name, value in fields.items()}
    session = Session("heads", section="shared", text=text, b="0", h="4", kv_heads="4", shared_by="first", **query)
    assert session.sound() and "Your 2 key-value heads stand first in their groups" in session.words()
    grouped = Experiment("a b", n_heads=6, n_kv_heads=2, positions="rope_half")
    check_shared(session, runs(grouped, 2), 4, 3, "first")  # 4 does not divide 6
    session.set("kv_heads", 2)
    close(session.maps()["shared"], trace_of(grouped).weights[0, 4])
    whole = Session("heads", section="shared", n_heads="6")
    check_shared(whole, runs(replace(CAT, n_heads=6)), 0, 2, "mean")
    assert "stand first in their groups" not in whole.words()


def test_edits_of_the_one_head_are_kept_among_eight() -> None:
    text, cells = f"a b\n{CAT.text}", ((1, 1, 2), 5.0)
    edited = Experiment(text, k=(((0, 1, 0), 9.0), cells), x=(((1, 3, 0), 2.0),), w_q=(((0, 1), 3.0),))
    query = dict(parse_qsl(to_query(edited, View(b=1))))
    session = Session("heads", section="shared", kv_heads="8", **query)
    assert session.experiment == edited
    close(session.maps()["shared"], trace_of(edited).weights[1, 0])
    split = Session("heads", **query)
    close(split.maps()["own"], edited.run().x[1] @ edited.run().w_q)


# ---- two texts ----


def crossed(experiment: Experiment, second: str, b: int = 0) -> Any:
    run, other = experiment.run(), replace(experiment, text=second, mask="none").run()
    n = len(experiment.sequences[b])
    return multi_head(
        run.x[b, :n],
        other.x[0],
        w_q=run.w_q,
        w_k=run.w_k,
        w_v=run.w_v,
        n_heads=experiment.n_heads,
        n_kv_heads=experiment.n_kv_heads,
        scale=run.scale,
        rotary=run.rotary,
    ).trace


def check_cross(session: Session, trace: Any, h: int = 0, kv: int = 0) -> None:
    maps = session.maps()
    close(maps["query"], trace.query[h])
    close(maps["key"], trace.key[kv])
    close(maps["value"], trace.value[kv])
    close(maps["weights"], trace.weights[h])
    close(maps["output"], trace.output[h])


def test_an_empty_second_text_is_a_sentence_in_the_readers_language() -> None:
    session = Session("heads", section="cross", reveal="21", s="1")
    trace = crossed(CAT, "a black cat sleeps")
    assert session.sound() and session.said() == []
    check_cross(session, trace)
    best = int(trace.weights[0, 1].argmax())
    assert f"most, **{number(float(trace.weights[0, 1, best]), 4)}**, goes to" in session.words()
    assert "the map is 6 by 4" in session.words() and "a row of a has 4 weights, V 6 rows" in session.words()
    assert session.bridge["key_tokens"] == ["a", "black", "cat", "sleeps"]
    assert session.bridge["tokens"] == ["the", "cat", "sat", "on", "the", "mat"]


def test_the_typed_second_text_is_read_and_in_the_link() -> None:
    session = Session("heads", section="cross", reveal="21")
    session.set("context", "one two three four five <s> six")
    trace = crossed(CAT, "one two three four five <s> six")
    check_cross(session, trace)
    assert session.linked[1].lab.context == "one two three four five <s> six"
    session.set("context", "b a d c f e")
    assert "equally long" in session.words() and session.maps()["weights"].shape == (6, 6)
    session.set("context", "   ")
    assert session.maps()["weights"].shape == (6, 4)


def test_two_texts_with_everything_set_at_once() -> None:
    fields: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_v": 3, "mask": "causal", "positions": "rope_half"}
    query = {name: str(value) for name, value in fields.items()}
    second = "x y\u2028z"
    session = Session(
        "heads", section="cross", text="the cat\na", context=second, b="1", h="3", tokenizer="characters", **query
    )
    experiment = Experiment("the cat\na", tokenizer="characters", **fields)
    assert session.sound() and "stay out" in session.words()
    check_cross(session, crossed(experiment, "x y z", b=1), h=3, kv=1)


def test_each_of_two_long_texts_has_its_window() -> None:
    text, second = (" ".join(f"{c}{i}" for i in range(n)) for c, n in (("a", 30), ("b", 60)))
    session = Session("heads", section="cross", text=text, context=second, from_s="3", from_u="36")
    trace = crossed(Experiment(text), second)
    close(session.maps()["weights"], trace.weights[0, 3:27, 36:60])
    close(session.maps()["key"], trace.key[0, 36:60])
    session.set("from_u", 11)
    close(session.maps()["weights"], trace.weights[0, 3:27, 10:34])
    short = Session("heads", section="cross", text="a b", context=second, from_u="36")
    assert short.maps()["weights"].shape == (2, 24)


# ---- averages ----


def test_opposite_heads_and_their_flat_mean_follow_sharpness_row_and_head() -> None:
    session = Session("heads", section="average", reveal="23", mask="causal", n_heads="2")
    experiment = replace(CAT, mask="causal", n_heads=2)
    masked = trace_of(experiment).masked[0]
    assert session.sound() and session.said() == []
    assert "fewer than two keys" in session.words()
    session.set("s", 5).set("sharpness", 1.5).set("h", 1)
    two, maps, words = opposite(masked[1], 1.5), session.maps(), session.words()
    close(maps["a"], two.first)
    close(maps["b"], two.second)
    close(maps["mean"], two.mean)
    for one in two:
        assert number(float(effective_tokens(one)[4]), 2) in words
        assert number(float(entropy(one)[4]), 4) in words
    assert "each of its 5 weights is 0.2000" in words and "[1, 0] and [0, 1] average to [0.5, 0.5]" in words
    assert session.linked[1].lab.sharpness == 1.5 and session.linked[1].s == 4


@pytest.mark.parametrize("n_heads", [1, 4])
def test_the_heads_of_the_layer_stand_beside_their_mean(n_heads: int) -> None:
    session = Session("heads", section="average", n_heads=str(n_heads), s="2", h="3" if n_heads == 4 else "0")
    weights = trace_of(EIGHT if n_heads == 1 else replace(CAT, n_heads=4)).weights[0]
    close(session.maps()["head"], weights[3 if n_heads == 4 else 0])
    close(session.maps()["averaged"], weights.mean(0))
    effects = torch.cat([effective_tokens(weights)[:, 2], effective_tokens(weights.mean(0))[2:3]])
    close(array(session.charts()["effect"]["data"][0]["y"]), effects.double())
    low, high, mean = (number(float(x), 2) for x in (effects[:-1].min(), effects[:-1].max(), effects[-1]))
    assert f"read {low} to {high} tokens in effect, their mean {mean}" in session.words()


def test_only_the_part_that_is_shown_is_drawn_and_the_next_one_follows() -> None:
    session = Session("heads")
    for section, charts in {
        "shared": ["maps-shared"],
        "cross": ["maps-cross"],
        "average": ["maps-opposite", "maps-heads", "effect"],
        "split": ["maps-split"],
    }.items():
        session.set("section", section)
        assert session.sound() and list(session.charts()) == charts
        assert session.linked[1].lab.section == section
